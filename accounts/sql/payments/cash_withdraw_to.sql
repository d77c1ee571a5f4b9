-- Requests a withdrawal, as cash_withdraw does, that pays the bank account of a payee.
-- called by: application
CREATE OR REPLACE FUNCTION public.cash_withdraw_to(
    asker text, withdrawal uuid, account uuid, cents bigint, partner_reference text,
    payee_name text, payee_iban text
)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    requested accounts_withdrawal;
BEGIN
    requested := cash_withdraw(asker, withdrawal, account, cents, partner_reference);
    INSERT INTO accounts_payee (withdrawal_id, name, iban)
        VALUES (requested.id, payee_name, payee_iban);
    RETURN requested;
END $$;
REVOKE ALL ON FUNCTION public.cash_withdraw_to(text, uuid, uuid, bigint, text, text,
    text) FROM PUBLIC;
