-- Subscribes an account to units of an offering, and reserves their cents at the limit;
-- `at` was taken by offerings_read, which holds the locks.
-- called by: application
-- locks: accounts_account (FOR SHARE), issuers_offering (FOR SHARE)
CREATE OR REPLACE FUNCTION public.offerings_subscribe(
    asker text, subscription uuid, of_offering uuid, of_account uuid, units bigint,
    cents bigint, at timestamp with time zone
)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    ledger bigint;
    cash bigint;
    written issuers_subscription;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = of_offering FOR SHARE;
    SELECT * INTO account FROM accounts_account a WHERE a.id = of_account FOR SHARE;
    SELECT l.id INTO STRICT ledger FROM issuers_ledgeraccount l
        WHERE l.user_id = account.user_id;
    SELECT c.id INTO STRICT cash FROM accounts_cashaccount c
        WHERE c.account_id = of_account;
    PERFORM offerings_judge(asker, offering, account, ledger, units, cents, at);
    UPDATE accounts_cashhead h SET reserved = h.reserved + units * cents
        WHERE h.cash_account_id = cash;
    INSERT INTO issuers_subscription (id, offering_id, account_id, user_id,
        ledger_account_id, cash_account_id, partner_id, quantity, limit_price, status,
        version, ranked_at, reflects_until, refusal, created_at, updated_at)
    VALUES (subscription, of_offering, of_account, account.user_id, ledger, cash,
        account.partner_id, units, cents, 'ACTIVE', 1, at,
        offerings_reflects_until(offering, account.user_id, at), '', at, at)
    RETURNING * INTO written;
    PERFORM cash_tell(ARRAY[cash]);
    PERFORM offerings_tell_each(offering.token_id, ARRAY[subscription]);
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_subscribe(text, uuid, uuid, uuid, bigint, bigint,
    timestamp with time zone) FROM PUBLIC;
