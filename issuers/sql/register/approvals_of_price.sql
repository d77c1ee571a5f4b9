-- A price that staff record uses an approval where policy asks for one; the price that
-- a bust restores needs none.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_price()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    before bigint;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'approvals_of_price guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    IF EXISTS (
        SELECT FROM trading_bust b
        JOIN trading_execution x ON x.token_id = b.token_id AND x.sequence = b.sequence
        JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
            AND l.seq = x.ledger_seq
        JOIN issuers_ledgertransaction r ON r.token_id = b.token_id
            AND r.seq = b.ledger_seq AND r.effective_at = NEW.effective_at
        JOIN issuers_tokenprice p ON p.token_id = x.token_id
            AND p.number = NEW.number - 1 AND p.source = 'TRADE'
            AND p.effective_at = l.effective_at AND p.price_cents = x.price
        JOIN issuers_tokenprice o ON o.token_id = x.token_id
            AND o.number = NEW.number - 2 AND o.price_cents = NEW.price_cents
        WHERE b.token_id = NEW.token_id AND NEW.source = 'MANUAL') THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(max(p.number), 0) INTO before FROM issuers_tokenprice p
        WHERE p.token_id = NEW.token_id AND p.number < NEW.number AND p.source <> 'TRADE';
    PERFORM approvals_use('PRICE', jsonb_build_object('token', NEW.token_id,
        'cents', NEW.price_cents::text, 'source', NEW.source, 'after', before),
        NEW.price_cents, NEW.token_id, NEW.number);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_price() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_price ON public.issuers_tokenprice;
CREATE CONSTRAINT TRIGGER approvals_of_price AFTER INSERT ON public.issuers_tokenprice
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.source <> 'TRADE' AND new.effective_at > (transaction_timestamp() -
        '1 day'::interval) AND public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_price();
