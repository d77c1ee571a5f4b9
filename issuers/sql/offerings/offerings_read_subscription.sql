-- Reads, as one object, what a change of a subscription is judged by: the subscription,
-- its offering and, for `units`, what offerings_read returns. With `holds`, after it has
-- locked the offering, the account and its cash. Without, it locks nothing.
-- called by: application
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE),
--     issuers_ledgeraccount (FOR SHARE), issuers_offering (FOR SHARE)
CREATE OR REPLACE FUNCTION public.offerings_read_subscription(
    of_subscription uuid, units bigint, holds boolean
)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    kept issuers_subscription;
    settling integer;
    moment timestamptz;
BEGIN
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = of_subscription;
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_offering o WHERE o.id = kept.offering_id FOR SHARE;
        PERFORM FROM accounts_account a WHERE a.id = kept.account_id FOR SHARE;
    END IF;
    settling := offerings_settling(ARRAY[kept.cash_account_id]);
    IF holds AND settling IS NULL THEN
        PERFORM FROM issuers_ledgeraccount l WHERE l.id = kept.ledger_account_id
            FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = kept.cash_account_id FOR NO KEY UPDATE;
        SELECT * INTO kept FROM issuers_subscription s WHERE s.id = of_subscription;
    END IF;
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = kept.offering_id;
    moment := clock_timestamp();
    RETURN json_build_object('clock', moment, 'settling', settling,
        'offering', to_json(offering), 'subscription', to_json(kept),
        'account', (SELECT a.status FROM accounts_account a
            WHERE a.id = kept.account_id),
        'class', (SELECT i.investor_class FROM accounts_investorprofile i
            WHERE i.user_id = kept.user_id),
        'available', (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = kept.cash_account_id),
        'refusals', (SELECT coalesce(json_agg(json_build_array(r.code, r.details)),
                '[]')
            FROM offerings_refusals(offering, kept.ledger_account_id, NULL, units,
                moment) r));
END $$;
REVOKE ALL ON FUNCTION public.offerings_read_subscription(uuid, bigint, boolean) FROM
    PUBLIC;
