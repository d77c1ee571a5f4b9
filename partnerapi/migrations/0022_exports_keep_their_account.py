"""Exports keep their account."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.partnerapi_keep_exports()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'partnerapi_export'::regclass THEN
        RAISE EXCEPTION 'partnerapi_keep_exports guards partnerapi_export, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.partner_id, NEW.connection, NEW.issuer_id, NEW.token_id,
            NEW.account_id, NEW.last_sequence, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.partner_id, OLD.connection, OLD.issuer_id,
            OLD.token_id, OLD.account_id, OLD.last_sequence, OLD.created_at)
    THEN
        RAISE EXCEPTION 'What export % was asked for stays as it is.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.status, NEW.status) NOT IN (
        ('WAITING', 'WAITING'), ('WAITING', 'RUNNING'), ('WAITING', 'FAILED'),
        ('RUNNING', 'RUNNING'), ('RUNNING', 'READY'), ('RUNNING', 'FAILED'),
        ('READY', 'EXPIRED'))
    THEN
        RAISE EXCEPTION 'Export % is % and cannot become %.', OLD.id, OLD.status,
            NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_keep_exports() FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.partnerapi_keep_exports()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'partnerapi_export'::regclass THEN
        RAISE EXCEPTION 'partnerapi_keep_exports guards partnerapi_export, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.partner_id, NEW.connection, NEW.issuer_id, NEW.token_id,
            NEW.last_sequence, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.partner_id, OLD.connection, OLD.issuer_id,
            OLD.token_id, OLD.last_sequence, OLD.created_at)
    THEN
        RAISE EXCEPTION 'What export % was asked for stays as it is.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.status, NEW.status) NOT IN (
        ('WAITING', 'WAITING'), ('WAITING', 'RUNNING'), ('WAITING', 'FAILED'),
        ('RUNNING', 'RUNNING'), ('RUNNING', 'READY'), ('RUNNING', 'FAILED'),
        ('READY', 'EXPIRED'))
    THEN
        RAISE EXCEPTION 'Export % is % and cannot become %.', OLD.id, OLD.status,
            NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_keep_exports() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0021_exports_of_every_connection_are_validated"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
