"""Both sides of a trade learn of a request to bust it."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_file_request(request uuid, wanted text, said jsonb, name text, why text, filer uuid, until timestamp with time zone)
RETURNS accounts_approvalrequest LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    filed accounts_approvalrequest;
BEGIN
    PERFORM accounts_read_committed();
    IF until <= moment OR until > moment + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(filer, 'file_' || wanted) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(wanted) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvalrequest
        (id, kind, title, content, reason, filed_by_id, filed_at, expires_at)
    VALUES (request, wanted, name, said, why, filer, moment, until)
    RETURNING * INTO filed;
    IF wanted = 'BUST' THEN
        PERFORM trading_announce_bust((said ->> 'token')::uuid,
            (said ->> 'trade')::bigint, (said ->> 'price')::bigint);
    END IF;
    RETURN filed;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_file_request(request uuid, wanted text, said jsonb, name text, why text, filer uuid, until timestamp with time zone)
RETURNS accounts_approvalrequest LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    filed accounts_approvalrequest;
BEGIN
    PERFORM accounts_read_committed();
    IF until <= moment OR until > moment + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(filer, 'file_' || wanted) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(wanted) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvalrequest
        (id, kind, title, content, reason, filed_by_id, filed_at, expires_at)
    VALUES (request, wanted, name, said, why, filer, moment, until)
    RETURNING * INTO filed;
    RETURN filed;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0087_status_changes_recorded"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
