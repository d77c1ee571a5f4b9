"""Functions write accounts, keys, deliveries and members of exports."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.delivery_begin(job uuid, units_from text, person text, lines uuid[], at_once integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    INSERT INTO issuers_deliveryjob (id, source, line_count, position, delivered,
        skipped, refused, created_by)
    VALUES (job, units_from, cardinality(lines), 0, 0, 0, 0, person);
    INSERT INTO issuers_deliverystep (job_id, position, shareholder_ids, units,
        token_ids, user_ids, refusals)
    SELECT job, (f.place - 1) / at_once * at_once, array_agg(f.line ORDER BY f.place),
        array_agg(coalesce(h.number_of_shares, 0) ORDER BY f.place),
        array_agg(h.token_id ORDER BY f.place), array_agg(h.user_id ORDER BY f.place),
        '{}'
    FROM unnest(lines) WITH ORDINALITY AS f (line, place)
    LEFT JOIN issuers_legacyshareholder h ON h.id = f.line
    GROUP BY (f.place - 1) / at_once
    ORDER BY (f.place - 1) / at_once;
END $$;
REVOKE ALL ON FUNCTION public.delivery_begin(uuid, text, text, uuid[], integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.delivery_release(job uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    said jsonb;
    issuers uuid[];
    amounts numeric[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM issuers_deliveryjob j
        WHERE j.id = job AND j.released_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT jsonb_build_object('job', j.id, 'source', j.source,
        'lines', coalesce(sum(cardinality(s.shareholder_ids)), 0),
        'shares', coalesce(sum(l.units), 0)::text) INTO said
    FROM issuers_deliveryjob j
    LEFT JOIN issuers_deliverystep s ON s.job_id = j.id
    LEFT JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l ON TRUE
    WHERE j.id = job GROUP BY j.id;
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = job
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', said, issuers, amounts, NULL, NULL);
    UPDATE issuers_deliveryjob SET released_at = clock_timestamp() WHERE id = job;
END $$;
REVOKE ALL ON FUNCTION public.delivery_release(uuid) FROM PUBLIC;
"""

BACKWARD = r"""
DROP FUNCTION public.delivery_begin(uuid, text, text, uuid[], integer);

DROP FUNCTION public.delivery_release(uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0090_released_by_function"),
        ("accounts", "0075_accounts_by_function"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
