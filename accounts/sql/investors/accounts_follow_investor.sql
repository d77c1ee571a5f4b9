-- Derives an investor's profile from its next change. Staff change a profile freely; a
-- partner only raises or renews it, with an attestation of the same content.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_user (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_follow_investor()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    before accounts_investorprofile;
    attested accounts_investorattestation;
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'accounts_follow_investor guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    SELECT * INTO before FROM accounts_investorprofile p WHERE p.user_id = NEW.user_id;
    IF NEW.number <> coalesce(before.changes, 0) + 1 THEN
        RAISE EXCEPTION 'The next change of a profile has the next number: % of %.',
            NEW.number, NEW.user_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.attestation_id IS NOT NULL THEN
        SELECT * INTO STRICT attested FROM accounts_investorattestation
            WHERE id = NEW.attestation_id;
        IF attested.user_id <> NEW.user_id
            OR attested.partner_id IS DISTINCT FROM NEW.partner_id THEN
            RAISE EXCEPTION 'Attestation % is of another user, or partner.',
                attested.id USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    NEW.created_at := greatest(clock_timestamp(), before.updated_at);
    IF NOT coalesce(CASE WHEN NEW.is_staff THEN EXISTS (SELECT FROM accounts_user u
                WHERE u.email = NEW.actor AND u.is_staff AND u.is_active)
            ELSE NEW.actor = (
                SELECT login FROM accounts_partner WHERE id = NEW.partner_id) AND
            (SELECT may_attest FROM accounts_partner WHERE id = NEW.partner_id)
            AND ROW (attested.verification, attested.verified_until,
                attested.tax_country_id, attested.investor_class)
                IS NOT DISTINCT FROM ROW (NEW.verification, NEW.verified_until,
                    NEW.tax_country_id, NEW.investor_class)
            AND (before.partner_id IS NOT DISTINCT FROM NEW.partner_id
                OR accounts_raises(before.verification, before.verified_until,
                    before.tax_country_id, before.investor_class, NEW.verification,
                    NEW.verified_until, NEW.tax_country_id, NEW.investor_class))
            END, FALSE) THEN
        RAISE EXCEPTION 'Staff change a profile, or a partner that may attest raises or '
            'renews it: attestation %.', NEW.attestation_id USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_investorprofile (user_id, verification, verified_until,
        tax_country_id, investor_class, evidence, partner_id, changes, updated_at)
    VALUES (NEW.user_id, NEW.verification, NEW.verified_until, NEW.tax_country_id,
        NEW.investor_class, NEW.evidence, NEW.partner_id, NEW.number, NEW.created_at)
    ON CONFLICT (user_id) DO UPDATE SET verification = excluded.verification,
        verified_until = excluded.verified_until,
        tax_country_id = excluded.tax_country_id,
        investor_class = excluded.investor_class, evidence = excluded.evidence,
        partner_id = excluded.partner_id, changes = excluded.changes,
        updated_at = excluded.updated_at;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_investor() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_follow_investor BEFORE INSERT
    ON public.accounts_investorchange FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_follow_investor();
