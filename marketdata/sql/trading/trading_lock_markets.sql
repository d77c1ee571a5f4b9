-- Locks the books of tokens and returns their heads and markets.
-- called by: application
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_lock_markets(tokens uuid[])
RETURNS TABLE(token_id uuid, source text, last_sequence bigint, last_snapshot bigint,
    last_trade bigint, phase text, next_phase text, next_phase_at timestamp with time
    zone, session_opens time without time zone, session_closes time without time zone,
    weekdays_only boolean, tick_cents bigint, lot_units bigint, collar_bps integer,
    reference_price bigint, last_event bigint, last_at timestamp with time zone,
    parameters json)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.token_id, h.source::text, h.last_sequence, h.last_snapshot,
            h.last_trade, m.phase::text, m.next_phase::text, m.next_phase_at,
            m.session_opens, m.session_closes, m.weekdays_only, m.tick_cents,
            m.lot_units, m.collar_bps, m.reference_price, m.last_event, m.last_at,
            json_build_array(m.holidays, m.tick_floors, m.tick_steps, m.most_value,
                m.most_units, m.dynamic_band_bps, m.model, m.fixings)
        FROM marketdata_orderbookhead h
        LEFT JOIN trading_market m ON m.token_id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;
REVOKE ALL ON FUNCTION public.trading_lock_markets(uuid[]) FROM PUBLIC;
