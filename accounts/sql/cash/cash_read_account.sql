-- Locks an account against changes of its status, and its cash; returns the status, the
-- available cents and the withdrawal that has a partner's reference already.
-- called by: application
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_read_account(
    account uuid, partner_reference text
)
RETURNS TABLE(status text, available bigint, withdrawal_id uuid)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cash bigint;
    standing text;
BEGIN
    PERFORM accounts_read_committed();
    SELECT a.status, c.id INTO standing, cash
    FROM accounts_account a JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = account FOR SHARE OF a;
    PERFORM FROM accounts_cashhead h WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT standing, h.balance - h.reserved, w.id
        FROM accounts_cashhead h
        LEFT JOIN accounts_withdrawal w ON w.cash_account_id = h.cash_account_id
            AND w.reference = partner_reference
        WHERE h.cash_account_id = cash;
END $$;
REVOKE ALL ON FUNCTION public.cash_read_account(uuid, text) FROM PUBLIC;
