-- Counts the trading day of a busted trade anew, without it.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.trading_count_day_anew()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'trading_bust'::regclass THEN
        RAISE EXCEPTION 'trading_count_day_anew guards trading_bust, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE marketdata_tradingday d
    SET open_cents = coalesce(f.opening, d.open_cents),
        high_cents = coalesce(f.high, d.high_cents),
        low_cents = coalesce(f.low, d.low_cents),
        close_cents = coalesce(f.closing, d.close_cents),
        volume = f.volume, value_cents = f.value, trades = f.trades
    FROM marketdata_tradingday o
    CROSS JOIN LATERAL (
        SELECT (array_agg(t.price_cents ORDER BY t.sequence))[1] AS opening,
            max(t.price_cents) AS high, min(t.price_cents) AS low,
            (array_agg(t.price_cents ORDER BY t.sequence DESC))[1] AS closing,
            coalesce(sum(t.quantity), 0) AS volume,
            coalesce(sum(t.price_cents::numeric * t.quantity), 0) AS value,
            count(*) AS trades
        FROM marketdata_trade t
        WHERE t.token_id = o.token_id
            AND t.sequence BETWEEN o.first_trade AND o.last_trade
            AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
    ) f
    WHERE o.token_id = NEW.token_id
        AND NEW.sequence BETWEEN o.first_trade AND o.last_trade
        AND d.token_id = o.token_id AND d.first_trade = o.first_trade;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_count_day_anew() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_count_day_anew AFTER INSERT ON public.trading_bust
    FOR EACH ROW EXECUTE FUNCTION public.trading_count_day_anew();
