-- Refuses a subscription of units at a limit, at an instant that its writer took under
-- the locks: one of an active account, by its partner, to an open offering, within its
-- tickets and prices, which no rule of the token refuses.
-- called by: offerings_amend, offerings_subscribe
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.offerings_judge(
    asker text, offering issuers_offering, account accounts_account, target bigint,
    units bigint, cents bigint, at timestamp with time zone
)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    wrong text;
BEGIN
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription has the time that its writer took under the '
            'lock, and not %.', at USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_partner p
        WHERE p.id = account.partner_id AND p.login = asker AND p.is_active;
    IF NOT FOUND OR account.status <> 'ACTIVE' THEN
        RAISE EXCEPTION 'The partner of an active account subscribes for it, and not '
            '%.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    IF (offering.status = 'OPEN' AND at >= offering.opens_at AND at < offering.closes_at)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering takes subscriptions while it is open.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (units BETWEEN offering.smallest_ticket AND coalesce(offering.largest_ticket,
            offering.maximum_units) AND CASE offering.rule WHEN 'BOOK'
            THEN cents BETWEEN offering.price_floor AND offering.price_cap
            ELSE cents = offering.price END) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is within the tickets and the prices of its '
            'offering.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT r.code INTO wrong
        FROM offerings_refusals(offering, target, NULL, units, at) r LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            'the subscription: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.offerings_judge(text, issuers_offering, accounts_account,
    bigint, bigint, bigint, timestamp with time zone) FROM PUBLIC;
