-- Copies the partner and the user of a PENDING account to what the partner stated about
-- its applicant.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.accounts_describe()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    SELECT partner_id, user_id INTO NEW.partner_id, NEW.user_id
        FROM accounts_account WHERE id = NEW.account_id AND status = 'PENDING';
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_describe() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_describe BEFORE INSERT ON public.accounts_applicant
    FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_describe();
