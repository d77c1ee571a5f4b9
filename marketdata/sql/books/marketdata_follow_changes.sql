-- Changes of a book are numbered without gaps up to their head's number, in time order,
-- and end their message.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.marketdata_follow_changes()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, change %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            max(sequence) FILTER (WHERE ends_message) AS last_end,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_sequence = e.last AND e.many = 1 + e.last - e.first
        AND e.last_end = e.last AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_bookchange b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next change must have the next number, as its head '
            'says, a time not before the last one''s, and a message must end: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_follow_changes() FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_follow_changes AFTER INSERT
    ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.marketdata_follow_changes();
