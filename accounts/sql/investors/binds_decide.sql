-- Sets an investor's profile for a member of staff with that right, who may follow an
-- attestation of a partner.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_user (FOR NO KEY UPDATE), issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.binds_decide(
    id uuid, actor text, investor uuid, attestation uuid, verification text,
    verified_until timestamp with time zone, country text, class text, evidence text
)
RETURNS SETOF accounts_investorchange LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    attester uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(actor, 'accounts.add_investorchange');
    IF NOT isfinite(verified_until) THEN
        RAISE EXCEPTION 'A profile is verified until a day, or without an end.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = investor FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = investor FOR NO KEY UPDATE;
    IF attestation IS NOT NULL THEN
        SELECT t.partner_id INTO attester FROM accounts_investorattestation t
            WHERE t.id = attestation AND t.user_id = investor;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Attestation % is of another user.', attestation
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    RETURN QUERY SELECT * FROM binds_enter(id, actor, TRUE, investor, attestation,
        attester, verification, verified_until, country, class, evidence);
END $$;
REVOKE ALL ON FUNCTION public.binds_decide(uuid, text, uuid, uuid, text, timestamp with
    time zone, text, text, text) FROM PUBLIC;
