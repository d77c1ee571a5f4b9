-- Enters the next change of a profile, sets the profile to it, and tells the partners of
-- the investor's open accounts. The caller holds the user.
-- called by: binds_attest, binds_decide
CREATE OR REPLACE FUNCTION public.binds_enter(
    id uuid, actor text, is_staff boolean, investor uuid, attestation uuid,
    attester uuid, verification text, verified_until timestamp with time zone,
    country text, class text, evidence text
)
RETURNS SETOF accounts_investorchange LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    following integer := 1;
    at timestamptz := clock_timestamp();
BEGIN
    SELECT p.changes + 1, greatest(at, p.updated_at) INTO following, at
        FROM accounts_investorprofile p WHERE p.user_id = investor;
    IF NOT FOUND THEN
        following := 1;
        at := clock_timestamp();
    END IF;
    INSERT INTO accounts_investorprofile (user_id, verification, verified_until,
        tax_country_id, investor_class, evidence, partner_id, changes, updated_at)
    VALUES (investor, verification, verified_until, country, class, evidence, attester,
        following, at)
    ON CONFLICT (user_id) DO UPDATE SET verification = excluded.verification,
        verified_until = excluded.verified_until,
        tax_country_id = excluded.tax_country_id,
        investor_class = excluded.investor_class, evidence = excluded.evidence,
        partner_id = excluded.partner_id, changes = excluded.changes,
        updated_at = excluded.updated_at;
    RETURN QUERY INSERT INTO accounts_investorchange (id, user_id, number,
        attestation_id, partner_id, actor, is_staff, verification, verified_until,
        tax_country_id, investor_class, evidence, created_at)
    VALUES (id, investor, following, attestation, attester, actor, is_staff, verification,
        verified_until, country, class, evidence, at)
    RETURNING *;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('INVESTOR_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a
    WHERE a.user_id = investor AND a.status NOT IN ('CLOSED', 'REJECTED')
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.binds_enter(uuid, text, boolean, uuid, uuid, uuid, text,
    timestamp with time zone, text, text, text) FROM PUBLIC;
