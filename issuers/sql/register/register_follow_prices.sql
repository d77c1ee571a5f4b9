-- Derives a ledger's price and its chain from the next prices: numbers without gaps,
-- times taken under the lock.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_follow_prices()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'register_follow_prices guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    SELECT format('token %s, price %s', token_id, number) INTO wrong
    FROM (
        SELECT e.token_id, e.number,
            e.number = h.last_price + row_number() OVER by_number
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_price_at, t.created_at)) OVER by_number
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number)
    ) AS checked
    WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The next price must have the next number, and the time that '
            'its writer took under the lock: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_price = l.number, last_price_at = l.effective_at,
            price_cents = l.price_cents,
            price_digest = register_chain_prices(
                h.token_id, h.last_price, h.price_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, number DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_prices() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_follow_prices AFTER INSERT
    ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_follow_prices();
