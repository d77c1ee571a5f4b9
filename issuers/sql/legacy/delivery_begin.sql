-- Begins a delivery of lines, which are frozen as they are now, so many in a step. A line
-- that is gone has no units.
-- called by: application
CREATE OR REPLACE FUNCTION public.delivery_begin(
    job uuid, units_from text, person text, lines uuid[], at_once integer
)
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
REVOKE ALL ON FUNCTION public.delivery_begin(uuid, text, text, uuid[], integer) FROM
    PUBLIC;
