-- Refuses to change or remove rows of tables that only grow.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'What happened stays as it was written: % on % is refused.',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_refuse_change() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_accountstatuschange FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_applicant FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_approvaldecision FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_approvaloutcome FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_approvalrequest FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_assertion FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_bankline FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OF id, name,
        digest, closing_balance, booked_balance, booked_by, booked_at OR TRUNCATE
    ON public.accounts_bankstatement FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_cashaccount FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE
    ON public.accounts_cashhead FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_cashposting FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_cashtransaction FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_investorattestation FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_investorchange FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_rowchange FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE
    ON public.accounts_soleamount FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_staffchange FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_userholdername FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE
    ON public.accounts_withdrawal FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER staff_log_is_appended_to BEFORE UPDATE OR TRUNCATE
    ON public.django_admin_log FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OF id, person_id,
        credential, public_key, domain, created_at OR TRUNCATE
    ON public.accounts_passkey FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.accounts_passkeyvoucher FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();
