"""Request counts by function."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.partnerapi_count_requests(keys uuid[], hours timestamp with time zone[], codes text[], numbers bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO partnerapi_requestcount AS c (key_id, hour, code, number)
    SELECT n.key, n.hour, n.code, n.number
    FROM unnest(keys, hours, codes, numbers) AS n (key, hour, code, number)
    ORDER BY n.key, n.hour, n.code
    ON CONFLICT ON CONSTRAINT one_count_per_key_hour_and_code
        DO UPDATE SET number = c.number + excluded.number;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_count_requests(uuid[], timestamp with time zone[], text[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.partnerapi_prune_request_counts(most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM partnerapi_requestcount WHERE id IN (
        SELECT id FROM partnerapi_requestcount
        WHERE hour < clock_timestamp() - interval '30 days'
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_prune_request_counts(integer) FROM PUBLIC;
"""

BACKWARD = r"""
DROP FUNCTION public.partnerapi_count_requests(uuid[], timestamp with time zone[], text[], bigint[]);

DROP FUNCTION public.partnerapi_prune_request_counts(integer);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0023_request_counts"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
