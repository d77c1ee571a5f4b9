-- Releases a delivery, once, with the approval of its lines and shares that policy asks
-- for.
-- called by: application
-- locks: issuers_deliveryjob (FOR UPDATE)
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
        -- Of a line that is gone, who made it is not known, and it may come back.
        SELECT t.issuer_id, sum(f.units) AS units, bool_or(coalesce(
            delivery_is_own(h.makers::text[], approvals_person()), TRUE)) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units, s.token_ids)
            AS f (line, units, token)
        JOIN issuers_token t ON t.id = f.token
        LEFT JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = job
        GROUP BY t.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', said, issuers, amounts, NULL, NULL);
    UPDATE issuers_deliveryjob SET released_at = clock_timestamp() WHERE id = job;
END $$;
REVOKE ALL ON FUNCTION public.delivery_release(uuid) FROM PUBLIC;
