-- Keeps at which price an auction would trade, how many units, and how many more are
-- bid than offered there, and announces it to partners; NULL: nothing would trade. A
-- call that has ended has none.
-- called by: application
CREATE OR REPLACE FUNCTION public.trading_indicate(
    of_token uuid, of_call bigint, price bigint, quantity bigint, surplus bigint,
    of_event bigint
)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    is_new boolean;
BEGIN
    PERFORM accounts_read_committed();
    SELECT (a.indicative_price, a.indicative_quantity, a.indicative_surplus)
        IS DISTINCT FROM (price, quantity, surplus)
    INTO is_new FROM trading_auction a
    WHERE a.token_id = of_token AND a.began = of_call;
    UPDATE trading_auction a SET indicative_price = price,
        indicative_quantity = quantity, indicative_surplus = surplus,
        indicated_event = of_event
    WHERE a.token_id = of_token AND a.began = of_call AND a.fills IS NULL
        AND a.ended IS NULL;
    IF NOT FOUND OR NOT is_new THEN
        RETURN FALSE;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['AUCTION_INDICATED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL, prices => ARRAY[price],
        quantities => ARRAY[quantity], remainings => ARRAY[surplus]);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.trading_indicate(uuid, bigint, bigint, bigint, bigint,
    bigint) FROM PUBLIC;
