-- Keeps a payment file, with the withdrawals that it orders the bank to pay. Each is
-- APPROVED, names a payee, and is in no other file. Returns the file's id.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_order_payments(
    asker text, message_id text, file_content text, withdrawals uuid[]
)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    payable integer;
    cents bigint;
    made bigint;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM cash_judge_staff(asker, NULL, ARRAY['add_paymentfile']);
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (
            SELECT w.cash_account_id FROM accounts_withdrawal w
            WHERE w.id = ANY (withdrawals))
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    SELECT count(*), sum(w.amount) INTO payable, cents
    FROM accounts_withdrawal w
    JOIN accounts_payee p ON p.withdrawal_id = w.id
    WHERE w.id = ANY (withdrawals) AND w.status = 'APPROVED'
        AND NOT EXISTS (
            SELECT FROM accounts_paymentorder o WHERE o.withdrawal_id = w.id);
    IF payable = 0 OR payable <> cardinality(withdrawals) THEN
        RAISE EXCEPTION 'A payment file pays withdrawals that are APPROVED, have a '
            'payee and are in no other file.' USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_paymentfile
        (message, content, total, payments, made_by, made_at)
    VALUES (message_id, file_content, cents, payable, asker, clock_timestamp())
    RETURNING id INTO made;
    INSERT INTO accounts_paymentorder (withdrawal_id, file_id)
    SELECT w, made FROM unnest(withdrawals) AS w;
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.cash_order_payments(text, text, text, uuid[]) FROM PUBLIC;
