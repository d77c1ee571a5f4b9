-- Derives the figures of trading days (cents, units) from trades.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.marketdata_follow_days()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    INSERT INTO marketdata_tradingday AS kept
        (token_id, day, open_cents, high_cents, low_cents, close_cents,
         volume, value_cents, trades, first_trade, last_trade)
    SELECT token_id, day, (array_agg(price_cents ORDER BY sequence))[1],
        max(price_cents), min(price_cents),
        (array_agg(price_cents ORDER BY sequence DESC))[1],
        sum(quantity), sum(price_cents::numeric * quantity), count(*),
        min(sequence), max(sequence)
    FROM (
        SELECT t.*, (t.at AT TIME ZONE market_time_zone())::date AS day
        FROM entered t
    ) t
    GROUP BY token_id, day
    ORDER BY token_id, day

    ON CONFLICT (token_id, day) DO UPDATE SET
        open_cents = CASE kept.trades WHEN 0 THEN excluded.open_cents
            ELSE kept.open_cents END,
        high_cents = CASE kept.trades WHEN 0 THEN excluded.high_cents
            ELSE greatest(kept.high_cents, excluded.high_cents) END,
        low_cents = CASE kept.trades WHEN 0 THEN excluded.low_cents
            ELSE least(kept.low_cents, excluded.low_cents) END,
        close_cents = excluded.close_cents,
        volume = kept.volume + excluded.volume,
        value_cents = kept.value_cents + excluded.value_cents,
        trades = kept.trades + excluded.trades,
        last_trade = excluded.last_trade;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_follow_days() FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_follow_days AFTER INSERT
    ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    EXECUTE FUNCTION public.marketdata_follow_days();
