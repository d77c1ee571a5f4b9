-- A partner attests only for the user of one of its own accounts; the time of the
-- attestation is the database's.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_attest()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorattestation'::regclass THEN
        RAISE EXCEPTION 'accounts_attest guards accounts_investorattestation, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_account a WHERE a.id = NEW.account_id
            AND a.user_id = NEW.user_id AND a.partner_id = NEW.partner_id) THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_attest() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_attest BEFORE INSERT
    ON public.accounts_investorattestation FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_attest();
