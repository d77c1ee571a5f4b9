-- Lists the fills that end a call whose second has come: they bind from then on, in
-- this order. Judges the price and the fills: most units trade, each limit admits the
-- price, better limits and older orders trade first, no user trades on both sides, and
-- rules and restrictions admit each fill after those before it: they are not judged when
-- it settles. Returns the number of fills, 0 with a price of NULL.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_ledgeraccount (FOR SHARE), issuers_tokenledgerhead (FOR UPDATE),
--     marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_uncross(
    of_token uuid, at_price bigint, buys uuid[], sells uuid[], quantities bigint[]
)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    auction trading_auction;
    traded numeric;
    most numeric;
    wrong uuid;
    entry bigint;
    refused text;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    SELECT * INTO auction FROM trading_auction
        WHERE token_id = of_token AND began = market.last_phase_event;
    IF (market.phase = 'CALL' AND auction.fills IS NULL
        AND auction.ends_at <= clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'A call ends once, at the second that was drawn: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (cardinality(buys) <= 50000 AND cardinality(buys) = cardinality(sells)
        AND cardinality(buys) = cardinality(quantities)
        AND (at_price IS NULL) = (cardinality(buys) = 0)
        AND (at_price % coalesce(auction.tick_steps[width_bucket(at_price,
            auction.tick_floors)], auction.tick_cents) = 0) IS NOT FALSE) IS NOT TRUE
        THEN
        RAISE EXCEPTION 'An auction has a price, a multiple of the tick, and 50,000 '
            'fills at most, or neither.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT h.last_seq INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token FOR UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id IN (SELECT o.ledger_account_id FROM trading_order o
            WHERE o.id = ANY (buys || sells)) ORDER BY a.id FOR SHARE;
    SELECT coalesce(sum(f.quantity), 0) INTO traded
    FROM unnest(quantities) AS f (quantity);
    WITH levels AS (
        SELECT o.limit_price AS price,
            coalesce(sum(o.quantity - o.filled) FILTER (WHERE o.side = 0), 0) AS bid,
            coalesce(sum(o.quantity - o.filled) FILTER (WHERE o.side = 1), 0)
                AS offered
        FROM trading_order o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
            AND o.expires_at >= auction.ends_at
        GROUP BY o.limit_price
    )
    SELECT coalesce(max(least(s.bid, s.offered)), 0) INTO most
    FROM (
        SELECT sum(l.bid) OVER (ORDER BY l.price DESC) AS bid,
            sum(l.offered) OVER (ORDER BY l.price) AS offered
        FROM levels l
    ) s;
    IF most <> traded THEN
        RAISE EXCEPTION 'An auction trades most units: %, and not %.', most, traded
            USING ERRCODE = 'restrict_violation';
    END IF;
    WITH filled AS MATERIALIZED (
        SELECT s.id, s.side, sum(f.quantity) AS units
        FROM unnest(buys, sells, quantities) AS f (buy, sell, quantity)
        CROSS JOIN LATERAL (VALUES (f.buy, 0), (f.sell, 1)) AS s (id, side)
        GROUP BY s.id, s.side
    ), due AS (
        SELECT o.id, o.side, o.user_id, greatest(least(o.quantity - o.filled,
            traded - coalesce(sum(o.quantity - o.filled) OVER (PARTITION BY o.side
                ORDER BY CASE o.side WHEN 0 THEN -o.limit_price ELSE o.limit_price END,
                    o.priority
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)), 0) AS units
        FROM trading_order o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
            AND o.expires_at >= auction.ends_at
            AND CASE o.side WHEN 0 THEN o.limit_price >= at_price
                ELSE o.limit_price <= at_price END
    )
    SELECT coalesce(d.id, f.id) INTO wrong
    FROM (SELECT * FROM due WHERE due.units > 0) d
    FULL JOIN filled f ON f.id = d.id AND f.side = d.side
    WHERE (f.units = d.units) IS NOT TRUE
    UNION ALL
    SELECT min(d.id::text)::uuid FROM due d WHERE d.units > 0
    GROUP BY d.user_id HAVING count(DISTINCT d.side) > 1
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'In an auction better limits trade first, then older orders, '
            'within their limits and of a user on one side: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_auctionfill (token_id, began, place, buy_order_id,
        sell_order_id, quantity)
    SELECT of_token, auction.began, f.place, f.buy, f.sell, f.quantity
    FROM unnest(buys, sells, quantities) WITH ORDINALITY
        AS f (buy, sell, quantity, place);
    UPDATE trading_auction a SET price = at_price, quantity = traded,
        surplus = (
            SELECT sum(CASE o.side WHEN 0 THEN o.quantity - o.filled
                ELSE o.filled - o.quantity END)
            FROM trading_order o
            WHERE o.token_id = of_token AND o.status = 'OPEN'
                AND o.expires_at >= auction.ends_at
                AND CASE o.side WHEN 0 THEN o.limit_price >= at_price
                    ELSE o.limit_price <= at_price END),
        fills = cardinality(buys), first_event = market.last_event,
        first_trade = (SELECT h.last_trade FROM marketdata_orderbookhead h
            WHERE h.token_id = of_token),
        listed_at = clock_timestamp(), listed_entry = entry
    WHERE a.token_id = of_token AND a.began = auction.began;
    SELECT format('fill %s: %s', f.place, f.code) INTO refused
    FROM trading_refused_fills(of_token, auction.began, FALSE) f LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '% of the auction.', refused USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN cardinality(buys);
END $$;
REVOKE ALL ON FUNCTION public.trading_uncross(uuid, bigint, uuid[], uuid[], bigint[])
    FROM PUBLIC;
