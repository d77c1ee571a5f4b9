"""Forged arguments."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.partnerapi_count_requests(keys uuid[], hours timestamp with time zone[], codes text[], numbers bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF 'infinity' = ANY (hours) OR '-infinity' = ANY (hours) THEN
        RAISE EXCEPTION 'Requests are counted in an hour.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO partnerapi_requestcount AS c (key_id, hour, code, number)
    SELECT n.key, n.hour, n.code, n.number
    FROM unnest(keys, hours, codes, numbers) AS n (key, hour, code, number)
    ORDER BY n.key, n.hour, n.code
    ON CONFLICT ON CONSTRAINT one_count_per_key_hour_and_code
        DO UPDATE SET number = c.number + excluded.number;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_count_requests(uuid[], timestamp with time zone[], text[], bigint[]) FROM PUBLIC;
"""

BACKWARD = r"""
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
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0042_exports_of_documents_are_validated"),
        ("accounts", "0087_fees_offerings_approvals"),
        ("issuers", "0105_erasures_offerings_writers"),
        ("trading", "0047_fees_parameters_auctions"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
