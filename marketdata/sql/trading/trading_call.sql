-- Begins a call: hides the book, draws the second of its end within a minute after the
-- end that is announced, and announces the phase. Neither end is after the session's.
-- `lowest` and `highest` are the bands of an interruption. The book's head is locked.
-- called by: trading_change_phase, trading_interrupt
CREATE OR REPLACE FUNCTION public.trading_call(
    of_token uuid, called_at timestamp with time zone,
    announced timestamp with time zone, session_ends timestamp with time zone,
    reference bigint, lowest bigint, highest bigint, why text, called_by text
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    drawn integer := ('x' || left(md5(gen_random_uuid()::text), 7))::bit(28)::integer
        % 60001;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
    traded_price bigint;
    traded_quantity bigint;
BEGIN
    UPDATE trading_market SET phase = 'CALL', phase_since = called_at,
        next_phase = CASE
            WHEN announced >= session_ends THEN 'CLOSED'
            WHEN model <> 'FIXING' THEN 'CONTINUOUS'
            WHEN trading_fixing(fixings, announced, session_ends) IS NULL THEN 'CLOSED'
            ELSE 'CALL' END,
        next_phase_at = least(announced, session_ends), session_ends_at = session_ends,
        reference_price = reference, halt_reason = '', shows_book = FALSE,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = called_at
        WHERE token_id = of_token RETURNING * INTO market;
    -- Of the auction that has just settled, if one call follows another.
    UPDATE trading_auction a SET ended = market.last_event
        WHERE a.token_id = of_token AND a.ended IS NULL
        RETURNING a.price, a.quantity INTO traded_price, traded_quantity;
    INSERT INTO trading_auction (token_id, began, reference_price, tick_cents,
        tick_floors, tick_steps, earliest_at, ends_at, lowest, highest)
    VALUES (of_token, market.last_event, reference, market.tick_cents,
        market.tick_floors, market.tick_steps, market.next_phase_at, least(announced + make_interval(secs => drawn / 1000.0),
            session_ends), lowest, highest);
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (of_token, market.last_event, 'PHASE_CHANGED', reference, 'CALL', why,
        called_by, called_at);
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = of_token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(of_token, (SELECT h.last_sequence
                FROM marketdata_orderbookhead h WHERE h.token_id = of_token),
            sides, prices, empty, ends, '{}', '{}', cardinality(prices) >= 1000);
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL,
        order_events => ARRAY[market.last_event], prices => ARRAY[traded_price],
        quantities => ARRAY[traded_quantity], reasons => ARRAY['CALL']);
END $$;
REVOKE ALL ON FUNCTION public.trading_call(uuid, timestamp with time zone, timestamp with
    time zone, timestamp with time zone, bigint, bigint, bigint, text, text) FROM PUBLIC;
