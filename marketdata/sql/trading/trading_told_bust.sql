-- A bust undoes the entry and the payment of a trade, has an event of each order, and
-- uses an approval where policy asks for one: of the price, too, if it is a correction.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_told_bust()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    used uuid;
BEGIN
    PERFORM FROM trading_execution x
    JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
        AND l.seq = NEW.ledger_seq AND l.kind = 'REVERSAL' AND l.reverses = x.ledger_seq
    JOIN accounts_cashtransaction c ON c.id = NEW.cash_transaction
        AND c.kind = 'REVERSAL' AND c.reverses_id = x.cash_transaction
    WHERE x.token_id = NEW.token_id AND x.sequence = NEW.sequence;
    IF NOT FOUND OR NEW.at > clock_timestamp() OR 2 <> (
        SELECT count(*) FROM trading_orderevent e WHERE e.token_id = NEW.token_id
            AND e.number BETWEEN NEW.event AND NEW.event + 1
            AND e.kind = 'TRADE_BUSTED'
            AND e.trade = NEW.sequence AND e.at = NEW.at) THEN
        RAISE EXCEPTION 'A bust undoes the entry and the payment of a trade, with an '
            'event of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('BUST', jsonb_build_object('token', NEW.token_id,
        'trade', NEW.sequence, 'reason', NEW.reason) || coalesce((
            SELECT jsonb_build_object('price', y.price) FROM trading_execution y
            WHERE y.token_id = NEW.token_id AND y.ledger_seq = NEW.ledger_seq + 1
                AND y.corrects = NEW.sequence), '{}'), NULL, NEW.token_id,
        NEW.ledger_seq);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvalrequest r
        JOIN accounts_approvaldecision d ON d.request_id = r.id
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE r.id = used AND f.email = NEW.requested_by AND u.email = NEW.approved_by)
    THEN
        RAISE EXCEPTION 'A bust names who asked for it and who approved it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_bust() FROM PUBLIC;

DROP TRIGGER IF EXISTS trading_told_bust ON public.trading_bust;
CREATE CONSTRAINT TRIGGER trading_told_bust AFTER INSERT ON public.trading_bust
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.trading_told_bust();
