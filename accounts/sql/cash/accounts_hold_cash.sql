-- Locks the heads of cash accounts and returns kind, balance and reserved cash in
-- cents, the last entry's time and the time now.
-- called by: application
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_hold_cash(cash_accounts bigint[])
RETURNS TABLE(cash_account_id bigint, kind text, balance bigint, reserved bigint,
    last_at timestamp with time zone, clock timestamp with time zone)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.cash_account_id, h.kind::text, h.balance, h.reserved, h.last_at,
            clock_timestamp()
        FROM accounts_cashhead h WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id;
END $$;
REVOKE ALL ON FUNCTION public.accounts_hold_cash(bigint[]) FROM PUBLIC;
