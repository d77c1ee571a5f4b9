-- Requests a withdrawal from an ACTIVE account of the partner that asks, and reserves
-- its cents. The id gives the payment reference.
-- called by: application, cash_withdraw_to
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE)
CREATE OR REPLACE FUNCTION public.cash_withdraw(
    asker text, withdrawal uuid, account uuid, cents bigint, partner_reference text
)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cash bigint;
    standing text;
    moment timestamptz;
    requested accounts_withdrawal;
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.id, a.status INTO cash, standing
    FROM accounts_account a
    JOIN accounts_partner p ON p.id = a.partner_id AND p.login = asker AND p.is_active
    JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = account FOR SHARE OF a;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A withdrawal is requested by the partner of its account, and '
            'not by %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    IF standing <> 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_cashhead h SET reserved = h.reserved + cents
        WHERE h.cash_account_id = cash;
    moment := clock_timestamp();
    INSERT INTO accounts_withdrawal (id, cash_account_id, amount, reference,
        payment_reference, status, status_reason, requested_by, created_at, updated_at)
    VALUES (withdrawal, cash, cents, partner_reference,
        cash_reference('2', ('x' || right(withdrawal::text, 12))::bit(48)::bigint),
        'REQUESTED', '', asker, moment, moment)
    RETURNING * INTO requested;
    PERFORM cash_tell(ARRAY[cash]);
    RETURN requested;
END $$;
REVOKE ALL ON FUNCTION public.cash_withdraw(text, uuid, uuid, bigint, text) FROM PUBLIC;
