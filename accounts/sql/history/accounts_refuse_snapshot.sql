-- Refuses changes by transactions that are not READ COMMITTED: their snapshot hides
-- what was committed since.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_refuse_snapshot()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_refuse_snapshot() FROM PUBLIC;

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_account FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_accountstatuschange FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_apikey FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_applicant FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_country FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_holderimport FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_partner FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_pepper FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_staffnotice FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_user FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_user_groups FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_user_user_permissions FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.accounts_userholder FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();
