"""Functions write accounts, keys, deliveries and members of exports."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.exports_append(export uuid, nth integer, start bigint, lines integer, member bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE partnerapi_export e SET members = nth, rows = e.rows + lines,
        size_bytes = start + octet_length(member)
    WHERE e.id = export AND e.status = 'RUNNING' AND NOT e.is_written
        AND e.members = nth - 1 AND e.size_bytes = start;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Member % at byte % is not the next of export %.', nth, start,
            export USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO partnerapi_exportmember (export_id, number, position, rows, data)
        VALUES (export, nth, start, lines, member);
END $$;
REVOKE ALL ON FUNCTION public.exports_append(uuid, integer, bigint, integer, bytea) FROM PUBLIC;
"""

BACKWARD = r"""
DROP FUNCTION public.exports_append(uuid, integer, bigint, integer, bytea);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0036_exports_of_refused_orders_are_validated"),
        ("accounts", "0075_accounts_by_function"),
        ("issuers", "0091_accounts_by_function"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
