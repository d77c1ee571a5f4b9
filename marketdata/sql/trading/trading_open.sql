-- Turns an external book into an internal market that is CLOSED, in the name of a member
-- of staff with the right; its levels go. The market begins with these parameters.
-- called by: application
-- raises: restrict_violation
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_open(
    token uuid, opens time without time zone, closes time without time zone, weekdays
    boolean, begins timestamp with time zone, tick bigint, lot bigint, collar integer,
    reference bigint, opened_by text
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
    opened_at timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(opened_by, 'trading.change_market');
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF head.source IS DISTINCT FROM 'EXTERNAL' OR NOT isfinite(begins) THEN
        RAISE EXCEPTION 'A market opens once, on a token that has an order book, at a '
            'time that comes.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(token, head.last_sequence, sides, prices, empty,
            ends, '{}', '{}', FALSE);
    END IF;
    opened_at := clock_timestamp();
    UPDATE marketdata_orderbookhead SET source = 'OWN' WHERE token_id = token;
    INSERT INTO trading_market (token_id, phase, phase_since, next_phase, next_phase_at,
        session_opens, session_closes, weekdays_only, tick_cents, lot_units, collar_bps,
        dynamic_band_bps, reference_price, last_event, last_phase_event, last_at,
        halt_reason)
    VALUES (token, 'CLOSED', opened_at, 'CONTINUOUS', begins, opens, closes, weekdays,
        tick, lot, collar, greatest(collar / 2, 1), reference, 1, 1, opened_at, '');
    INSERT INTO trading_marketparameters (token_id, session_opens, session_closes,
        weekdays_only, tick_cents, lot_units, collar_bps, dynamic_band_bps, valid_from,
        opens_at, announced_at, reason, created_by, approved_by, created_at)
    VALUES (token, opens, closes, weekdays, tick, lot, collar, greatest(collar / 2, 1),
        opened_at, greatest(begins, opened_at), opened_at, '', opened_by, '', opened_at);
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, 1, 'PHASE_CHANGED', reference, 'CLOSED', '', opened_by, opened_at);
END $$;
REVOKE ALL ON FUNCTION public.trading_open(uuid, time without time zone, time without
    time zone, boolean, timestamp with time zone, bigint, bigint, integer, bigint, text)
    FROM PUBLIC;
