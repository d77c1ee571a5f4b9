-- Reads, as one object, what a subscription of an account to an offering is judged by.
-- With `holds`, after it has locked the offering, the account and its cash; a user
-- without a ledger account is then `missing`. Without, it locks nothing.
-- called by: application
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE),
--     issuers_ledgeraccount (FOR SHARE), issuers_offering (FOR SHARE)
CREATE OR REPLACE FUNCTION public.offerings_read(
    of_offering uuid, of_account uuid, units bigint, holds boolean
)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    ledger bigint;
    cash bigint;
    settling integer;
    moment timestamptz;
BEGIN
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_offering o WHERE o.id = of_offering FOR SHARE;
        PERFORM FROM accounts_account a WHERE a.id = of_account FOR SHARE;
    END IF;
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = of_offering;
    SELECT * INTO account FROM accounts_account a WHERE a.id = of_account;
    SELECT l.id INTO ledger FROM issuers_ledgeraccount l
        WHERE l.user_id = account.user_id;
    SELECT c.id INTO cash FROM accounts_cashaccount c WHERE c.account_id = of_account;
    settling := offerings_settling(ARRAY[cash]);
    IF holds AND ledger IS NULL THEN
        RETURN json_build_object('missing', account.user_id);
    END IF;
    IF holds AND settling IS NULL THEN
        PERFORM FROM issuers_ledgeraccount l WHERE l.id = ledger FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    END IF;
    moment := clock_timestamp();
    RETURN json_build_object('clock', moment, 'settling', settling,
        'offering', to_json(offering), 'account', account.status,
        'class', (SELECT i.investor_class FROM accounts_investorprofile i
            WHERE i.user_id = account.user_id),
        'available', (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = cash),
        'before', (SELECT s.id FROM issuers_subscription s
            WHERE s.account_id = of_account AND s.offering_id = of_offering
                AND s.status = 'ACTIVE'),
        'refusals', (SELECT coalesce(json_agg(json_build_array(r.code, r.details)),
                '[]')
            FROM offerings_refusals(offering, ledger,
                CASE WHEN ledger IS NULL THEN account.user_id END, units, moment) r));
END $$;
REVOKE ALL ON FUNCTION public.offerings_read(uuid, uuid, bigint, boolean) FROM PUBLIC;
