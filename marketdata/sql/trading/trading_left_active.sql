-- An account that leaves ACTIVE has no OPEN orders and no later trade.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_left_active()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF EXISTS (SELECT FROM accounts_account a
        JOIN trading_order o ON o.account_id = a.id AND o.status = 'OPEN'
        WHERE a.id = NEW.account_id AND a.status <> 'ACTIVE') THEN
        RAISE EXCEPTION 'Account % is not ACTIVE any more and has orders that are OPEN: '
            'they end in the same transaction.', NEW.account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.previous_status = 'ACTIVE' AND EXISTS (
        SELECT FROM accounts_account a
        JOIN trading_fill f ON f.account_id = a.id AND f.at > NEW.created_at
        WHERE a.id = NEW.account_id AND a.changes = NEW.number) THEN
        RAISE EXCEPTION 'Account % has traded since: it leaves ACTIVE after its last '
            'trade.', NEW.account_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_left_active() FROM PUBLIC;

DROP TRIGGER IF EXISTS trading_left_active ON public.accounts_accountstatuschange;
CREATE CONSTRAINT TRIGGER trading_left_active AFTER INSERT
    ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.status <> 'ACTIVE') EXECUTE FUNCTION public.trading_left_active();
