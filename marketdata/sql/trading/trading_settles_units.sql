-- An entry of a trade has its execution, and only a bust reverses it.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.trading_settles_units()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_units guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.token_id = NEW.token_id AND x.ledger_seq = NEW.seq) THEN
            RAISE EXCEPTION 'Entry % of token % is of no trade: units of a TRADE move '
                'with an execution and a payment.', NEW.seq, NEW.token_id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = NEW.token_id AND b.ledger_seq = NEW.seq) THEN
        RAISE EXCEPTION 'Entry % of token % is a trade''s: only market bust undoes it, '
            'with its payment.', NEW.reverses, NEW.token_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_units() FROM PUBLIC;

DROP TRIGGER IF EXISTS trading_settles_units ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER trading_settles_units AFTER INSERT
    ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((new.kind = 'TRADE' OR new.kind = 'REVERSAL') AND
        public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_settles_units();
