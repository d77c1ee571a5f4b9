-- A payment of a trade has its execution, and only a bust reverses it.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_settles_cash()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.cash_transaction = NEW.id) THEN
            RAISE EXCEPTION 'Payment % is of no trade: cash of a TRADE moves with an '
                'execution and an entry.', NEW.id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM accounts_cashtransaction t
            WHERE t.id = NEW.reverses_id AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.cash_transaction = NEW.id) THEN
        RAISE EXCEPTION 'Payment % is a trade''s: only market bust undoes it, with its '
            'units.', NEW.reverses_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_cash() FROM PUBLIC;

DROP TRIGGER IF EXISTS trading_settles_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER trading_settles_cash AFTER INSERT
    ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((new.kind = 'TRADE' OR new.kind = 'REVERSAL') AND
        public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_settles_cash();
