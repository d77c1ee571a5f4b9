-- Triggers of accounts_refuse_change on tables of this room.

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_ledgerposting FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_ledgertransaction FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_tokenprice FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();
