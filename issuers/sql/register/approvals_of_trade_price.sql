-- A price with the source TRADE is that of the token's last trade, made in this
-- transaction.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_of_trade_price()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    price bigint;
    traded_at timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'approvals_of_trade_price guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;
    SELECT t.price_cents, t.at INTO price, traded_at FROM marketdata_trade t
        WHERE t.token_id = NEW.token_id ORDER BY t.sequence DESC LIMIT 1;
    IF price IS DISTINCT FROM NEW.price_cents
        OR traded_at < transaction_timestamp() THEN
        RAISE EXCEPTION 'A price of % cents of token % is of no trade of this '
            'transaction; one that staff record has another source, and needs an '
            'approval.', NEW.price_cents, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_trade_price() FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_of_trade_price AFTER INSERT
    ON public.issuers_tokenprice FOR EACH ROW
    WHEN (new.source = 'TRADE' AND new.effective_at > (transaction_timestamp() -
        '1 day'::interval) AND public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_trade_price();
