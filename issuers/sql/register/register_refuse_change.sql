-- Refuses to change or remove rows of the register.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'The register is for ever: % on % is refused. A mistake gets a '
        'reversal, a price a later price.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_refuse_change() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.issuers_approvedholder FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_ledgeraccount FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_ledgerposting FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_ledgertransaction FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.issuers_restriction FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.issuers_tokenledgerhead FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.issuers_tokenprice FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.issuers_tokenrule FOR EACH STATEMENT
    EXECUTE FUNCTION public.register_refuse_change();
