-- Tells partners that the cash of their accounts changed, or what is reserved of it.
-- called by: cash_decide_withdrawal, cash_post, cash_withdraw, offerings_amend,
--     offerings_leave, offerings_release, offerings_settle, offerings_subscribe
CREATE OR REPLACE FUNCTION public.cash_tell(cash_accounts bigint[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a
    WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
        WHERE c.id = ANY (cash_accounts))
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.cash_tell(bigint[]) FROM PUBLIC;
