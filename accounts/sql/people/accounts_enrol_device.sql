-- Only the signed-in owner of a second factor enrols, changes or removes it; the
-- counters that a sign-in moves may change. Functions may remove it, too.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_enrol_device()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    is_theirs boolean := TRUE;
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.user_id, NEW.key, NEW.confirmed, NEW.digits, NEW.step, NEW.t0,
                NEW.tolerance) IS NOT DISTINCT FROM (OLD.user_id, OLD.key,
                OLD.confirmed, OLD.digits, OLD.step, OLD.t0, OLD.tolerance) THEN
            RETURN NEW;
        END IF;
        is_theirs := NEW.user_id = OLD.user_id;
    ELSIF TG_OP = 'INSERT' AND author IS NULL AND NOT NEW.confirmed THEN
        RETURN NEW;
    END IF;
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_user u WHERE u.id = coalesce(NEW.user_id, OLD.user_id)
        AND u.email = author ->> 'who' AND is_theirs;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A second factor is enrolled by its owner only: two people reset '
            'a sign-in, and then the owner enrols another.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
REVOKE ALL ON FUNCTION public.accounts_enrol_device() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_enrol_device BEFORE INSERT OR UPDATE
    ON public.otp_totp_totpdevice FOR EACH ROW
    EXECUTE FUNCTION public.accounts_enrol_device();

CREATE OR REPLACE TRIGGER accounts_keep_device BEFORE DELETE
    ON public.otp_totp_totpdevice FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_enrol_device();
