"""Binds are written."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_staff_with(actor text, wanted text)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person uuid;
BEGIN
    SELECT u.id INTO person FROM accounts_user u
    WHERE u.email = actor AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
        SELECT FROM auth_permission p
        JOIN django_content_type c ON c.id = p.content_type_id
            AND c.app_label = split_part(wanted, '.', 1)
        WHERE p.codename = split_part(wanted, '.', 2) AND (
            EXISTS (SELECT FROM accounts_user_user_permissions own
                WHERE own.user_id = u.id AND own.permission_id = p.id)
            OR EXISTS (SELECT FROM accounts_user_groups member
                JOIN auth_group_permissions given ON given.group_id = member.group_id
                WHERE member.user_id = u.id AND given.permission_id = p.id))));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs an active member of staff with the right %: %.',
            wanted, coalesce(nullif(actor, ''), 'none is named')
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN person;
END $$;
REVOKE ALL ON FUNCTION public.accounts_staff_with(text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_use_by(actor text, wanted text, said jsonb)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid := approvals_use(wanted, said, NULL, NULL, NULL);
    decider text := '';
BEGIN
    IF used IS NULL THEN
        PERFORM FROM accounts_user u
            WHERE u.email = actor AND approvals_may(u.id, 'file_' || wanted);
    ELSE
        SELECT coalesce(d.email, '') INTO decider
        FROM accounts_approvalrequest r
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_approvaldecision n ON n.request_id = r.id
        JOIN accounts_user d ON d.id = n.decided_by_id
        WHERE r.id = used AND (actor = d.email
            OR actor = f.email AND approvals_may(f.id, 'file_' || wanted));
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs the member of staff that filed its approval and may '
            'file it now, or that decided it: % %.', wanted, actor
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN decider;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_by(text, text, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_attest(id uuid, change uuid, actor text, account uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
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
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.user_id, p.id, p.may_attest INTO investor, attester, may_attest
    FROM accounts_account a JOIN accounts_partner p ON p.id = a.partner_id
    WHERE a.id = account AND p.login = actor;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own.'
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
REVOKE ALL ON FUNCTION public.binds_attest(uuid, uuid, text, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_decide(id uuid, actor text, investor uuid, attestation uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
RETURNS SETOF accounts_investorchange LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    attester uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'accounts.add_investorchange');
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
REVOKE ALL ON FUNCTION public.binds_decide(uuid, text, uuid, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_enter(id uuid, actor text, is_staff boolean, investor uuid, attestation uuid, attester uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
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
END $$;
REVOKE ALL ON FUNCTION public.binds_enter(uuid, text, boolean, uuid, uuid, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_attest BEFORE INSERT ON public.accounts_investorattestation FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_attest();

CREATE OR REPLACE TRIGGER accounts_follow_investor BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_follow_investor();
"""

BACKWARD = r"""
CREATE OR REPLACE TRIGGER accounts_attest BEFORE INSERT ON public.accounts_investorattestation FOR EACH ROW EXECUTE FUNCTION public.accounts_attest();

CREATE OR REPLACE TRIGGER accounts_follow_investor BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.accounts_follow_investor();

DROP FUNCTION public.accounts_staff_with(text, text);

DROP FUNCTION public.approvals_use_by(text, text, jsonb);

DROP FUNCTION public.binds_attest(uuid, uuid, text, uuid, text, timestamp with time zone, text, text, text);

DROP FUNCTION public.binds_decide(uuid, text, uuid, uuid, text, timestamp with time zone, text, text, text);

DROP FUNCTION public.binds_enter(uuid, text, boolean, uuid, uuid, uuid, text, timestamp with time zone, text, text, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0057_events_collected_in_one_statement"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
