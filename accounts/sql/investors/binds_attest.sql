-- Keeps what a partner attests of the user of an account of its own, and sets the
-- profile at once where the partner may attest and raises it, or renews its own.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_user (FOR NO KEY UPDATE), issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.binds_attest(
    id uuid, change uuid, actor text, account uuid, verification text,
    verified_until timestamp with time zone, country text, class text, evidence text
)
RETURNS SETOF accounts_investorattestation LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    investor uuid;
    attester uuid;
    may_attest boolean;
    before accounts_investorprofile;
BEGIN
    PERFORM accounts_read_committed();
    SELECT a.user_id, p.id, p.may_attest INTO investor, attester, may_attest
    FROM accounts_account a JOIN accounts_partner p ON p.id = a.partner_id
    WHERE a.id = account AND p.login = actor;
    IF NOT FOUND OR NOT isfinite(verified_until) THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own, until '
            'a day or without an end.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = investor FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = investor FOR NO KEY UPDATE;
    RETURN QUERY INSERT INTO accounts_investorattestation (id, account_id, user_id,
        partner_id, verification, verified_until, tax_country_id, investor_class,
        evidence, created_at)
    VALUES (id, account, investor, attester, verification, verified_until, country,
        class, evidence, clock_timestamp())
    RETURNING *;
    SELECT * INTO before FROM accounts_investorprofile p WHERE p.user_id = investor;
    IF may_attest AND (before.partner_id = attester OR accounts_raises(
            before.verification, before.verified_until, before.tax_country_id,
            before.investor_class, verification, verified_until, country, class)) THEN
        PERFORM binds_enter(change, actor, FALSE, investor, id, attester, verification,
            verified_until, country, class, evidence);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_attest(uuid, uuid, text, uuid, text, timestamp with
    time zone, text, text, text) FROM PUBLIC;
