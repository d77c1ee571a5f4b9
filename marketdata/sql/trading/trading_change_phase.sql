-- Changes a market's phase under its book's lock: by the clock to the next phase once it
-- is due; else in the name of a member of staff with the right or, where a market that
-- is halted reopens with an approval, of the person that filed or decided it. The
-- session says which phase follows, and when: `follows` and `follows_at` do not count.
-- What staff close stays closed until the next session begins. A call ends by its
-- auction, or is halted before. After the auction of a fixing that found a price orders
-- trade at this price for the minutes of the parameters, until five minutes before the
-- next fixing or the end of the session. A halt ends with a call, also where the market
-- closes before. The first opening by new parameters ends the orders that they no
-- longer admit.
-- called by: application, trading_settle
-- raises: restrict_violation
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_change_phase(
    token uuid, wanted text, follows text, follows_at timestamp with time zone, reference
    bigint, why text, changed_by text
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
    changed_at timestamptz;
    opens_at timestamptz;
    closes_at timestamptz;
    refers_to bigint;
    used uuid;
    opens_now boolean;
    first_opening timestamptz;
    auction trading_auction;
    fixing timestamptz;
    coming trading_marketparameters;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CALL', 'CONTINUOUS', 'HALTED')
            WHEN 'CALL' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED', 'HALTED')
            WHEN 'AT_LAST' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CALL', 'CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CALL', 'CLOSED') END, FALSE)
        THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF market.phase = 'HALTED' THEN
        used := approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    SELECT * INTO auction FROM trading_auction a
        WHERE a.token_id = token AND market.phase = 'CALL'
            AND a.began = market.last_phase_event;
    IF market.phase = 'CALL' AND (CASE wanted
            WHEN 'HALTED' THEN auction.fills IS NOT NULL
            ELSE changed_by <> 'market' END) THEN
        RAISE EXCEPTION 'A call ends by its auction, and is not halted once that has '
            'begun.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF changed_by = 'market' THEN
        IF (CASE market.phase WHEN 'CALL' THEN auction.settled = auction.fills
            ELSE market.next_phase_at <= changed_at AND (market.next_phase = wanted
                OR wanted = 'CLOSED' AND market.session_ends_at <= changed_at) END)
            IS NOT TRUE THEN
            RAISE EXCEPTION 'A market enters its next phase by the clock, once that is '
                'due: it is not %.', wanted USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF used IS NULL THEN
        PERFORM accounts_staff_with(changed_by, 'trading.change_market');
    ELSE
        PERFORM cash_judge_staff(changed_by, used, '{}');
    END IF;
    market := trading_apply_parameters(token, changed_at);
    IF wanted = 'CONTINUOUS' AND (market.model = 'FIXING' OR market.phase = 'CLOSED'
            AND trading_opening(token, market.model) = 'CALL') THEN
        -- It opens by other parameters than when its next phase was determined.
        wanted := 'CALL';
    END IF;
    SELECT p.opens_at INTO first_opening
    FROM (SELECT * FROM trading_marketparameters x
        WHERE x.token_id = token AND x.valid_from <= changed_at
        ORDER BY x.valid_from DESC, x.id DESC LIMIT 1) p
    WHERE p.valid_from > coalesce((
        SELECT e.at FROM trading_orderevent e
        WHERE e.token_id = token AND e.order_id IS NULL
            AND e.phase IN ('CALL', 'CONTINUOUS')
        ORDER BY e.number DESC LIMIT 1), '-infinity');
    refers_to := trading_reference(token);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    follows := NULL;
    follows_at := NULL;
    IF wanted <> 'HALTED' THEN
        SELECT s.opens_at, s.closes_at,
            s.is_open AND (wanted IN ('CALL', 'CONTINUOUS') OR changed_by = 'market')
        INTO opens_at, closes_at, opens_now
        FROM trading_session(market.session_opens, market.session_closes,
            market.weekdays_only, market.holidays, changed_at) s;
        IF first_opening > changed_at THEN
            opens_at := first_opening;
        ELSIF opens_now THEN
            opens_at := changed_at;
        END IF;
        IF wanted IN ('CALL', 'CONTINUOUS') AND opens_at > changed_at THEN
            RAISE EXCEPTION 'A market is % in its session, which begins at %.', wanted,
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        -- One of the model's; staff and interruptions begin calls of their own.
        fixing := trading_fixing(market.fixings, changed_at, closes_at);
        IF auction.price IS NOT NULL AND (market.model = 'FIXING'
                OR auction.lowest IS NULL AND EXISTS (
                    SELECT FROM trading_orderevent e WHERE e.token_id = token
                        AND e.number = auction.began AND e.actor = 'market')) THEN
            follows_at := least(
                changed_at + make_interval(mins => market.at_last_minutes),
                market.session_ends_at, fixing - interval '5 min');
            IF follows_at > changed_at THEN
                follows := CASE follows_at WHEN market.session_ends_at THEN 'CLOSED'
                    WHEN fixing - interval '5 min' THEN 'CALL' ELSE wanted END;
                wanted := 'AT_LAST';
            END IF;
        END IF;
        IF wanted = 'CALL' THEN
            PERFORM trading_call(token, changed_at, CASE
                WHEN market.model = 'FIXING' OR market.model = 'BOTH'
                    AND changed_by = 'market'
                THEN coalesce(fixing, changed_at + interval '270 s')
                ELSE changed_at + interval '270 s' END, closes_at, refers_to, NULL, NULL, why, changed_by);
            IF first_opening IS NOT NULL THEN
                PERFORM trading_end_off(token, changed_at);
            END IF;
            RETURN;
        ELSIF wanted = 'CONTINUOUS' THEN
            -- The call of a fixing begins five minutes before it, or now if it is later.
            follows_at := greatest(fixing - interval '5 min',
                CASE WHEN fixing IS NOT NULL THEN changed_at END);
            follows := CASE WHEN follows_at IS NULL THEN 'CLOSED' ELSE 'CALL' END;
            follows_at := coalesce(follows_at, closes_at);
        ELSIF wanted = 'CLOSED' THEN
            -- After the last fixing of a session the next one opens.
            IF opens_now AND market.model = 'FIXING' AND fixing IS NULL THEN
                SELECT s.opens_at INTO opens_at
                FROM trading_session(market.session_opens, market.session_closes,
                    market.weekdays_only, market.holidays, closes_at) s;
            END IF;
            -- Parameters that hold by then determine when it opens, and how.
            SELECT * INTO coming FROM trading_marketparameters p
                WHERE p.token_id = token AND p.valid_from > changed_at
                    AND p.valid_from <= opens_at
                ORDER BY p.valid_from DESC, p.id DESC LIMIT 1;
            IF FOUND THEN
                market := trading_apply_parameters(token, coming.valid_from);
                opens_at := coming.opens_at;
            END IF;
            follows := trading_opening(token, market.model);
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        session_ends_at = CASE wanted WHEN 'CONTINUOUS' THEN closes_at
            WHEN 'AT_LAST' THEN session_ends_at END,
        last_price = CASE WHEN wanted IN ('AT_LAST', 'CONTINUOUS') THEN refers_to
            ELSE last_price END,
        reference_price = CASE WHEN wanted IN ('AT_LAST', 'CONTINUOUS') THEN refers_to
            ELSE reference_price END,
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
    UPDATE trading_auction a SET ended = market.last_event
        WHERE a.token_id = token AND a.began = auction.began;
    -- One of the market's log: a transaction may have several.
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[token], NULL, ARRAY[token], NULL,
        order_events => ARRAY[market.last_event], prices => ARRAY[auction.price],
        quantities => ARRAY[auction.quantity], reasons => ARRAY[wanted]);
    IF wanted = 'CONTINUOUS' AND first_opening IS NOT NULL THEN
        PERFORM trading_end_off(token, changed_at);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time
    zone, bigint, text, text) FROM PUBLIC;
