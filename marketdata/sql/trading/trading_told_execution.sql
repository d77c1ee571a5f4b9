-- An execution is the tape's trade of its number and has an event of each order.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_told_execution()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'trading_execution'::regclass THEN
        RAISE EXCEPTION 'trading_told_execution guards trading_execution, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM marketdata_trade t WHERE t.token_id = NEW.token_id
            AND t.sequence = NEW.sequence AND t.price_cents = NEW.price
            AND t.quantity = NEW.quantity)
        OR 2 <> (SELECT count(*) FROM trading_orderevent e
            WHERE e.token_id = NEW.token_id
                AND e.number BETWEEN NEW.event - 1 AND NEW.event
                AND e.kind = 'ORDER_TRADED' AND e.trade = NEW.sequence) THEN
        RAISE EXCEPTION 'An execution is the tape''s trade of its number, and an event '
            'of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_execution() FROM PUBLIC;

DROP TRIGGER IF EXISTS trading_told_execution ON public.trading_execution;
CREATE CONSTRAINT TRIGGER trading_told_execution AFTER INSERT
    ON public.trading_execution DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_told_execution();
