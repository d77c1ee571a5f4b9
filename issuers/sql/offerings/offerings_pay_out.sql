-- Reserves cents of an issuer's cash for a payment to a bank account, as two people
-- decided. A bank line that names the payment reference pays it, as any withdrawal.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.offerings_pay_out(
    actor text, withdrawal uuid, of_issuer uuid, cents bigint, payee_name text,
    payee_iban text
)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    cash bigint;
    used uuid;
    moment timestamptz;
    ordered accounts_withdrawal;
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.cash_account_id INTO cash FROM issuers_issuercash c
        WHERE c.issuer_id = of_issuer;
    PERFORM FROM accounts_cashhead h WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    IF (cents BETWEEN 1 AND (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = cash)) IS NOT TRUE THEN
        RAISE EXCEPTION 'An issuer is paid cents of its cash that are available: %.',
            cents USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('PAYOUT', jsonb_build_object('withdrawal', withdrawal,
        'issuer', of_issuer, 'cents', cents::text, 'payee', payee_name,
        'iban', payee_iban), cents, NULL, NULL);
    PERFORM cash_judge_staff(actor, used, ARRAY['file_payout']);
    UPDATE accounts_cashhead h SET reserved = h.reserved + cents
        WHERE h.cash_account_id = cash;
    moment := clock_timestamp();
    INSERT INTO accounts_withdrawal (id, cash_account_id, amount, reference,
        payment_reference, status, status_reason, request_id, requested_by, created_at,
        updated_at)
    VALUES (withdrawal, cash, cents, withdrawal::text,
        cash_reference('2', ('x' || right(withdrawal::text, 12))::bit(48)::bigint),
        'APPROVED', '', used, actor, moment, moment)
    RETURNING * INTO ordered;
    INSERT INTO accounts_payee (withdrawal_id, name, iban)
        VALUES (ordered.id, payee_name, payee_iban);
    RETURN ordered;
END $$;
REVOKE ALL ON FUNCTION public.offerings_pay_out(text, uuid, uuid, bigint, text, text) FROM
    PUBLIC;
