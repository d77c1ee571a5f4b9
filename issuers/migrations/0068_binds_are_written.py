"""Binds are written."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.binds_approve_holder(id uuid, actor text, token uuid, account bigint, until timestamp with time zone)
RETURNS SETOF issuers_approvedholder LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.add_approvedholder');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = account AND a.kind = 'HOLDER' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Account % is no holder''s.', account
            USING ERRCODE = 'restrict_violation';
    END IF;
    at := clock_timestamp();
    UPDATE issuers_approvedholder h SET ended_at = at, ended_by = actor
        WHERE h.token_id = token AND h.ledger_account_id = account
            AND h.ended_at IS NULL;
    RETURN QUERY INSERT INTO issuers_approvedholder (id, token_id, ledger_account_id,
        until, created_by, created_at)
    VALUES (id, token, account, until, actor, at)
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_approve_holder(uuid, text, uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_check_rule(kind text, parameters jsonb)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    unknown text;
BEGIN
    IF register_rule_is_valid(kind, parameters) IS NOT TRUE THEN
        RAISE EXCEPTION '% are not parameters of %: token_rule_is_valid.', parameters,
            kind USING ERRCODE = 'check_violation';
    END IF;
    IF kind = 'COUNTRIES' THEN
        SELECT string_agg(named.code, ', ') INTO unknown
        FROM jsonb_path_query(parameters, '$.*[*]') AS said (code)
        CROSS JOIN LATERAL (SELECT said.code #>> '{}' AS code) AS named
        WHERE NOT EXISTS (SELECT FROM accounts_country c WHERE c.code = named.code);
    END IF;
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'A rule names countries by ISO 3166-1: %.', unknown
            USING ERRCODE = 'check_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_check_rule(text, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_end_approval(actor text, approved uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ended timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.add_approvedholder');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = (SELECT h.ledger_account_id FROM issuers_approvedholder h
            WHERE h.id = approved) FOR NO KEY UPDATE;
    UPDATE issuers_approvedholder h SET ended_at = clock_timestamp(), ended_by = actor
        WHERE h.id = approved AND h.ended_at IS NULL
        RETURNING h.ended_at INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'An approved holder is ended once: %.', approved
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN ended;
END $$;
REVOKE ALL ON FUNCTION public.binds_end_approval(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_end_grant(actor text, given uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.change_issuergrant');
    UPDATE issuers_issuergrant g SET ended_at = clock_timestamp()
        WHERE g.id = given AND g.ended_at IS NULL;
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.binds_end_grant(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_grant(id uuid, actor text, partner uuid, issuer uuid)
RETURNS SETOF issuers_issuergrant LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'GRANT',
        jsonb_strip_nulls(jsonb_build_object('partner', partner, 'issuer', issuer)));
    RETURN QUERY UPDATE issuers_issuergrant g
        SET ended_at = NULL, created_at = clock_timestamp()
        WHERE g.partner_id = partner AND g.issuer_id IS NOT DISTINCT FROM issuer
            AND g.ended_at IS NOT NULL
        RETURNING g.*;
    IF NOT FOUND THEN
        RETURN QUERY INSERT INTO issuers_issuergrant
            (id, partner_id, issuer_id, created_at)
        VALUES (id, partner, issuer, clock_timestamp())
        RETURNING *;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_grant(uuid, text, uuid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_lift(actor text, restriction uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ended timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = (SELECT r.ledger_account_id FROM issuers_restriction r
            WHERE r.id = restriction) FOR NO KEY UPDATE;
    UPDATE issuers_restriction r SET ended_at = clock_timestamp(), ended_by = actor
        WHERE r.id = restriction AND r.ended_at IS NULL
        RETURNING r.ended_at INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A restriction is ended once: %.', restriction
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'LIFTING',
        jsonb_build_object('restriction', restriction));
    RETURN ended;
END $$;
REVOKE ALL ON FUNCTION public.binds_lift(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_preview_rule(token uuid, kind text, parameters jsonb, accounts bigint[], code text)
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    refused bigint[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM binds_check_rule(kind, parameters);
    BEGIN
        PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
        UPDATE issuers_tokenrule r SET ended_at = clock_timestamp(), ended_by = 'preview'
            WHERE r.token_id = token AND r.kind = binds_preview_rule.kind
                AND r.ended_at IS NULL;
        INSERT INTO issuers_tokenrule (id, token_id, kind, parameters, reason,
            created_by, approved_by, created_at)
        VALUES (gen_random_uuid(), token, kind, parameters, 'preview', 'preview',
            'preview', clock_timestamp());
        SELECT array_agg(s.account) INTO refused
        FROM register_standing(token, accounts, clock_timestamp()) s
        WHERE s.receiving @> jsonb_build_array(jsonb_build_object('code', code));
        -- The block ends by an error, so that its rows and its locks go.
        RAISE EXCEPTION 'The preview ends.' USING ERRCODE = 'no_data_found';
    EXCEPTION WHEN no_data_found THEN
        NULL;
    END;
    RETURN coalesce(refused, '{}');
END $$;
REVOKE ALL ON FUNCTION public.binds_preview_rule(uuid, text, jsonb, bigint[], text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_restrict(id uuid, actor text, account bigint, kind text, token uuid, units numeric, until timestamp with time zone, beneficiary text, reason text)
RETURNS SETOF issuers_restriction LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.add_restriction');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = account AND a.kind = 'HOLDER' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Account % is no holder''s.', account
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY INSERT INTO issuers_restriction (id, kind, ledger_account_id, token_id,
        units, until, beneficiary, reason, created_by, created_at)
    VALUES (id, kind, account, token, units, until, beneficiary, reason, actor,
        clock_timestamp())
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_restrict(uuid, text, bigint, text, uuid, numeric, timestamp with time zone, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_rule(id uuid, actor text, token uuid, kind text, parameters jsonb, reason text)
RETURNS SETOF issuers_tokenrule LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    present uuid;
    approver text;
    at timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF parameters IS NOT NULL THEN
        PERFORM binds_check_rule(kind, parameters);
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
    SELECT r.id INTO present FROM issuers_tokenrule r
        WHERE r.token_id = token AND r.kind = binds_rule.kind AND r.ended_at IS NULL;
    IF parameters IS NULL AND present IS NULL THEN
        RAISE EXCEPTION 'There is no rule % to end.', kind
            USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'RULE', jsonb_build_object('token', token,
        'kind', kind, 'parameters', parameters, 'replaces', present)
        || CASE WHEN parameters IS NULL THEN '{}'
            ELSE jsonb_build_object('reason', reason) END);
    at := clock_timestamp();
    UPDATE issuers_tokenrule r SET ended_at = at, ended_by = actor
        WHERE r.id = present;
    IF parameters IS NOT NULL THEN
        RETURN QUERY INSERT INTO issuers_tokenrule (id, token_id, kind, parameters,
            reason, replaces_id, created_by, approved_by, created_at)
        VALUES (id, token, kind, parameters, reason, present, actor, approver, at)
        RETURNING *;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_rule(uuid, text, uuid, text, jsonb, text) FROM PUBLIC;

CREATE OR REPLACE TRIGGER account_is_held_first BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_hold_investor();

DROP TRIGGER IF EXISTS approvals_of_lifting ON public.issuers_restriction;
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_lifting();

DROP TRIGGER IF EXISTS approvals_of_rule ON public.issuers_tokenrule;
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_rule();

CREATE OR REPLACE TRIGGER compliance_know_countries AFTER INSERT ON public.issuers_tokenrule FOR EACH ROW WHEN (new.kind = 'COUNTRIES' AND public.accounts_written_directly()) EXECUTE FUNCTION public.compliance_know_countries();

CREATE OR REPLACE TRIGGER register_keep_approvedholder BEFORE INSERT OR UPDATE ON public.issuers_approvedholder FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_approvedholder();

CREATE OR REPLACE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE ON public.issuers_restriction FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_restriction();

CREATE OR REPLACE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE ON public.issuers_tokenrule FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_tokenrule();
"""

BACKWARD = r"""
CREATE OR REPLACE TRIGGER account_is_held_first BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.register_hold_investor();

DROP TRIGGER IF EXISTS approvals_of_lifting ON public.issuers_restriction;
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_lifting();

DROP TRIGGER IF EXISTS approvals_of_rule ON public.issuers_tokenrule;
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_rule();

CREATE OR REPLACE TRIGGER compliance_know_countries AFTER INSERT ON public.issuers_tokenrule FOR EACH ROW WHEN (new.kind = 'COUNTRIES') EXECUTE FUNCTION public.compliance_know_countries();

CREATE OR REPLACE TRIGGER register_keep_approvedholder BEFORE INSERT OR UPDATE ON public.issuers_approvedholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_approvedholder();

CREATE OR REPLACE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE ON public.issuers_restriction FOR EACH ROW EXECUTE FUNCTION public.register_keep_restriction();

CREATE OR REPLACE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE ON public.issuers_tokenrule FOR EACH ROW EXECUTE FUNCTION public.register_keep_tokenrule();

DROP FUNCTION public.binds_approve_holder(uuid, text, uuid, bigint, timestamp with time zone);

DROP FUNCTION public.binds_check_rule(text, jsonb);

DROP FUNCTION public.binds_end_approval(text, uuid);

DROP FUNCTION public.binds_end_grant(text, uuid);

DROP FUNCTION public.binds_grant(uuid, text, uuid, uuid);

DROP FUNCTION public.binds_lift(text, uuid);

DROP FUNCTION public.binds_preview_rule(uuid, text, jsonb, bigint[], text);

DROP FUNCTION public.binds_restrict(uuid, text, bigint, text, uuid, numeric, timestamp with time zone, text, text);

DROP FUNCTION public.binds_rule(uuid, text, uuid, text, jsonb, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0067_events_collected_in_one_statement"),
        ("accounts", "0058_binds_are_written"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
