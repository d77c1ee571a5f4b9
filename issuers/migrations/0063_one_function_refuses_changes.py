"""One function refuses changes."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.update_issuer_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'update_issuer_time guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_issuer_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_legacy_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'update_legacy_time guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_legacy_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_token_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'update_token_time guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_token_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_approvedholder FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgeraccount FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgerposting FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgertransaction FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_restriction FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenledgerhead FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_tokenprice FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenrule FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.update_issuer_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'update_issuer_time guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_issuer_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_legacy_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'update_legacy_time guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_legacy_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_token_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'update_token_time guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_token_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_approvedholder FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgeraccount FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgerposting FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgertransaction FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_restriction FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenledgerhead FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_tokenprice FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenrule FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0062_formation_dates_are_validated"),
        ("accounts", "0045_one_function_refuses_changes"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
