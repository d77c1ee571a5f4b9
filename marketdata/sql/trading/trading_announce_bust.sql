-- Tells the partners of both sides that a bust of their trade is asked for, or at a price
-- its correction.
-- called by: approvals_file_request
CREATE OR REPLACE FUNCTION public.trading_announce_bust(
    of_token uuid, of_trade bigint, at_price bigint
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM events_write(NULL, ARRAY[b.partner_id, s.partner_id],
        ARRAY['TRADE_BUST_REQUESTED', 'TRADE_BUST_REQUESTED'], ARRAY[b.id, s.id], NULL,
        ARRAY[of_token, of_token], ARRAY[b.account_id, s.account_id], NULL, NULL,
        ARRAY[at_price, at_price], ARRAY[x.quantity, x.quantity], NULL,
        ARRAY[of_trade, of_trade])
    FROM trading_execution x
    JOIN trading_order b ON b.id = x.buy_order_id
    JOIN trading_order s ON s.id = x.sell_order_id
    WHERE x.token_id = of_token AND x.sequence = of_trade;
END $$;
REVOKE ALL ON FUNCTION public.trading_announce_bust(uuid, bigint, bigint) FROM PUBLIC;
