-- The one writer of books: appends changes and trades after `known`, derives levels,
-- digests and snapshot, and refuses a crossed book. Returns no row where the log has
-- moved on.
-- called by: application, trading_call, trading_correct, trading_open, trading_settle
-- raises: restrict_violation
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.marketdata_record(
    token uuid, known bigint, sides smallint[], prices bigint[], quantities bigint[], ends
    boolean[], deal_prices bigint[], deal_quantities bigint[], with_snapshot boolean
)
RETURNS TABLE(sequence bigint, trade bigint, at timestamp with time zone)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET lock_timeout = '10s'
AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    digests numeric := 0;
    highest_bid bigint;
    lowest_ask bigint;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token AND last_sequence = known FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    head.last_at := greatest(head.last_at, clock_timestamp());
    IF cardinality(prices) > 0 THEN
        SELECT sum(marketdata_digest_change(
            known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at))
        INTO digests FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        SELECT digests + sum(marketdata_digest_trade(
            head.last_trade + d.place, d.price, d.quantity, head.last_at))
        INTO digests FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    UPDATE marketdata_orderbookhead SET
        last_sequence = known + cardinality(prices),
        last_trade = last_trade + cardinality(deal_prices),
        last_snapshot = CASE WHEN with_snapshot THEN known + cardinality(prices)
            ELSE last_snapshot END,
        last_at = head.last_at, fingerprint = fingerprint + digests
    WHERE token_id = token RETURNING * INTO head;
    IF cardinality(prices) > 0 THEN
        INSERT INTO marketdata_bookchange
            (token_id, sequence, side, price_cents, quantity, ends_message, at)
        SELECT token, known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at
        FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
        IF 0 = ANY (quantities) AND EXISTS (
            SELECT FROM (
                SELECT c.side, c.price, c.quantity, lag(c.quantity) OVER (
                    PARTITION BY c.side, c.price ORDER BY c.place) AS before
                FROM unnest(sides, prices, quantities)
                    WITH ORDINALITY AS c (side, price, quantity, place)
            ) c
            WHERE c.quantity = 0 AND coalesce(c.before, (
                SELECT l.quantity FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = c.side
                    AND l.price_cents = c.price
            ), 0) = 0
        ) THEN
            RAISE EXCEPTION 'A change takes away a level that is not in the book.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        -- The end of the last message is looked at below.
        IF cardinality(array_positions(ends, TRUE)) > 1 THEN
            SELECT max(p.price) FILTER (WHERE p.side = 0),
                min(p.price) FILTER (WHERE p.side = 1)
            INTO highest_bid, lowest_ask
            FROM (
                SELECT c.side, c.price FROM unnest(sides, prices, quantities)
                    AS c (side, price, quantity) WHERE c.quantity > 0
                UNION ALL (
                    SELECT l.side, l.price_cents FROM marketdata_booklevel l
                    WHERE l.token_id = token AND l.side = 0
                    ORDER BY l.side DESC, l.price_cents DESC LIMIT 1)
                UNION ALL (
                    SELECT l.side, l.price_cents FROM marketdata_booklevel l
                    WHERE l.token_id = token AND l.side = 1
                    ORDER BY l.side, l.price_cents LIMIT 1)
            ) p;
            IF highest_bid >= lowest_ask AND EXISTS (
                WITH spans AS (
                    SELECT s.side, s.price, s.quantity, s.place AS begins,
                        lead(s.place, 1, cardinality(prices) + 1) OVER (
                            PARTITION BY s.side, s.price ORDER BY s.place) AS until
                    FROM (
                        SELECT c.side, c.price, c.quantity, c.place
                        FROM unnest(sides, prices, quantities)
                            WITH ORDINALITY AS c (side, price, quantity, place)
                        UNION ALL
                        SELECT l.side, l.price_cents, l.quantity, 0
                        FROM marketdata_booklevel l WHERE l.token_id = token
                    ) s
                    WHERE CASE s.side WHEN 0 THEN s.price >= lowest_ask
                        ELSE s.price <= highest_bid END
                )
                SELECT FROM spans b JOIN spans a
                    ON b.side = 0 AND a.side = 1 AND b.quantity > 0 AND a.quantity > 0
                    AND b.price >= a.price AND b.begins < a.until AND a.begins < b.until
                JOIN unnest(array_positions(ends, TRUE)) AS e (place)
                    ON e.place >= greatest(b.begins, a.begins)
                    AND e.place < least(b.until, a.until)
            ) THEN
                RAISE EXCEPTION 'The best bid would not be below the best ask.'
                    USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
        DELETE FROM marketdata_booklevel l
        USING unnest(sides, prices, quantities) AS c (side, price, quantity)
        WHERE c.quantity = 0 AND l.token_id = token
            AND l.side = c.side AND l.price_cents = c.price;
        INSERT INTO marketdata_booklevel (token_id, side, price_cents, quantity)
        SELECT token, l.side, l.price, l.quantity
        FROM (
            SELECT DISTINCT ON (c.side, c.price) c.side, c.price, c.quantity
            FROM unnest(sides, prices, quantities)
                WITH ORDINALITY AS c (side, price, quantity, place)
            ORDER BY c.side, c.price, c.place DESC
        ) l WHERE l.quantity > 0
        ON CONFLICT (token_id, side, price_cents)
        DO UPDATE SET quantity = excluded.quantity;
        IF (SELECT l.price_cents FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = 0
                ORDER BY l.side DESC, l.price_cents DESC LIMIT 1)
            >= (SELECT l.price_cents FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = 1
                ORDER BY l.side, l.price_cents LIMIT 1) THEN
            RAISE EXCEPTION 'The best bid would not be below the best ask.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
        SELECT token, head.last_trade - cardinality(deal_prices) + d.place,
            d.price, d.quantity, head.last_at
        FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    IF head.source = 'OWN' THEN
        PERFORM trading_judge_book(token, sides, prices, head.last_trade
            - cardinality(deal_prices));
    END IF;
    IF with_snapshot THEN
        INSERT INTO marketdata_booksnapshot
            (token_id, sequence, trade_sequence, at, fingerprint,
             bid_prices, bid_quantities, ask_prices, ask_quantities)
        SELECT token, head.last_sequence, head.last_trade, head.last_at,
            head.fingerprint, coalesce(b.prices, '{}'), coalesce(b.quantities, '{}'),
            coalesce(a.prices, '{}'), coalesce(a.quantities, '{}')
        FROM (
            SELECT array_agg(l.price_cents ORDER BY l.price_cents DESC) AS prices,
                array_agg(l.quantity ORDER BY l.price_cents DESC) AS quantities
            FROM marketdata_booklevel l WHERE l.token_id = token AND l.side = 0
        ) b, (
            SELECT array_agg(l.price_cents ORDER BY l.price_cents) AS prices,
                array_agg(l.quantity ORDER BY l.price_cents) AS quantities
            FROM marketdata_booklevel l WHERE l.token_id = token AND l.side = 1
        ) a;
    END IF;
    RETURN QUERY SELECT head.last_sequence, head.last_trade, head.last_at;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_record(uuid, bigint, smallint[], bigint[],
    bigint[], boolean[], bigint[], bigint[], boolean) FROM PUBLIC;
