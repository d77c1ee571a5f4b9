-- The tape of an internal market has its executions and nothing else.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_tape_is_executions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'marketdata_trade'::regclass THEN
        RAISE EXCEPTION 'trading_tape_is_executions guards marketdata_trade, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('trade %s of token %s', e.sequence, e.token_id) INTO wrong
    FROM entered e JOIN marketdata_orderbookhead h
        ON h.token_id = e.token_id AND h.source = 'OWN'
    LEFT JOIN trading_execution x
        ON x.token_id = e.token_id AND x.sequence = e.sequence
    WHERE (x.price = e.price_cents AND x.quantity = e.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of an internal market holds its executions and nothing '
            'else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tape_is_executions() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_tape_is_executions AFTER INSERT
    ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_tape_is_executions();
