-- Withdraws a subscription before its reflection period has ended, to the microsecond,
-- and frees its cash.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE),
--     issuers_offering (FOR SHARE)
CREATE OR REPLACE FUNCTION public.offerings_leave(
    asker text, subscription uuid, at timestamp with time zone
)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    kept issuers_subscription;
    standing text;
    token uuid;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = subscription;
    SELECT o.status, o.token_id INTO standing, token FROM issuers_offering o
        WHERE o.id = kept.offering_id FOR SHARE;
    PERFORM FROM accounts_account a WHERE a.id = kept.account_id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = kept.cash_account_id FOR NO KEY UPDATE;
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = subscription;
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()
        AND kept.status = 'ACTIVE' AND standing IN ('OPEN', 'CLOSED')
        AND at < kept.reflects_until) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is withdrawn before its reflection period has '
            'ended.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_partner p
        WHERE p.id = kept.partner_id AND p.login = asker AND p.is_active;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The partner of its account withdraws a subscription, and not '
            '%.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_cashhead h
        SET reserved = h.reserved - kept.quantity * kept.limit_price
        WHERE h.cash_account_id = kept.cash_account_id;
    UPDATE issuers_subscription s SET status = 'WITHDRAWN', version = s.version + 1,
        updated_at = at
        WHERE s.id = subscription RETURNING * INTO kept;
    PERFORM cash_tell(ARRAY[kept.cash_account_id]);
    PERFORM offerings_tell_each(token, ARRAY[subscription]);
    RETURN kept;
END $$;
REVOKE ALL ON FUNCTION public.offerings_leave(text, uuid, timestamp with time zone) FROM
    PUBLIC;
