-- Adds to what cash accounts have reserved, in cents; the CHECKs of the head refuse
-- more than there is.
-- called by: cash_follow_transactions, cash_reserve_withdrawals,
--     trading_follow_changed, trading_follow_placed
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_reserve_cash(
    cash_accounts bigint[], deltas bigint[]
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
    FROM (
        SELECT cash_account, sum(delta)::bigint AS delta
        FROM unnest(cash_accounts, deltas) AS u (cash_account, delta)
        GROUP BY cash_account HAVING sum(delta) <> 0
    ) d
    WHERE h.cash_account_id = d.cash_account;
    IF EXISTS (SELECT FROM unnest(cash_accounts) AS u (cash_account) WHERE NOT EXISTS (
            SELECT FROM accounts_cashhead h WHERE h.cash_account_id = u.cash_account))
    THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.' USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.accounts_reserve_cash(bigint[], bigint[]) FROM PUBLIC;
