-- A delivery is released once, and its release uses an approval of its lines and shares
-- where policy asks for one.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_of_delivery()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    lines bigint;
    shares numeric;
    issuers uuid[];
    amounts numeric[];
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' AND NEW.released_at IS NULL
        OR ROW (NEW.released_at, NEW.source, NEW.created_by) IS NOT DISTINCT FROM
            ROW (OLD.released_at, OLD.source, OLD.created_by) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.released_at IS NULL OR OLD.released_at IS NOT NULL
        OR ROW (NEW.source, NEW.created_by) IS DISTINCT FROM
            ROW (OLD.source, OLD.created_by) THEN
        RAISE EXCEPTION 'A delivery is released once, and its source stays.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(cardinality(s.shareholder_ids)), 0), coalesce(sum(l.units), 0)
        INTO lines, shares
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l
    WHERE s.job_id = NEW.id;
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = NEW.id
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        issuers, amounts, NULL, NULL);
    NEW.released_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_delivery() FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_of_delivery BEFORE INSERT OR UPDATE
    ON public.issuers_deliveryjob FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_delivery();
