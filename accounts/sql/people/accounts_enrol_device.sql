-- Only the signed-in owner of a second factor enrols or changes it; the counters that a
-- sign-in moves may change.
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
    ELSIF author IS NULL AND NOT NEW.confirmed THEN
        RETURN NEW;
    END IF;
    PERFORM FROM accounts_user u
        WHERE u.id = NEW.user_id AND u.email = author ->> 'who' AND is_theirs;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A second factor is enrolled by its owner only: remove it, and '
            'they enrol another when they sign in.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_enrol_device() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_enrol_device BEFORE INSERT OR UPDATE
    ON public.otp_totp_totpdevice FOR EACH ROW
    EXECUTE FUNCTION public.accounts_enrol_device();
