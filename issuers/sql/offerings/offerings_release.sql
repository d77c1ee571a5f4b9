-- Ends all active subscriptions of an offering that is not settled, and frees their
-- cash. The caller has locked the offering.
-- called by: offerings_close, offerings_end
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.offerings_release(offering issuers_offering)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    freed uuid[];
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (SELECT s.cash_account_id FROM issuers_subscription s
            WHERE s.offering_id = offering.id AND s.status = 'ACTIVE')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved - r.cents
    FROM (
        SELECT s.cash_account_id, sum(s.quantity * s.limit_price)::bigint AS cents
        FROM issuers_subscription s
        WHERE s.offering_id = offering.id AND s.status = 'ACTIVE'
        GROUP BY s.cash_account_id
    ) r
    WHERE h.cash_account_id = r.cash_account_id;
    WITH ended AS (
        UPDATE issuers_subscription s SET status = 'RELEASED', allotted = 0,
            updated_at = clock_timestamp()
        WHERE s.offering_id = offering.id AND s.status = 'ACTIVE'
        RETURNING s.id
    ) SELECT array_agg(id) INTO freed FROM ended;
    IF freed IS NOT NULL THEN
        PERFORM offerings_tell_each(offering.token_id, freed);
        PERFORM cash_tell(array_agg(s.cash_account_id))
            FROM issuers_subscription s WHERE s.id = ANY (freed);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.offerings_release(issuers_offering) FROM PUBLIC;
