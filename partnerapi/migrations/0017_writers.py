"""Contract: writers."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.issuers_event IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.partnerapi_claim_keys(partners uuid[], keys uuid[], fingerprints bytea[], names text[])
RETURNS TABLE(partner uuid, key uuid, record bigint) LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
SET lock_timeout = '2ms'
AS $$
#variable_conflict use_column
DECLARE
    claimed bigint[];
    one bigint;
BEGIN
    BEGIN
        -- By partner and key: two transactions that claim several do not close a circle.
        WITH new AS (
            INSERT INTO public.partnerapi_idempotencyrecord AS r
                (partner_id, key, fingerprint, operation_name, created_at)
            SELECT a.partner, a.key, a.fingerprint, a.name, clock_timestamp()
            FROM unnest(partners, keys, fingerprints, names)
                AS a (partner, key, fingerprint, name)
            ORDER BY a.partner, a.key
            ON CONFLICT ON CONSTRAINT one_answer_per_partner_and_key DO UPDATE
            SET fingerprint = EXCLUDED.fingerprint,
                operation_name = EXCLUDED.operation_name, scopes = EXCLUDED.scopes,
                created_at = EXCLUDED.created_at, body = NULL, expires_at = NULL
            WHERE r.expires_at <= clock_timestamp()
            RETURNING r.id)
        SELECT array_agg(id) INTO claimed FROM new;
    EXCEPTION WHEN lock_not_available THEN
        -- The error names no key: each is tried, and those that are held stay out.
        claimed := '{}';
        FOR place IN 1 .. cardinality(keys) LOOP
            BEGIN
                INSERT INTO public.partnerapi_idempotencyrecord AS r
                    (partner_id, key, fingerprint, operation_name, created_at)
                VALUES (partners[place], keys[place], fingerprints[place],
                    names[place], clock_timestamp())
                ON CONFLICT ON CONSTRAINT one_answer_per_partner_and_key DO UPDATE
                SET fingerprint = EXCLUDED.fingerprint,
                    operation_name = EXCLUDED.operation_name, scopes = EXCLUDED.scopes,
                    created_at = EXCLUDED.created_at, body = NULL, expires_at = NULL
                WHERE r.expires_at <= clock_timestamp()
                RETURNING r.id INTO one;
                claimed := claimed || one;
            EXCEPTION WHEN lock_not_available THEN
                NULL;
            END;
        END LOOP;
    END;
    RETURN QUERY SELECT r.partner_id, r.key, r.id
        FROM public.partnerapi_idempotencyrecord r WHERE r.id = ANY (claimed);
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_claim_keys(uuid[], uuid[], bytea[], text[]) FROM PUBLIC;

DROP TRIGGER events_count ON public.issuers_event;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.issuers_event IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER events_count AFTER INSERT ON public.issuers_event REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.events_count();
ALTER TABLE public.issuers_event ENABLE ALWAYS TRIGGER events_count;

DROP FUNCTION public.partnerapi_claim_keys(uuid[], uuid[], bytea[], text[]);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0016_reworded_refusals"),
        ("accounts", "0052_writers"),
        ("issuers", "0067_writers"),
        ("marketdata", "0021_writers"),
        ("trading", "0014_writers"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
