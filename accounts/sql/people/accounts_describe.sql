-- Copies the partner and the user of a PENDING account to what the partner stated about
-- its applicant.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_describe()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_applicant'::regclass THEN
        RAISE EXCEPTION 'accounts_describe guards accounts_applicant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT partner_id, user_id INTO NEW.partner_id, NEW.user_id
        FROM accounts_account WHERE id = NEW.account_id AND status = 'PENDING';
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_describe() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_describe BEFORE INSERT ON public.accounts_applicant
    FOR EACH ROW EXECUTE FUNCTION public.accounts_describe();
