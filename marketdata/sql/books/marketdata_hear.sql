-- Notes that external books were heard from; passes over heads that others hold.
-- called by: application
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.marketdata_hear(tokens uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE marketdata_orderbookhead h SET heard_at = clock_timestamp()
    FROM (
        SELECT token_id FROM marketdata_orderbookhead
        WHERE token_id = ANY (tokens) AND source = 'EXTERNAL'
        ORDER BY token_id FOR NO KEY UPDATE SKIP LOCKED
    ) followed
    WHERE h.token_id = followed.token_id;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_hear(uuid[]) FROM PUBLIC;
