-- Tells partners of a statement's receipts in suspense whose text names the deposit
-- reference of one of their accounts, such as one that is PENDING or CLOSED.
-- called by: cash_book_statement
CREATE OR REPLACE FUNCTION public.cash_tell_unassigned(statement bigint)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('DEPOSIT_UNASSIGNED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a
    WHERE a.id IN (
        SELECT c.account_id
        FROM accounts_bankline l
        JOIN accounts_cashtransaction t ON t.reference = l.reference
        JOIN accounts_cashaccount s ON s.id = t.target_id AND s.kind = 'SUSPENSE'
        CROSS JOIN LATERAL regexp_matches(
            regexp_replace(upper(l.text), '[^A-Z0-9]', '', 'g'), 'RF[0-9]{15}', 'g')
            AS found (names)
        JOIN accounts_cashaccount c ON c.deposit_reference = found.names[1]
        WHERE l.statement_id = statement)
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.cash_tell_unassigned(bigint) FROM PUBLIC;
