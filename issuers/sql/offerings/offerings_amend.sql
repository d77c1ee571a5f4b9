-- Changes the units or the limit of a subscription, and what it reserves. Fewer units or
-- a lower limit are a withdrawal in part, and take its reflection period; more units or
-- a higher limit get a new place and, with it, a new period.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE),
--     issuers_offering (FOR SHARE)
CREATE OR REPLACE FUNCTION public.offerings_amend(
    asker text, subscription uuid, expected integer, units bigint, cents bigint,
    at timestamp with time zone
)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    before issuers_subscription;
    written issuers_subscription;
    is_more boolean;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = before.offering_id FOR SHARE;
    SELECT * INTO account FROM accounts_account a
        WHERE a.id = before.account_id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = before.cash_account_id FOR NO KEY UPDATE;
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
    UPDATE accounts_cashhead h SET reserved = h.reserved + units * cents
            - before.quantity * before.limit_price
        WHERE h.cash_account_id = before.cash_account_id;
    PERFORM offerings_judge(asker, offering, account, before.ledger_account_id, units,
        cents, at);
    IF (before.status = 'ACTIVE' AND before.version = expected
        AND (units >= before.quantity AND cents >= before.limit_price
            OR at < before.reflects_until)) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is amended while it is active, in the version '
            'that was read, and to less before its reflection period has ended.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    is_more := units > before.quantity OR cents > before.limit_price;
    UPDATE issuers_subscription s SET quantity = units, limit_price = cents,
        version = s.version + 1, updated_at = at,
        ranked_at = CASE WHEN is_more THEN at ELSE s.ranked_at END,
        reflects_until = CASE WHEN is_more THEN greatest(s.reflects_until,
            offerings_reflects_until(offering, s.user_id, at))
            ELSE s.reflects_until END
    WHERE s.id = subscription
    RETURNING * INTO written;
    PERFORM cash_tell(ARRAY[before.cash_account_id]);
    PERFORM offerings_tell_each(offering.token_id, ARRAY[subscription]);
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_amend(text, uuid, integer, bigint, bigint,
    timestamp with time zone) FROM PUBLIC;
