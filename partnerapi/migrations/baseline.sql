-- The tables, functions and triggers of the first 127 migrations, as pg_dump writes them:
-- what `migrate` puts into an empty database, before the migrations that came later.
-- Frozen: what changes them is a migration.

SELECT pg_catalog.set_config('search_path', '', TRUE);
SET LOCAL check_function_bodies = FALSE;

CREATE FUNCTION public.accounts_accept_applicant() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'accounts_accept_applicant guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE p.account_id = NEW.account_id AND a.user_id = p.user_id
            AND u.id = p.user_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.accounts_attest() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorattestation'::regclass THEN
        RAISE EXCEPTION 'accounts_attest guards accounts_investorattestation, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_account a WHERE a.id = NEW.account_id
            AND a.user_id = NEW.user_id AND a.partner_id = NEW.partner_id) THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_begin_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_begin_history guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (
        SELECT FROM accounts_accountstatuschange WHERE account_id = NEW.id) THEN
        RAISE EXCEPTION 'Account % has no history; it begins with its opening.', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.accounts_describe() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_applicant'::regclass THEN
        RAISE EXCEPTION 'accounts_describe guards accounts_applicant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT partner_id, user_id INTO NEW.partner_id, NEW.user_id
        FROM accounts_account WHERE id = NEW.account_id AND status = 'PENDING';
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_follow_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'accounts_follow_history guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_account
        WHERE id IN (SELECT account_id FROM entered) ORDER BY id FOR NO KEY UPDATE;
    SELECT format('account %s, change %s', account_id, number) INTO wrong
    FROM (
        SELECT e.account_id, e.number,
            e.number = a.changes + row_number() OVER by_number
            AND e.previous_status IS NOT DISTINCT FROM lag(e.status, 1,
                CASE WHEN a.changes > 0 THEN a.status END) OVER by_number
            AND e.created_at >= lag(e.created_at, 1, a.updated_at) OVER by_number
            AND e.created_at < clock_timestamp() + interval '1 minute' AS follows
        FROM entered e JOIN accounts_account a ON a.id = e.account_id
        WINDOW by_number AS (PARTITION BY e.account_id ORDER BY e.number)
    ) AS checked
    WHERE NOT follows ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An account''s next change must have the next number, begin '
            'where the account stands, and have a time that is not before the last '
            'one''s nor in the future: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at
        FROM (SELECT DISTINCT ON (account_id) * FROM entered
              ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.accounts_follow_investor() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
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

CREATE FUNCTION public.accounts_hold_cash(cash_accounts bigint[]) RETURNS TABLE(cash_account_id bigint, kind text, balance bigint, reserved bigint, last_at timestamp with time zone, clock timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.cash_account_id, h.kind::text, h.balance, h.reserved, h.last_at,
            clock_timestamp()
        FROM accounts_cashhead h WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id;
END $$;

CREATE FUNCTION public.accounts_join(account uuid, known uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_account WHERE id = account FOR NO KEY UPDATE;
    PERFORM FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE a.id = account AND a.status = 'PENDING' AND a.user_id = p.user_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Only an account that is PENDING, that its partner opened and '
            'that was not joined yet is joined to a user.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_applicant p JOIN accounts_user u
        ON (u.email = p.email OR u.lei = p.lei) AND u.type = (
            SELECT type FROM accounts_user WHERE id = p.user_id)
        WHERE p.account_id = account AND u.id = known AND u.id <> p.user_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'An account is joined to a user of the same type who has the '
            'email or the LEI that the partner told.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_account SET user_id = known WHERE id = account;
END $$;

CREATE FUNCTION public.accounts_keep_keys() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'accounts_keep_keys guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
        'end, no other partner and, but for another pepper, no other secret, is not '
        'revived, and is not deleted. Issue another.',
        OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.accounts_keep_names() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_userholder'::regclass THEN
        RAISE EXCEPTION 'accounts_keep_names guards accounts_userholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('names of holders', 0));
    INSERT INTO accounts_userholdername (holder_id, name, replaced_at)
    SELECT OLD.id, OLD.name, greatest(clock_timestamp(), max(n.replaced_at))
    FROM accounts_userholdername n WHERE n.holder_id = OLD.id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.accounts_keep_superusers() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
    THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

CREATE TABLE public.accounts_account (
    id uuid NOT NULL,
    status character varying(9) NOT NULL,
    status_reason character varying(500),
    changes integer NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    partner_id uuid NOT NULL,
    user_id uuid NOT NULL,
    recorded_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT account_status_is_known CHECK ((status IN ('PENDING', 'ACTIVE', 'SUSPENDED', 'CLOSED', 'REJECTED'))),
    CONSTRAINT accounts_account_changes_check CHECK ((changes >= 0))
);

CREATE FUNCTION public.accounts_lock(account uuid) RETURNS SETOF public.accounts_account
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT * FROM accounts_account WHERE id = account FOR NO KEY UPDATE;
END $$;

CREATE FUNCTION public.accounts_open_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_open_account guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.status <> 'PENDING' OR NEW.changes <> 0 OR NEW.status_reason IS NOT NULL THEN
        RAISE EXCEPTION 'An account begins as PENDING, and its history leads on.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_own_writers() RETURNS TABLE(pid integer, began timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT w.pid, w.xact_start FROM (SELECT a.pid, a.xact_start, a.backend_start IS NOT NULL AS is_known
        FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
            AND a.backend_xid IS NOT NULL) AS w WHERE w.is_known;
END $$;

CREATE FUNCTION public.accounts_raises(was text, was_until timestamp with time zone, was_country text, was_class text, verification text, verified_until timestamp with time zone, country text, class text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public'
    AS $$
    SELECT verification = 'VERIFIED' AND coalesce(was, 'NONE') <> 'REFUSED'
        AND (was_country IS NULL OR was_country = country)
        AND array_position(classes, class) >= array_position(classes,
            coalesce(was_class, 'RETAIL'))
        AND (coalesce(was, 'NONE') <> 'VERIFIED' OR coalesce(verified_until, 'infinity')
            >= coalesce(was_until, 'infinity'))
    FROM (VALUES (ARRAY['RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY']
        )) AS v (classes)
$$;

CREATE FUNCTION public.accounts_record_time() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_record_time guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.recorded_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'What happened stays as it was written: % on % is refused.',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.accounts_reserve_cash(cash_accounts bigint[], deltas bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
    FROM (
        SELECT cash_account, sum(delta)::bigint AS delta
        FROM unnest(cash_accounts, deltas) AS u (cash_account, delta)
        GROUP BY cash_account HAVING sum(delta) <> 0
    ) d
    WHERE h.cash_account_id = d.cash_account;
    IF EXISTS (SELECT FROM unnest(cash_accounts) AS u (cash_account) WHERE NOT EXISTS (
            SELECT FROM accounts_cashhead h WHERE h.cash_account_id = u.cash_account))
    THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.' USING ERRCODE = 'restrict_violation';
    END IF;
END $$;

CREATE FUNCTION public.accounts_settled_at() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    taken timestamptz := clock_timestamp();
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN accounts_settled_at(NULL, FALSE);
    END IF;
    PERFORM pg_stat_clear_snapshot();
    RETURN (
        SELECT least(taken, min(CASE WHEN w.is_known OR o.pid IS NOT NULL
            THEN coalesce(w.xact_start, o.began) ELSE pg_postmaster_start_time() END))
        FROM (SELECT a.pid, a.xact_start, a.backend_start IS NOT NULL AS is_known
        FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
            AND a.backend_xid IS NOT NULL) AS w LEFT JOIN accounts_own_writers() o ON o.pid = w.pid);
END $$;

CREATE FUNCTION public.accounts_settled_at(known timestamp with time zone, has_ended boolean) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    replayed timestamptz;
BEGIN
    IF NOT pg_is_in_recovery() THEN
        RETURN accounts_settled_at();
    END IF;
    replayed := coalesce(pg_last_xact_replay_timestamp(),
        (SELECT checkpoint_time FROM pg_control_checkpoint()));
    IF has_ended AND NOT EXISTS (SELECT FROM pg_stat_wal_receiver) THEN
        RETURN replayed;
    END IF;
    RETURN coalesce(known, replayed);
END $$;

CREATE FUNCTION public.accounts_share(accounts uuid[]) RETURNS SETOF public.accounts_account
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT a.* FROM accounts_account a
        WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
END $$;

CREATE FUNCTION public.accounts_time_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'accounts_time_change guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.approvals_decide() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    r accounts_approvalrequest;
BEGIN
    IF TG_RELID <> 'accounts_approvaldecision'::regclass THEN
        RAISE EXCEPTION 'approvals_decide guards accounts_approvaldecision, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT * INTO STRICT r FROM accounts_approvalrequest
        WHERE id = NEW.request_id FOR UPDATE;
    IF NEW.decided_by_id = r.filed_by_id
        OR NOT approvals_may(NEW.decided_by_id, 'decide_' || r.kind) THEN
        RAISE EXCEPTION 'Who decides a request is an active member of staff, has the '
            'right to decide its kind, and is not who filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.decided_at := clock_timestamp();
    IF r.expires_at <= NEW.decided_at OR EXISTS (
        SELECT FROM accounts_approvaloutcome WHERE request_id = r.id) THEN
        RAISE EXCEPTION 'Request % has expired, or was overtaken.', r.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.approvals_file() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_approvalrequest'::regclass THEN
        RAISE EXCEPTION 'approvals_file guards accounts_approvalrequest, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.filed_at := clock_timestamp();
    IF NEW.expires_at <= NEW.filed_at
        OR NEW.expires_at > NEW.filed_at + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(NEW.filed_by_id, 'file_' || NEW.kind) THEN
        RAISE EXCEPTION 'Who files a request is an active member of staff, and has the '
            'right to ask for its kind: %.', lower(NEW.kind) USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.approvals_may(person uuid, wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM accounts_user u
        WHERE u.id = person AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts' AND c.model = 'approvalrequest'
            WHERE p.codename = lower(wanted) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = u.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = u.id AND given.permission_id = p.id)))));
END $$;

CREATE FUNCTION public.approvals_of_cash() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM accounts_cashtransaction
            WHERE id = NEW.reverses_id AND kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('ASSIGNMENT', jsonb_build_object('assigns', NEW.assigns_id,
        'reverses', NEW.reverses_id, 'to', NEW.target_id, 'cents', NEW.amount::text,
        'reason', NEW.reason), NEW.amount, NULL, NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_closing() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'approvals_of_closing guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    used := approvals_use('CLOSING', jsonb_build_object('account', NEW.account_id,
        'number', NEW.number, 'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'The closing of an account names who approved it.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_delivered_line() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_delivered_line guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    PERFORM FROM issuers_deliverystep s
    JOIN issuers_deliveryjob j ON j.id = s.job_id AND j.released_at IS NOT NULL
    JOIN issuers_ledgeraccount a ON a.id = NEW.target_id
    CROSS JOIN LATERAL (
        SELECT array_position(s.shareholder_ids, NEW.legacy_shareholder_id) AS place) l
    WHERE s.id = nullif(current_setting('partnerapi.delivery_step', TRUE), '')::bigint
        AND s.units[l.place] = NEW.amount AND s.token_ids[l.place] = NEW.token_id
        AND s.user_ids[l.place] = a.user_id
        AND (j.source = 'MINT') = (NEW.source_id IS NULL);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Legacy shares are delivered as a released delivery has frozen '
            'them: line %.', NEW.legacy_shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_delivery() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    lines bigint;
    shares numeric;
BEGIN
    IF TG_RELID <> 'issuers_deliveryjob'::regclass THEN
        RAISE EXCEPTION 'approvals_of_delivery guards issuers_deliveryjob, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW.released_at IS NULL OR OLD.released_at IS NOT NULL
        OR ROW (NEW.source, NEW.created_by) IS DISTINCT FROM
            ROW (OLD.source, OLD.created_by) THEN
        RAISE EXCEPTION 'A delivery is released once, and its source stays.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(cardinality(s.shareholder_ids)), 0), coalesce(sum(l.units), 0)
        INTO lines, shares
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l
    WHERE s.job_id = NEW.id;
    PERFORM approvals_use('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        shares, NULL, NULL);
    NEW.released_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.approvals_of_entry() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_entry guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    IF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use(NEW.kind, jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', CASE WHEN NEW.source_id IS NULL OR NEW.target_id IS NULL
            THEN NEW.supply_after::text END),
        NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_key() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'approvals_of_key guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_use('KEY', jsonb_build_object('partner', NEW.partner_id,
        'scopes', ARRAY(SELECT s FROM unnest(NEW.scopes) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM NEW.expires_at))), NULL, NULL, NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_lifting() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_restriction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_lifting guards issuers_restriction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_use('LIFTING', jsonb_build_object('restriction', NEW.id), NULL,
        NULL, NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_price() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    before bigint;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'approvals_of_price guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    IF EXISTS (
        SELECT FROM trading_bust b
        JOIN trading_execution x ON x.token_id = b.token_id AND x.sequence = b.sequence
        JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
            AND l.seq = x.ledger_seq
        JOIN issuers_ledgertransaction r ON r.token_id = b.token_id
            AND r.seq = b.ledger_seq AND r.effective_at = NEW.effective_at
        JOIN issuers_tokenprice p ON p.token_id = x.token_id
            AND p.number = NEW.number - 1 AND p.source = 'TRADE'
            AND p.effective_at = l.effective_at AND p.price_cents = x.price
        JOIN issuers_tokenprice o ON o.token_id = x.token_id
            AND o.number = NEW.number - 2 AND o.price_cents = NEW.price_cents
        WHERE b.token_id = NEW.token_id AND NEW.source = 'MANUAL') THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(max(p.number), 0) INTO before FROM issuers_tokenprice p
        WHERE p.token_id = NEW.token_id AND p.number < NEW.number AND p.source <> 'TRADE';
    PERFORM approvals_use('PRICE', jsonb_build_object('token', NEW.token_id,
        'cents', NEW.price_cents::text, 'source', NEW.source, 'after', before),
        NEW.price_cents, NEW.token_id, NEW.number);
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_rule() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'approvals_of_rule guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.replaces_id = NEW.id) THEN
            PERFORM approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
                'kind', NEW.kind, 'parameters', NULL, 'replaces', NEW.id), NULL, NULL,
                NULL);
        END IF;
        RETURN NULL;
    END IF;
    used := approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
        'kind', NEW.kind, 'parameters', NEW.parameters, 'replaces', NEW.replaces_id,
        'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'A rule names who approved it.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_of_trade_price() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    price bigint;
    traded_at timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'approvals_of_trade_price guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;
    SELECT t.price_cents, t.at INTO price, traded_at FROM marketdata_trade t
        WHERE t.token_id = NEW.token_id ORDER BY t.sequence DESC LIMIT 1;
    IF price IS DISTINCT FROM NEW.price_cents
        OR traded_at < transaction_timestamp() THEN
        RAISE EXCEPTION 'A price of % cents of token % is of no trade of this '
            'transaction; one that staff record has another source, and needs an '
            'approval.', NEW.price_cents, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.approvals_overtake(request uuid, why text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_approvalrequest r WHERE r.id = request FOR UPDATE;
    INSERT INTO accounts_approvaloutcome (request_id, is_executed, detail)
    SELECT request, FALSE, left(why, 500) WHERE NOT EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = request);
END $$;

CREATE FUNCTION public.approvals_use(wanted text, said jsonb, amount numeric, entry_token uuid, entry_number bigint) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    PERFORM FROM accounts_approvalpolicy p WHERE p.kind = wanted
        AND (NOT p.is_required OR amount < p.from_amount);
    IF FOUND THEN
        RETURN NULL;
    END IF;
    SELECT r.id INTO used
    FROM accounts_approvalrequest r
    JOIN accounts_approvaldecision d ON d.request_id = r.id AND d.is_approved
    WHERE r.id = ANY (string_to_array(
            nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[])
        AND r.kind = wanted AND r.content - 'with' = said
        AND r.expires_at > clock_timestamp()
        AND NOT EXISTS (
            SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id)
        AND d.decided_by_id <> r.filed_by_id
        AND approvals_may(d.decided_by_id, 'decide_' || r.kind)
    ORDER BY r.id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted, said USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    RETURN used;
END $$;

CREATE FUNCTION public.cash_book_line() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_bankline'::regclass THEN
        RAISE EXCEPTION 'cash_book_line guards accounts_bankline, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE reference = NEW.reference) THEN
        RAISE EXCEPTION 'A bank line is booked as it is recorded: %.', NEW.reference
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.cash_digest(cash_account bigint, number bigint, transaction bigint, kind text, delta bigint, balance_after bigint, at timestamp with time zone, reference text, reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text) RETURNS numeric
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    SELECT ('x' || left(encode(sha256(convert_to(concat_ws('|', cash_account, number,
        transaction, kind, delta, balance_after, extract(epoch FROM at),
        coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
        coalesce(withdrawal::text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;

CREATE FUNCTION public.cash_follow_transactions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
    paid bigint;
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'cash_follow_transactions guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead WHERE cash_account_id IN (
            SELECT source_id FROM entered UNION SELECT target_id FROM entered)
        ORDER BY cash_account_id FOR NO KEY UPDATE;
    -- Paid withdrawals free what they have reserved, before it leaves.
    IF EXISTS (SELECT FROM entered WHERE withdrawal_id IS NOT NULL) THEN
        UPDATE accounts_withdrawal w SET status = 'PAID'
            FROM entered e
            WHERE w.id = e.withdrawal_id AND w.status = 'APPROVED'
                AND w.cash_account_id = e.source_id AND w.amount = e.amount;
        GET DIAGNOSTICS paid = ROW_COUNT;
        IF paid <> (SELECT count(withdrawal_id) FROM entered) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH judged AS (
        SELECT e.*, e.at BETWEEN
                greatest(transaction_timestamp(), source.last_at, target.last_at)
                AND greatest(clock_timestamp(), source.last_at, target.last_at)
            AND CASE e.kind
                WHEN 'DEPOSIT' THEN CASE
                    WHEN e.assigns_id IS NULL THEN source.kind = 'BANK'
                        AND line.amount = e.amount AND (target.kind = 'SUSPENSE'
                            OR target.kind = 'CLIENT'
                            AND cash_names(line.text, owned.deposit_reference))
                    ELSE source.kind = 'SUSPENSE' AND target.kind = 'CLIENT'
                        AND assigned.kind = 'DEPOSIT' AND assigned.assigns_id IS NULL
                        AND assigned.target_id = e.source_id
                        AND assigned.amount = e.amount
                        AND 1 = (
                            SELECT count(*) FROM accounts_cashtransaction o
                            WHERE o.assigns_id = e.assigns_id AND NOT EXISTS (
                                SELECT FROM accounts_cashtransaction r
                                WHERE r.reverses_id = o.id))
                    END
                WHEN 'WITHDRAWAL' THEN target.kind = 'BANK' AND line.amount = -e.amount
                    AND CASE WHEN e.withdrawal_id IS NULL THEN source.kind = 'SUSPENSE'
                        ELSE cash_names(line.text, paid_out.payment_reference) END
                WHEN 'TRADE' THEN source.kind = 'CLIENT' AND target.kind = 'CLIENT'
                WHEN 'REVERSAL' THEN (undone.kind = 'TRADE'
                        OR undone.assigns_id IS NOT NULL)
                    AND undone.id < e.id AND undone.amount = e.amount
                    AND undone.source_id = e.target_id
                    AND undone.target_id = e.source_id
                -- There is no tariff.
                ELSE FALSE END
            AND (target.kind <> 'CLIENT' OR client.status IN ('ACTIVE', 'SUSPENDED'))
            AS follows
        FROM entered e
        LEFT JOIN accounts_cashhead source ON source.cash_account_id = e.source_id
        LEFT JOIN accounts_cashhead target ON target.cash_account_id = e.target_id
        LEFT JOIN accounts_bankline line ON line.reference = e.reference
        LEFT JOIN accounts_cashtransaction assigned ON assigned.id = e.assigns_id
        LEFT JOIN accounts_cashtransaction undone ON undone.id = e.reverses_id
        LEFT JOIN accounts_withdrawal paid_out ON paid_out.id = e.withdrawal_id
        LEFT JOIN accounts_cashaccount owned ON owned.id = e.target_id
        LEFT JOIN accounts_account client ON client.id = owned.account_id
    ), legs AS MATERIALIZED (
        SELECT j.*, l.cash_account_id, l.delta,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after,
            j.follows AND CASE h.kind
                WHEN 'CLIENT' THEN h.balance + sum(l.delta) OVER by_account >= 0
                WHEN 'BANK' THEN h.balance + sum(l.delta) OVER by_account <= 0
                ELSE TRUE END AS allowed
        FROM judged j
        CROSS JOIN LATERAL (VALUES (j.source_id, -j.amount), (j.target_id, j.amount))
            AS l (cash_account_id, delta)
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account_id
        WINDOW by_account AS (PARTITION BY l.cash_account_id ORDER BY j.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account_id, number, id, delta, balance_after FROM legs
    ), moved AS (
        UPDATE accounts_cashhead h
            SET balance = l.balance, last_number = l.last_number, last_at = l.last_at,
                fingerprint = h.fingerprint + l.digests
        FROM (
            SELECT cash_account_id, max(number) AS last_number, max(at) AS last_at,
                (array_agg(balance_after ORDER BY number DESC))[1] AS balance,
                sum(cash_digest(cash_account_id, number, id, kind, delta, balance_after,
                    at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                    reason)) AS digests
            FROM legs WHERE allowed GROUP BY cash_account_id
        ) l
        WHERE h.cash_account_id = l.cash_account_id
    )
    SELECT format('%s of %s cents from cash account %s to %s', kind, amount, source_id,
        target_id) INTO wrong
    FROM legs WHERE allowed IS NOT TRUE ORDER BY id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind, with the bank line, '
            'the withdrawal or the transaction that it names and their amount, to whom '
            'the bank line''s text names, at a time that its writer took under the '
            'lock, to an account that is ACTIVE or SUSPENDED, and none has less than '
            'nothing: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.cash_move_withdrawal() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_move_withdrawal guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.cash_account_id, NEW.amount, NEW.reference, NEW.payment_reference,
            NEW.requested_by, NEW.created_at)
        <> (OLD.id, OLD.cash_account_id, OLD.amount, OLD.reference,
            OLD.payment_reference, OLD.requested_by, OLD.created_at)
        OR NOT coalesce(CASE OLD.status
            WHEN 'REQUESTED' THEN NEW.status IN ('APPROVED', 'REFUSED')
            WHEN 'APPROVED' THEN NEW.status IN ('PAID', 'CANCELLED') END, FALSE) THEN
        RAISE EXCEPTION 'Of a withdrawal only the status changes: REQUESTED becomes '
            'APPROVED or REFUSED, APPROVED becomes PAID or CANCELLED; not % %.',
            OLD.status, NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status IN ('REFUSED', 'CANCELLED') AND NEW.status_reason = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status = 'PAID' AND NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE withdrawal_id = NEW.id) THEN
        RAISE EXCEPTION 'A withdrawal is paid by the bank line that names it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status = 'APPROVED' THEN
        PERFORM FROM accounts_cashaccount c JOIN accounts_account a
            ON a.id = c.account_id AND a.status = 'ACTIVE'
            WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF NEW.status IN ('APPROVED', 'CANCELLED') THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', NEW.id,
            'status', NEW.status, 'cents', NEW.amount::text,
            'reason', NEW.status_reason), NEW.amount, NULL, NULL);
        NEW.request_id := used;
    ELSIF NEW.request_id IS DISTINCT FROM OLD.request_id THEN
        RAISE EXCEPTION 'A withdrawal names the request that was used.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.updated_at := greatest(OLD.updated_at, clock_timestamp());
    RETURN NEW;
END $$;

CREATE FUNCTION public.cash_name_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashaccount'::regclass THEN
        RAISE EXCEPTION 'cash_name_account guards accounts_cashaccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.deposit_reference := CASE NEW.kind WHEN 'CLIENT'
        THEN cash_reference('1', NEW.id) END;
    RETURN NEW;
END $$;

CREATE FUNCTION public.cash_names(said text, reference text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT position(reference IN regexp_replace(upper(said), '[^A-Z0-9]', '', 'g')) > 0
$$;

CREATE FUNCTION public.cash_of_closed_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    left_over bigint;
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'cash_of_closed_account guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT h.balance INTO left_over
    FROM accounts_cashaccount c JOIN accounts_cashhead h ON h.cash_account_id = c.id
    WHERE c.account_id = NEW.account_id FOR NO KEY UPDATE OF h;
    IF left_over <> 0 THEN
        RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
            left_over USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.cash_open_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'cash_open_account guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO accounts_cashaccount (kind, account_id)
    SELECT 'CLIENT', id FROM opened ORDER BY id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.cash_open_head() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashaccount'::regclass THEN
        RAISE EXCEPTION 'cash_open_head guards accounts_cashaccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, fingerprint)
    SELECT id, kind, 0, 0, 0, 0 FROM opened ORDER BY id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.cash_reference(sort text, number numeric) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    digits text := sort || lpad((number * 618033988749 % 1000000000000)::text, 12, '0');
BEGIN
    RETURN 'RF' || lpad((98 - (digits || '271500')::numeric % 97)::text, 2, '0')
        || digits;
END $$;

CREATE FUNCTION public.cash_request_withdrawal() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    standing text;
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_request_withdrawal guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT a.status INTO standing
    FROM accounts_cashaccount c JOIN accounts_account a ON a.id = c.account_id
    WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
    IF standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status <> 'REQUESTED' OR NEW.request_id IS NOT NULL
        OR NEW.status_reason <> '' THEN
        RAISE EXCEPTION 'A withdrawal begins as REQUESTED.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.payment_reference := cash_reference('2',
        ('x' || right(NEW.id::text, 12))::bit(48)::bigint);
    NEW.created_at := clock_timestamp();
    NEW.updated_at := NEW.created_at;
    RETURN NEW;
END $$;

CREATE FUNCTION public.cash_reserve_withdrawals() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_reserve_withdrawals guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_reserve_cash(array_agg(cash_account_id), array_agg(amount))
            FROM became HAVING count(*) > 0;
        RETURN NULL;
    END IF;
    PERFORM accounts_reserve_cash(array_agg(w.cash_account_id), array_agg(w.delta))
    FROM (
        SELECT cash_account_id, amount AS delta FROM became WHERE status IN ('REQUESTED', 'APPROVED')
        UNION ALL
        SELECT cash_account_id, -amount FROM was WHERE status IN ('REQUESTED', 'APPROVED')
    ) w HAVING count(*) > 0;
    RETURN NULL;
END $$;

CREATE FUNCTION public.delivery_stays() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_deliverystep'::regclass THEN
        RAISE EXCEPTION 'delivery_stays guards issuers_deliverystep, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM issuers_deliveryjob WHERE id = NEW.job_id FOR UPDATE;
        IF NOT EXISTS (SELECT FROM issuers_deliveryjob
            WHERE id = NEW.job_id AND released_at IS NULL) THEN
            RAISE EXCEPTION 'Delivery % was released; it gets no further lines.',
                NEW.job_id USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The lines of a delivery stay as they were frozen.' USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.events_account_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'events_account_changed guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'ACCOUNT_STATUS_CHANGED', a.id,
        NULL::uuid, NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_announce() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_announce guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_unnumberedevent SET leads = TRUE WHERE id = NEW.id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_announce_articles() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    announced bigint;
BEGIN
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', 'ARTICLE_PUBLISHED', a.id,
        a.issuer_id
    FROM come JOIN issuers_article a ON a.id = come.article_id ORDER BY a.published_at;
    GET DIAGNOSTICS announced = ROW_COUNT;
    RETURN announced;
END $$;

CREATE FUNCTION public.events_article_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_article'::regclass THEN
        RAISE EXCEPTION 'events_article_changed guards issuers_article, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'ARTICLE_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_cash_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'CASH_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_figures_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuerfinancialdata'::regclass THEN
        RAISE EXCEPTION 'events_figures_changed guards issuers_issuerfinancialdata, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'FINANCIAL_DATA_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_grant_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', g.partner_id, 'GRANT_CHANGED', g.issuer_id, g.issuer_id,
        NULL::uuid, NULL::uuid, NULL::bigint
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_investor_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'INVESTOR_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_key_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'events_key_changed guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', coalesce(NEW.partner_id, OLD.partner_id), 'KEY_CHANGED',
        NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_legacy_delivered() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'LEGACY_SHARES_DELIVERED', e.id, e.issuer_id,
        e.token_id, NULL::uuid, e.ledger_seq
    FROM entered e WHERE e.status = 'DELIVERED' ORDER BY e.ledger_seq 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_number() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    gives boolean;
    asks boolean;
    taken timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_number guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT bool_or(type = 'GRANT_CHANGED'), bool_or(audience = 'GRANTED')
    INTO gives, asks FROM issuers_unnumberedevent
    WHERE transaction = pg_current_xact_id()::text::bigint
        AND EXISTS (SELECT FROM issuers_unnumberedevent WHERE id = NEW.id);
    IF gives IS NULL THEN
        RETURN NULL;
    ELSIF gives THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF asks THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    PERFORM FROM issuers_eventhead WHERE partner_id IN (
            SELECT p.id FROM issuers_unnumberedevent u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
            WHERE u.transaction = pg_current_xact_id()::text::bigint)
        ORDER BY partner_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint;
        RETURN NULL;
    END IF;
    taken := clock_timestamp();
    WITH happened AS (
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price, quantity, remaining, trade, reason)
        SELECT gen_random_uuid(), h.partner_id, h.last_sequence + row_number() OVER (
                PARTITION BY h.partner_id ORDER BY u.id),
            u.type, greatest(h.last_at, taken), coalesce(u.order_id, u.subject_id), u.issuer_id, u.token_id,
            u.account_id, u.ledger_sequence, u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM happened u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
        JOIN issuers_eventhead h ON h.partner_id = p.id
        RETURNING partner_id, sequence, at
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_open_head() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_partner'::regclass THEN
        RAISE EXCEPTION 'events_open_head guards accounts_partner, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_eventhead (partner_id, last_sequence, pruned_sequence)
        VALUES (NEW.id, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_price_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, CASE t.visibility WHEN 'PUBLIC' THEN 'ALL' ELSE 'GRANTED' END,
        NULL::uuid, 'TOKEN_PRICE_CHANGED', e.token_id, t.issuer_id, e.token_id,
        NULL::uuid, NULL::bigint
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_prune(days integer, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    DELETE FROM issuers_event WHERE partner_id = head.partner_id
        AND sequence > head.pruned_sequence AND sequence <= until;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;

CREATE FUNCTION public.events_register_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'REGISTER_CHANGED', e.token_id,
        t.issuer_id, e.token_id, NULL::uuid, e.seq
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE' GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.events_withdrawal_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'CASH_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT c.account_id FROM entered w JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;

CREATE FUNCTION public.history_record() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    became jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    row_key text := coalesce(became, was) ->> 'id';
    left_out text[] := string_to_array(TG_ARGV[0], ' ');
    secret text[] := string_to_array(TG_ARGV[1], ' ');
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    IF TG_TABLE_SCHEMA <> 'public' THEN
        RAISE EXCEPTION 'history_record keeps tables of the schema public.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    was := was - left_out;
    became := became - left_out;
    IF TG_OP = 'UPDATE' THEN
        SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value)
            INTO was, became
        FROM jsonb_each(was) o JOIN jsonb_each(became) n USING (key)
        WHERE o.value <> n.value;
        IF was IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    SELECT jsonb_object_agg(e.key, CASE WHEN e.key = ANY (secret) THEN '"…"' ELSE e.value
        END) INTO was FROM jsonb_each(was) e;
    SELECT jsonb_object_agg(e.key, CASE WHEN e.key = ANY (secret) THEN '"…"' ELSE e.value
        END) INTO became FROM jsonb_each(became) e;
    INSERT INTO accounts_rowchange
        (at, table_name, row_id, operation, before, after, who, source, request_id)
    VALUES (clock_timestamp(), TG_TABLE_NAME, row_key, TG_OP, was, became,
        left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200),
        left(coalesce(author ->> 'request', ''), 100));
    RETURN NULL;
END $$;

CREATE FUNCTION public.isin_is_valid(isin text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
                SELECT isin ~ '^[A-Z]{2}[A-Z0-9]{9}[0-9]$'
                   AND (WITH expanded AS (
                            SELECT string_agg(
                                CASE WHEN c ~ '[0-9]' THEN c ELSE (ascii(c) - 55)::text END,
                                '' ORDER BY n) AS digits
                            FROM unnest(string_to_array(isin, NULL)) WITH ORDINALITY AS t(c, n))
                        SELECT sum(CASE WHEN n % 2 = 1 THEN d::int
                                        ELSE d::int * 2 / 10 + d::int * 2 % 10 END) % 10 = 0
                        FROM expanded,
                             unnest(string_to_array(reverse(digits), NULL)) WITH ORDINALITY AS t(d, n))
            $_$;

CREATE FUNCTION public.issuers_reserve_units(of_token uuid, accounts bigint[], deltas bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    changed bigint;
BEGIN
    UPDATE issuers_holderbalance b SET reserved = b.reserved + d.delta
        FROM (SELECT w.account, sum(w.delta) AS delta
              FROM unnest(accounts, deltas) AS w (account, delta)
              GROUP BY w.account) d
        WHERE b.token_id = of_token AND b.account_id = d.account;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> (SELECT count(DISTINCT w.account) FROM unnest(accounts) AS w (account))
    THEN
        RAISE EXCEPTION 'Units are reserved of a holder who has some: token %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;

CREATE FUNCTION public.keep_issuer_industry() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'keep_issuer_industry guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- Who changes the code meanwhile is waited for, or waits.
    SELECT subsector_code INTO NEW.industry_code
    FROM issuers_industryclassificationbenchmark
    WHERE id = NEW.industry_classification_benchmark_id FOR KEY SHARE;
    RETURN NEW;
END $$;

CREATE FUNCTION public.lei_is_valid(lei text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
                SELECT lei ~ '^[A-Z0-9]{18}[0-9]{2}$'
                   AND right(lei, 2) BETWEEN '02' AND '98'
                   AND (SELECT string_agg(
                            CASE WHEN c ~ '[0-9]' THEN c ELSE (ascii(c) - 55)::text END,
                            '' ORDER BY n)::numeric % 97 = 1
                        FROM unnest(string_to_array(lei, NULL)) WITH ORDINALITY AS t(c, n))
            $_$;

CREATE FUNCTION public.market_time_zone() RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT 'MARKET_TIME_ZONE' $$;

CREATE FUNCTION public.marketdata_bookchange_keep() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, number %s', r.token_id, r.last) INTO wrong
    FROM (
        SELECT token_id, max(sequence) AS last FROM removed GROUP BY token_id
    ) r
    WHERE (r.last <= (
        SELECT min(sequence) FROM marketdata_booksnapshot s
        WHERE s.token_id = r.token_id
    )) IS NOT TRUE OR EXISTS (
        SELECT FROM marketdata_bookchange b WHERE b.token_id = r.token_id AND b.sequence < r.last
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Of a log only the beginning goes, as far as every snapshot '
            'covers it (prune_book_log); DELETE on % is refused: %.', TG_TABLE_NAME,
            wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.marketdata_digest_change(sequence bigint, side smallint, price bigint, quantity bigint, ends boolean, at timestamp with time zone) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT register_digest(concat_ws(' ', 'change', sequence, side, price, quantity,
        ends, extract(epoch FROM at)))
$$;

CREATE FUNCTION public.marketdata_digest_trade(sequence bigint, price bigint, quantity bigint, at timestamp with time zone) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT register_digest(concat_ws(' ', 'trade', sequence, price, quantity,
        extract(epoch FROM at)))
$$;

CREATE FUNCTION public.marketdata_follow_changes() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, change %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            max(sequence) FILTER (WHERE ends_message) AS last_end,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_sequence = e.last AND e.many = 1 + e.last - e.first
        AND e.last_end = e.last AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_bookchange b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next change must have the next number, as its head '
            'says, a time not before the last one''s, and a message must end: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.marketdata_follow_days() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'marketdata_trade'::regclass THEN
        RAISE EXCEPTION 'marketdata_follow_days guards marketdata_trade, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO marketdata_tradingday AS kept
        (token_id, day, open_cents, high_cents, low_cents, close_cents,
         volume, value_cents, trades, first_trade, last_trade)
    SELECT token_id, day, (array_agg(price_cents ORDER BY sequence))[1],
        max(price_cents), min(price_cents),
        (array_agg(price_cents ORDER BY sequence DESC))[1],
        sum(quantity), sum(price_cents::numeric * quantity), count(*),
        min(sequence), max(sequence)
    FROM (
        SELECT t.*, (t.at AT TIME ZONE market_time_zone())::date AS day
        FROM entered t
    ) t
    GROUP BY token_id, day
    ORDER BY token_id, day

    ON CONFLICT (token_id, day) DO UPDATE SET
        open_cents = CASE kept.trades WHEN 0 THEN excluded.open_cents
            ELSE kept.open_cents END,
        high_cents = CASE kept.trades WHEN 0 THEN excluded.high_cents
            ELSE greatest(kept.high_cents, excluded.high_cents) END,
        low_cents = CASE kept.trades WHEN 0 THEN excluded.low_cents
            ELSE least(kept.low_cents, excluded.low_cents) END,
        close_cents = excluded.close_cents,
        volume = kept.volume + excluded.volume,
        value_cents = kept.value_cents + excluded.value_cents,
        trades = kept.trades + excluded.trades,
        last_trade = excluded.last_trade;
    RETURN NULL;
END $$;

CREATE FUNCTION public.marketdata_follow_trades() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, trade %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_trade = e.last AND e.many = 1 + e.last - e.first
        AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_trade b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ) OR EXISTS (
            SELECT FROM marketdata_booksnapshot b
            WHERE b.token_id = e.token_id AND b.trade_sequence = e.first - 1
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next trade must have the next number, as its head '
            'says, and a time not before the last one''s: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.marketdata_keep_head() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'The log of token % stands at change % and trade %, and never goes '
        'back.', OLD.token_id, OLD.last_sequence, OLD.last_trade
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.marketdata_lock_book(token uuid) RETURNS TABLE(sequence bigint, snapshot bigint, sides smallint[], prices bigint[], quantities bigint[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '10s'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    head marketdata_orderbookhead;
BEGIN
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF FOUND THEN
        RETURN QUERY
            SELECT head.last_sequence, head.last_snapshot, array_agg(l.side),
                array_agg(l.price_cents), array_agg(l.quantity)
            FROM marketdata_booklevel l WHERE l.token_id = token;
    END IF;
END $$;

CREATE FUNCTION public.marketdata_open_book() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'marketdata_open_book guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO marketdata_orderbookhead
        (token_id, last_sequence, last_trade, last_snapshot)
    VALUES (NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.marketdata_prune(token uuid, snapshots_before bigint, first_change bigint, last_change bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    covers bigint;
    deleted bigint;
    gone bigint;
BEGIN
    SELECT max(o.sequence) INTO covers FROM marketdata_booksnapshot o
    WHERE o.token_id = token AND o.at < clock_timestamp() - interval '24 hours'
        AND o.sequence <= (
            SELECT n.sequence FROM marketdata_booksnapshot n
            WHERE n.token_id = token ORDER BY n.sequence DESC OFFSET 1 LIMIT 1);
    IF (greatest(snapshots_before, last_change) <= covers) IS NOT TRUE THEN
        RAISE EXCEPTION 'Of the log of token % goes what is older than 24 hours and '
            'stands in a snapshot: up to change %.', token, coalesce(covers, 0)
            USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM marketdata_booksnapshot
        WHERE token_id = token AND sequence < snapshots_before;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    -- Without the lower bound each step would pass again over all dead entries of the
    -- index that the steps before it have left.
    DELETE FROM marketdata_bookchange WHERE token_id = token
        AND sequence >= first_change AND sequence <= last_change;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN deleted + gone;
END $$;

CREATE FUNCTION public.marketdata_record(token uuid, known bigint, sides smallint[], prices bigint[], quantities bigint[], ends boolean[], deal_prices bigint[], deal_quantities bigint[], with_snapshot boolean) RETURNS TABLE(sequence bigint, trade bigint, at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '10s'
    AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    digests numeric := 0;
    highest_bid bigint;
    lowest_ask bigint;
BEGIN
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token AND last_sequence = known FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    head.last_at := greatest(head.last_at, clock_timestamp());
    IF cardinality(prices) > 0 THEN
        SELECT sum(marketdata_digest_change(
            known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at))
        INTO digests FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        SELECT digests + sum(marketdata_digest_trade(
            head.last_trade + d.place, d.price, d.quantity, head.last_at))
        INTO digests FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    UPDATE marketdata_orderbookhead SET
        last_sequence = known + cardinality(prices),
        last_trade = last_trade + cardinality(deal_prices),
        last_snapshot = CASE WHEN with_snapshot THEN known + cardinality(prices)
            ELSE last_snapshot END,
        last_at = head.last_at, fingerprint = fingerprint + digests
    WHERE token_id = token RETURNING * INTO head;
    IF cardinality(prices) > 0 THEN
        INSERT INTO marketdata_bookchange
            (token_id, sequence, side, price_cents, quantity, ends_message, at)
        SELECT token, known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at
        FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
        IF 0 = ANY (quantities) AND EXISTS (
            SELECT FROM (
                SELECT c.side, c.price, c.quantity, lag(c.quantity) OVER (
                    PARTITION BY c.side, c.price ORDER BY c.place) AS before
                FROM unnest(sides, prices, quantities)
                    WITH ORDINALITY AS c (side, price, quantity, place)
            ) c
            WHERE c.quantity = 0 AND coalesce(c.before, (
                SELECT l.quantity FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = c.side
                    AND l.price_cents = c.price
            ), 0) = 0
        ) THEN
            RAISE EXCEPTION 'A change takes away a level that is not in the book.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        -- The end of the last message is looked at below.
        IF cardinality(array_positions(ends, TRUE)) > 1 THEN
            SELECT max(p.price) FILTER (WHERE p.side = 0),
                min(p.price) FILTER (WHERE p.side = 1)
            INTO highest_bid, lowest_ask
            FROM (
                SELECT c.side, c.price FROM unnest(sides, prices, quantities)
                    AS c (side, price, quantity) WHERE c.quantity > 0
                UNION ALL (
                    SELECT l.side, l.price_cents FROM marketdata_booklevel l
                    WHERE l.token_id = token AND l.side = 0
                    ORDER BY l.side DESC, l.price_cents DESC LIMIT 1)
                UNION ALL (
                    SELECT l.side, l.price_cents FROM marketdata_booklevel l
                    WHERE l.token_id = token AND l.side = 1
                    ORDER BY l.side, l.price_cents LIMIT 1)
            ) p;
            IF highest_bid >= lowest_ask AND EXISTS (
                WITH spans AS (
                    SELECT s.side, s.price, s.quantity, s.place AS begins,
                        lead(s.place, 1, cardinality(prices) + 1) OVER (
                            PARTITION BY s.side, s.price ORDER BY s.place) AS until
                    FROM (
                        SELECT c.side, c.price, c.quantity, c.place
                        FROM unnest(sides, prices, quantities)
                            WITH ORDINALITY AS c (side, price, quantity, place)
                        UNION ALL
                        SELECT l.side, l.price_cents, l.quantity, 0
                        FROM marketdata_booklevel l WHERE l.token_id = token
                    ) s
                    WHERE CASE s.side WHEN 0 THEN s.price >= lowest_ask
                        ELSE s.price <= highest_bid END
                )
                SELECT FROM spans b JOIN spans a
                    ON b.side = 0 AND a.side = 1 AND b.quantity > 0 AND a.quantity > 0
                    AND b.price >= a.price AND b.begins < a.until AND a.begins < b.until
                JOIN unnest(array_positions(ends, TRUE)) AS e (place)
                    ON e.place >= greatest(b.begins, a.begins)
                    AND e.place < least(b.until, a.until)
            ) THEN
                RAISE EXCEPTION 'The best bid would not be below the best ask.'
                    USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
        DELETE FROM marketdata_booklevel l
        USING unnest(sides, prices, quantities) AS c (side, price, quantity)
        WHERE c.quantity = 0 AND l.token_id = token
            AND l.side = c.side AND l.price_cents = c.price;
        INSERT INTO marketdata_booklevel (token_id, side, price_cents, quantity)
        SELECT token, l.side, l.price, l.quantity
        FROM (
            SELECT DISTINCT ON (c.side, c.price) c.side, c.price, c.quantity
            FROM unnest(sides, prices, quantities)
                WITH ORDINALITY AS c (side, price, quantity, place)
            ORDER BY c.side, c.price, c.place DESC
        ) l WHERE l.quantity > 0
        ON CONFLICT (token_id, side, price_cents)
        DO UPDATE SET quantity = excluded.quantity;
        IF (SELECT l.price_cents FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = 0
                ORDER BY l.side DESC, l.price_cents DESC LIMIT 1)
            >= (SELECT l.price_cents FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = 1
                ORDER BY l.side, l.price_cents LIMIT 1) THEN
            RAISE EXCEPTION 'The best bid would not be below the best ask.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
        SELECT token, head.last_trade - cardinality(deal_prices) + d.place,
            d.price, d.quantity, head.last_at
        FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    IF with_snapshot THEN
        INSERT INTO marketdata_booksnapshot
            (token_id, sequence, trade_sequence, at, fingerprint,
             bid_prices, bid_quantities, ask_prices, ask_quantities)
        SELECT token, head.last_sequence, head.last_trade, head.last_at,
            head.fingerprint, coalesce(b.prices, '{}'), coalesce(b.quantities, '{}'),
            coalesce(a.prices, '{}'), coalesce(a.quantities, '{}')
        FROM (
            SELECT array_agg(l.price_cents ORDER BY l.price_cents DESC) AS prices,
                array_agg(l.quantity ORDER BY l.price_cents DESC) AS quantities
            FROM marketdata_booklevel l WHERE l.token_id = token AND l.side = 0
        ) b, (
            SELECT array_agg(l.price_cents ORDER BY l.price_cents) AS prices,
                array_agg(l.quantity ORDER BY l.price_cents) AS quantities
            FROM marketdata_booklevel l WHERE l.token_id = token AND l.side = 1
        ) a;
    END IF;
    RETURN QUERY SELECT head.last_sequence, head.last_trade, head.last_at;
END $$;

CREATE FUNCTION public.marketdata_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'A log is only appended to: % on % is refused. A change that was '
        'wrong is followed by another one.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.partnerapi_analyze(tables text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY tables LOOP
        EXECUTE format('ANALYZE public.%I', name);
    END LOOP;
END $$;

CREATE FUNCTION public.partnerapi_follow_members() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'partnerapi_exportmember'::regclass THEN
        RAISE EXCEPTION 'partnerapi_follow_members guards partnerapi_exportmember, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE partnerapi_export e SET members = NEW.number, rows = e.rows + NEW.rows,
        size_bytes = NEW.position + octet_length(NEW.data)
    WHERE e.id = NEW.export_id AND e.status = 'RUNNING' AND NOT e.is_written
        AND e.members = NEW.number - 1 AND e.size_bytes = NEW.position;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Member % at byte % is not the next of export %.',
            NEW.number, NEW.position, NEW.export_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.partnerapi_keep_answers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'partnerapi_idempotencyrecord'::regclass THEN
        RAISE EXCEPTION 'partnerapi_keep_answers guards partnerapi_idempotencyrecord, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF OLD.expires_at > clock_timestamp() THEN
        RAISE EXCEPTION 'The answer to key % is kept as it was given until %.',
            OLD.key, OLD.expires_at USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.partnerapi_keep_exports() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'partnerapi_export'::regclass THEN
        RAISE EXCEPTION 'partnerapi_keep_exports guards partnerapi_export, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.partner_id, NEW.connection, NEW.issuer_id, NEW.token_id,
            NEW.last_sequence, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.partner_id, OLD.connection, OLD.issuer_id,
            OLD.token_id, OLD.last_sequence, OLD.created_at)
    THEN
        RAISE EXCEPTION 'What export % was asked for stays as it is.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.status, NEW.status) NOT IN (
        ('WAITING', 'WAITING'), ('WAITING', 'RUNNING'), ('WAITING', 'FAILED'),
        ('RUNNING', 'RUNNING'), ('RUNNING', 'READY'), ('RUNNING', 'FAILED'),
        ('READY', 'EXPIRED'))
    THEN
        RAISE EXCEPTION 'Export % is % and can not become %.', OLD.id, OLD.status,
            NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.partnerapi_prune_exports(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    UPDATE partnerapi_export SET status = 'EXPIRED'
    WHERE status = 'READY' AND expires_at <= clock_timestamp();
    DELETE FROM partnerapi_exportmember WHERE id IN (
        SELECT m.id FROM partnerapi_export e
        JOIN partnerapi_exportmember m ON m.export_id = e.id
        WHERE e.status IN ('FAILED', 'EXPIRED')
        LIMIT most FOR UPDATE OF m SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    IF deleted = 0 THEN
        DELETE FROM partnerapi_export WHERE id IN (
            SELECT e.id FROM partnerapi_export e
            WHERE e.status IN ('FAILED', 'EXPIRED')
                AND e.ended_at <= clock_timestamp() - interval '30 days'
                AND NOT EXISTS (
                    SELECT FROM partnerapi_exportmember m WHERE m.export_id = e.id)
            LIMIT most FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS deleted = ROW_COUNT;
    END IF;
    RETURN deleted;
END $$;

CREATE FUNCTION public.partnerapi_prune_failed_sign_ins() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM partnerapi_failedsignin
        WHERE at < clock_timestamp() - interval '90 days'
            OR id <= (SELECT max(id) - 1000000 FROM partnerapi_failedsignin);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;

CREATE FUNCTION public.partnerapi_prune_idempotency_records(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    -- A key that is being claimed anew stays, and nobody waits for anybody.
    DELETE FROM partnerapi_idempotencyrecord WHERE id IN (
        SELECT id FROM partnerapi_idempotencyrecord
        WHERE expires_at <= clock_timestamp()
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;

CREATE FUNCTION public.partnerapi_prune_job_runs(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM partnerapi_jobrun WHERE id IN (
        SELECT id FROM partnerapi_jobrun
        WHERE started_at < clock_timestamp() - interval '90 days'
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;

CREATE FUNCTION public.register_chain_entries(token uuid, after bigint, digest bytea) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    said text;
BEGIN
    FOR said IN SELECT line FROM register_entry_lines
        WHERE token_id = token AND number > after ORDER BY number
    LOOP
        digest := sha256(digest || convert_to(said, 'UTF8'));
    END LOOP;
    RETURN digest;
END $$;

CREATE FUNCTION public.register_chain_prices(token uuid, after bigint, digest bytea) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    said text;
BEGIN
    FOR said IN SELECT line FROM register_price_lines
        WHERE token_id = token AND number > after ORDER BY number
    LOOP
        digest := sha256(digest || convert_to(said, 'UTF8'));
    END LOOP;
    RETURN digest;
END $$;

CREATE FUNCTION public.register_digest(said text) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT ('x' || left(md5(said), 16))::bit(64)::bigint::numeric
$$;

CREATE FUNCTION public.register_follow_holdings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgerposting'::regclass THEN
        RAISE EXCEPTION 'register_follow_holdings guards issuers_ledgerposting, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    WITH changed AS (
    SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
        lag(p.seq) OVER changes AS before, lead(p.seq) OVER changes AS next
    FROM entered p JOIN issuers_ledgeraccount a ON a.id = p.account_id
    WHERE a.user_id IS NOT NULL AND (p.balance_after > 0) <> (p.balance_after > p.delta)
    WINDOW changes AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
), ended AS (
        UPDATE issuers_holdingperiod h SET until = c.seq
        FROM (
            SELECT seq, (SELECT ctid FROM issuers_holdingperiod p
                WHERE p.token_id = changed.token_id AND p.user_id = changed.user_id
                    AND p.until IS NULL) AS place
            FROM changed WHERE NOT holds AND before IS NULL OFFSET 0
        ) c
        WHERE h.ctid = c.place RETURNING 1
    )
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
        SELECT token_id, user_id, seq, next FROM changed, (SELECT count(*) FROM ended) AS at_first WHERE holds;
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_follow_prices() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'register_follow_prices guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    SELECT format('token %s, price %s', token_id, number) INTO wrong
    FROM (
        SELECT e.token_id, e.number,
            e.number = h.last_price + row_number() OVER by_number
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_price_at, t.created_at)) OVER by_number
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number)
    ) AS checked
    WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The next price must have the next number, and the time that '
            'its writer took under the lock: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_price = l.number, last_price_at = l.effective_at,
            price_cents = l.price_cents,
            price_digest = register_chain_prices(
                h.token_id, h.last_price, h.price_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, number DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_follow_transactions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
    marked bigint;
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'register_follow_transactions guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    WITH numbered AS (
        SELECT e.*, h.supply, h.held, h.holder_count, t.authorized_units,
            t.issuer_id AS token_issuer_id,
            e.seq = h.last_seq + row_number() OVER by_seq
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_effective_at, t.created_at)) OVER by_seq
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AND CASE e.kind
                WHEN 'MINT' THEN e.source_id IS NULL
                WHEN 'BURN' THEN e.target_id IS NULL
                WHEN 'LEGACY_DELIVERY' THEN e.target_id IS NOT NULL
                WHEN 'REVERSAL' THEN EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = e.token_id AND u.seq = e.reverses
                        AND u.seq < e.seq AND u.kind <> 'REVERSAL'
                        AND u.amount = e.amount
                        AND u.source_id IS NOT DISTINCT FROM e.target_id
                        AND u.target_id IS NOT DISTINCT FROM e.source_id)
                ELSE e.source_id IS NOT NULL AND e.target_id IS NOT NULL END
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_seq AS (PARTITION BY e.token_id ORDER BY e.seq)
    ), accounts AS (
        SELECT n.*, l.leg, l.account_id, l.delta, a.user_id, a.kind = 'HOLDER' AS holds,
            coalesce(b.balance_after, 0) + sum(l.delta) OVER by_account AS after,
            n.follows AND CASE
                WHEN n.kind IN ('TRANSFER', 'FORCED_TRANSFER', 'TRADE') THEN a.kind = 'HOLDER'
                WHEN n.kind IN ('ALLOCATE', 'LEGACY_DELIVERY')
                    THEN a.kind = CASE leg WHEN 1 THEN 'TREASURY' ELSE 'HOLDER' END
                WHEN n.kind = 'RETURN'
                    THEN a.kind = CASE leg WHEN 1 THEN 'HOLDER' ELSE 'TREASURY' END
                ELSE n.kind IN ('MINT', 'BURN', 'REVERSAL') AND a.kind IS NOT NULL END
            AND (a.kind = 'HOLDER' OR a.issuer_id = n.token_issuer_id) AS allowed
        FROM numbered n
        CROSS JOIN LATERAL (
            VALUES (1, n.source_id, -n.amount), (2, n.target_id, n.amount)
        ) AS l (leg, account_id, delta)
        LEFT JOIN LATERAL (
            SELECT kind, user_id, issuer_id FROM issuers_ledgeraccount
            WHERE id = l.account_id LIMIT 1
        ) a ON TRUE
        LEFT JOIN LATERAL (
            SELECT p.balance_after FROM issuers_ledgerposting p
            WHERE p.token_id = n.token_id AND p.account_id = l.account_id
            ORDER BY p.seq DESC LIMIT 1
        ) b ON TRUE
        WHERE l.account_id IS NOT NULL
        WINDOW by_account AS (PARTITION BY n.token_id, l.account_id ORDER BY n.seq)
    ), legs AS MATERIALIZED (
        -- Both legs of an entry are peers: a sum up to one holds the other, too.
        SELECT token_id, seq, leg, account_id, user_id, delta, after,
            allowed
            AND supply_after = supply + sum(delta) OVER by_seq
            AND held_after = held + coalesce(sum(delta) FILTER (WHERE holds) OVER by_seq, 0)
            AND holders_after = holder_count + coalesce(sum(
                (after > 0)::int - (after - delta > 0)::int)
                FILTER (WHERE holds) OVER by_seq, 0)
            AND (source_id IS NOT NULL OR supply_after <= authorized_units) IS NOT FALSE
            AS follows
        FROM accounts
        WINDOW by_seq AS (PARTITION BY token_id ORDER BY seq)
    ), posted AS (
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT token_id, seq, leg, account_id, delta, after FROM legs
    ), balanced AS (
        INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (token_id, account_id)
            token_id, account_id, user_id, after, seq
        FROM legs ORDER BY token_id, account_id, seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq
    )
    SELECT format('token %s, entry %s', token_id, seq) INTO wrong
    FROM legs WHERE follows IS NOT TRUE ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The ledger''s next entry must have the next number, the time '
            'that its writer took under the lock, accounts of its kind, and the '
            'supply, held units and holders that follow: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM entered WHERE legacy_shareholder_id IS NOT NULL) THEN
        UPDATE issuers_legacyshareholder s
            SET status = 'DELIVERED', delivered_at = e.effective_at,
                delivered_by = e.actor, ledger_seq = e.seq
            FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.target_id
            WHERE s.id = e.legacy_shareholder_id AND s.status = 'PENDING'
                AND s.token_id = e.token_id AND s.user_id = a.user_id
                AND s.number_of_shares = e.amount AND s.issuer_id = (
                    SELECT issuer_id FROM issuers_token WHERE id = e.token_id);
        GET DIAGNOSTICS marked = ROW_COUNT;
        IF marked <> (SELECT count(legacy_shareholder_id) FROM entered) THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_seq = l.seq, last_effective_at = l.effective_at,
            supply = l.supply_after, held = l.held_after,
            holder_count = l.holders_after,
            entry_digest = register_chain_entries(
                h.token_id, h.last_seq, h.entry_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, seq DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_hold(tokens uuid[]) RETURNS TABLE(token_id uuid, symbol text, issuer_id uuid, created_at timestamp with time zone, authorized_units numeric, last_seq bigint, last_price bigint, supply numeric, held numeric, holder_count bigint, price_cents bigint, is_open boolean, last_at timestamp with time zone, clock timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    last timestamptz;
    taken timestamptz;
BEGIN
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (tokens);
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    taken := clock_timestamp();
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = (SELECT register_transaction(0)),
            hold_at = CASE WHEN greatest(h.last_effective_at, h.last_price_at) > taken
                THEN NULL ELSE taken END
        WHERE h.token_id = ANY (tokens);
    RETURN QUERY
        SELECT h.token_id, t.symbol::text, t.issuer_id, t.created_at,
            t.authorized_units, h.last_seq, h.last_price, h.supply, h.held,
            h.holder_count, h.price_cents, h.is_open,
            greatest(h.last_effective_at, h.last_price_at), taken
        FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;

CREATE FUNCTION public.register_hold_investor() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'register_hold_investor guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = NEW.user_id FOR NO KEY UPDATE;
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_judge(of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp with time zone, past boolean, source_balance numeric, source_reserved numeric, target_balance numeric, supply_after numeric, holders_before bigint, holders_after bigint, newcomer uuid DEFAULT NULL::uuid) RETURNS TABLE(code text, details jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    is_free boolean := kind IN ('TRADE', 'TRANSFER');
    is_taken boolean := kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN');
    is_given boolean := kind IN
        ('TRADE', 'TRANSFER', 'MINT', 'ALLOCATE', 'LEGACY_DELIVERY');
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE is_free AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE is_given OR kind = 'FORCED_TRANSFER' AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;

CREATE FUNCTION public.register_judge_postings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'issuers_ledgerposting'::regclass THEN
        RAISE EXCEPTION 'register_judge_postings guards issuers_ledgerposting, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- A writer took its time in this transaction: what has ended since then binds it.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.ended_at IS NULL AND r.token_id IN (SELECT token_id FROM entered))
        AND NOT EXISTS (
            SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.effective_at, x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                p.source_after, p.target_after
            FROM (SELECT token_id, seq,
                    max(balance_after) FILTER (WHERE leg = 1) AS source_after,
                    max(balance_after) FILTER (WHERE leg = 2) AS target_after
                  FROM entered GROUP BY token_id, seq) p
            JOIN issuers_ledgertransaction x
                ON x.token_id = p.token_id AND x.seq = p.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token_id
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id AND r.ended_at IS NULL)
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at >= x.effective_at))
        OFFSET 0
    ) x
    CROSS JOIN LATERAL (
        -- Against most entries nothing stands at all.
        SELECT x.* FROM register_standing(
            x.token_id, ARRAY[x.source_id, x.target_id], x.effective_at) s
        HAVING bool_or(s.is_paused OR s.sending <> '[]' OR s.receiving <> '[]'
            OR s.locked > 0 OR x.holders_after > s.most_holders OR x.target_after
                > least(s.most_units, floor(x.supply_after * s.most_bps / 10000)))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
        AND i.recorded_in IS DISTINCT FROM (SELECT register_transaction(0))
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            e.effective_at, FALSE, e.source_after + e.amount, 0,
            e.target_after - e.amount, e.supply_after, e.holders_before,
            e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, s.at, b.balance, b.reserved
        FROM (
            SELECT s.token_id, s.account_id, max(x.effective_at) AS at
            FROM entered s
            JOIN issuers_ledgertransaction x
                ON x.token_id = s.token_id AND x.seq = s.seq
            WHERE s.leg = 1
            GROUP BY s.token_id, s.account_id
            HAVING bool_and(x.kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN'))
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], b.at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_keep_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgeraccount'::regclass THEN
        RAISE EXCEPTION 'register_keep_account guards issuers_ledgeraccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_userholder
        WHERE id = NEW.holder_id AND user_id = NEW.user_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Profile % is not that of user %.', NEW.holder_id, NEW.user_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_approvedholder() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_approvedholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_approvedholder guards issuers_approvedholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id AND a.kind = 'HOLDER') THEN
        RAISE EXCEPTION 'Account % is no holder''s.', NEW.ledger_account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'It begins now, and somebody is who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'It is ended, once, by somebody, and stays otherwise: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholderchange'::regclass THEN
        RAISE EXCEPTION 'register_keep_changes guards issuers_legacyshareholderchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (
        SELECT FROM issuers_legacyshareholder WHERE id = OLD.shareholder_id) THEN
        RAISE EXCEPTION 'What changed of legacy shares % stays with them.',
            OLD.shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_keep_delivered() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF NEW.status = 'DELIVERED' AND NOT EXISTS (
        SELECT FROM issuers_ledgertransaction t
        JOIN issuers_ledgeraccount a ON a.id = t.target_id
        WHERE t.token_id = NEW.token_id AND t.seq = NEW.ledger_seq
            AND t.legacy_shareholder_id = NEW.id AND t.amount = NEW.number_of_shares
            AND t.effective_at = NEW.delivered_at AND t.actor = NEW.delivered_by
            AND a.user_id = NEW.user_id) THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_grants() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'register_keep_grants guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Grant % stays with its partner and its issuer, and is not deleted. '
        'Set ended_at.', OLD.id USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.register_keep_head() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenledgerhead'::regclass THEN
        RAISE EXCEPTION 'register_keep_head guards issuers_tokenledgerhead, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'The ledger of token % stands at entry % and price %: it never '
        'goes back, and once it is open it is never closed.', OLD.token_id,
        OLD.last_seq, OLD.last_price USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.register_keep_holder() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_userholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_holder guards accounts_userholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE holder_id = OLD.id) THEN
        RAISE EXCEPTION 'Holder profile % has an account in the register and stays its '
            'user''s. Units that are another user''s are transferred to that user.',
            OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

CREATE FUNCTION public.register_keep_issuer() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'register_keep_issuer guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM issuers_token WHERE issuer_id = OLD.id) THEN
            RAISE EXCEPTION 'Issuer % stays: tables of the past list its tokens.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_formerissuer VALUES (OLD.id) ON CONFLICT DO NOTHING;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'Issuer % keeps its id: tables of the past have it.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        NEW.recorded_in := OLD.recorded_in;
    ELSE
        NEW.recorded_in := (SELECT register_transaction(0));
        IF EXISTS (SELECT FROM issuers_formerissuer WHERE id = NEW.id) THEN
            NEW.recorded_in := NULL;
        END IF;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_open() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenledgerhead'::regclass THEN
        RAISE EXCEPTION 'register_keep_open guards issuers_tokenledgerhead, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_tokenledgerhead WHERE token_id = NEW.token_id
            AND NOT is_open AND last_seq + last_price > 0) THEN
        RAISE EXCEPTION 'The history of token % is written, and its ledger is not '
            'open: more could be written before what is answered.', NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_keep_restriction() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_restriction'::regclass THEN
        RAISE EXCEPTION 'register_keep_restriction guards issuers_restriction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id AND a.kind = 'HOLDER') THEN
        RAISE EXCEPTION 'Account % is no holder''s.', NEW.ledger_account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'It begins now, and somebody is who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'It is ended, once, by somebody, and stays otherwise: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_token() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    made numeric;
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'register_keep_token guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'Token % stays: tables of the past list it.', OLD.symbol
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
        RAISE EXCEPTION 'Token % is on the secondary market and can not go back.',
            OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
        UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
            RETURNING supply INTO made;
        IF made > NEW.authorized_units THEN
            RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_tokenrule() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'register_keep_tokenrule guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = NEW.token_id FOR UPDATE;
    IF TG_OP = 'INSERT' AND NEW.replaces_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM issuers_tokenrule r WHERE r.id = NEW.replaces_id
            AND r.token_id = NEW.token_id AND r.kind = NEW.kind
            AND r.ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'A rule replaces one of its token and kind, which has ended.'
    USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'It begins now, and somebody is who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'It is ended, once, by somebody, and stays otherwise: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_keep_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_user'::regclass THEN
        RAISE EXCEPTION 'register_keep_user guards accounts_user, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE user_id = OLD.id) THEN
        RAISE EXCEPTION 'User % has an account in the register, and stays.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

CREATE FUNCTION public.register_limits(of_token uuid, accounts bigint[], at timestamp with time zone) RETURNS TABLE(account bigint, may_send numeric, may_receive numeric, reasons jsonb, balance numeric, reserved numeric, locked numeric, locked_until timestamp with time zone, holder_places bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.account,
        CASE WHEN s.is_paused OR s.sending <> '[]' THEN 0
            ELSE greatest(b.balance - s.locked, 0) END,
        CASE WHEN s.is_paused OR s.receiving <> '[]' OR m.is_full THEN 0
            ELSE greatest(coalesce(m.most, 18446744073709551615) - b.balance, 0) END,
        jsonb_build_object(
            'send', s.sending || m.paused || CASE WHEN s.locked > 0
                THEN jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
                    'code', 'UNITS_LOCKED',
                    'available', greatest(b.balance - s.locked, 0),
                    'lockedUntil', s.locked_until))) ELSE '[]' END,
            'receive', s.receiving || m.paused
                || CASE WHEN m.is_full THEN jsonb_build_array(jsonb_build_object(
                    'code', 'MAX_HOLDERS_EXCEEDED', 'maximum', s.most_holders))
                    ELSE '[]' END
                || CASE WHEN m.most IS NOT NULL THEN jsonb_build_array(
                    jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED',
                    'maximum', m.most, 'held', b.balance)) ELSE '[]' END),
        b.balance, b.reserved, s.locked, s.locked_until,
        s.most_holders - h.holder_count
    FROM register_standing(of_token, accounts, at) s
    JOIN issuers_tokenledgerhead h ON h.token_id = of_token
    CROSS JOIN LATERAL (
        SELECT coalesce(max(b.balance), 0) AS balance,
            coalesce(max(b.reserved), 0) AS reserved
        FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = s.account
    ) b
    CROSS JOIN LATERAL (
        SELECT least(s.most_units, floor(h.supply * s.most_bps / 10000)) AS most,
            coalesce(b.balance = 0 AND h.holder_count >= s.most_holders, FALSE)
                AS is_full,
            CASE WHEN s.is_paused THEN '[{"code": "TRANSFERS_PAUSED"}]'::jsonb
                ELSE '[]' END AS paused
    ) m;
END $$;

CREATE FUNCTION public.register_note(issuers uuid[], asked timestamp with time zone, settled timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(noted_at timestamp with time zone, issuer_place bigint, noted_token uuid, noted_seq bigint, noted_last_seq bigint, noted_supply numeric, noted_held numeric, noted_holders bigint, noted_last_holders bigint, noted_price bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    -- A session that only reads can wait for nobody, and answers for what is settled.
    IF current_setting('transaction_read_only')::boolean THEN
        asked := least(asked, settled);
    END IF;
    -- Up to then whoever wrote has committed.
    IF (asked <= settled) IS NOT TRUE THEN
    -- Waits for tokens in the making, and for the writers who may still enter
    -- something at or before the instant. Whoever writes later takes a later time.
    PERFORM FROM issuers_issuer WHERE id = ANY (issuers) ORDER BY id FOR KEY SHARE;
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id IN (SELECT id FROM issuers_token WHERE issuer_id = ANY (issuers))
          AND (greatest(h.last_effective_at, h.last_price_at) > asked) IS NOT TRUE
        ORDER BY h.token_id FOR SHARE;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('names of holders', 0));
    END IF;
    noted_at := least(asked, clock_timestamp());
    RETURN QUERY
        SELECT noted_at, i.place, t.id, coalesce(s.seq, 0), h.last_seq,
            coalesce(s.supply_after, 0), coalesce(s.held_after, 0),
            coalesce(s.holders_after, 0), h.holder_count, coalesce(p.price_cents, 0)
        FROM unnest(issuers) WITH ORDINALITY AS i (id, place)
        LEFT JOIN issuers_token t ON t.issuer_id = i.id AND t.created_at <= noted_at
        LEFT JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        LEFT JOIN LATERAL (
            SELECT x.seq, x.supply_after, x.held_after, x.holders_after
            FROM issuers_ledgertransaction x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.seq DESC LIMIT 1
        ) s ON TRUE
        LEFT JOIN LATERAL (
            SELECT x.price_cents FROM issuers_tokenprice x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.number DESC LIMIT 1
        ) p ON TRUE
        ORDER BY i.place, t.created_at, t.id;
END $$;

CREATE FUNCTION public.register_open(tokens uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    UPDATE issuers_tokenledgerhead SET is_open = TRUE
        WHERE token_id = ANY (tokens) AND NOT is_open;
END $$;

CREATE FUNCTION public.register_open_ledger() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'register_open_ledger guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_tokenledgerhead
        (token_id, last_seq, last_price, supply, held, holder_count, is_open)
    VALUES (NEW.id, 0, 0, 0, 0, 0, FALSE);
    RETURN NULL;
END $$;

CREATE FUNCTION public.register_refusals(of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp with time zone DEFAULT clock_timestamp(), newcomer uuid DEFAULT NULL::uuid) RETURNS TABLE(code text, details jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    head issuers_tokenledgerhead;
    gives issuers_holderbalance;
    takes issuers_holderbalance;
    is_made boolean := source IS NULL AND kind NOT IN ('TRADE', 'TRANSFER');
    after bigint;
BEGIN
    SELECT * INTO head FROM issuers_tokenledgerhead h WHERE h.token_id = of_token;
    SELECT * INTO gives FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = source;
    SELECT * INTO takes FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = target;
    after := head.holder_count
        + (coalesce(target::text, newcomer::text) IS NOT NULL
            AND coalesce(takes.balance, 0) = 0)::integer
        - coalesce(gives.user_id IS NOT NULL AND gives.balance = amount, FALSE)::integer;
    RETURN QUERY SELECT j.code, j.details FROM register_judge(of_token, kind, source,
        target, amount, at, FALSE, coalesce(gives.balance, 0),
        coalesce(gives.reserved, 0), coalesce(takes.balance, 0),
        head.supply + CASE WHEN is_made THEN amount ELSE 0 END, head.holder_count,
        after, newcomer) j;
END $$;

CREATE FUNCTION public.register_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'The register is for ever: % on % is refused. A mistake gets a '
        'reversal, a price a later price.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.register_rule_is_valid(kind text, parameters jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public'
    AS $_$
DECLARE
    name text;
    said jsonb;
BEGIN
    IF kind IN ('TRANSFERS_PAUSED', 'VERIFIED_HOLDERS', 'APPROVED_HOLDERS') THEN
        RETURN parameters = '{}';
    END IF;
    IF jsonb_typeof(parameters) <> 'object'
        OR (SELECT count(*) FROM jsonb_object_keys(parameters)) <> 1 THEN
        RETURN FALSE;
    END IF;
    SELECT key, value INTO name, said FROM jsonb_each(parameters);
    IF jsonb_typeof(said) = 'array' THEN
        RETURN jsonb_array_length(said) BETWEEN 1 AND 300
            AND CASE kind || ' ' || name
                WHEN 'COUNTRIES allowed' THEN TRUE
                WHEN 'COUNTRIES refused' THEN TRUE
                WHEN 'INVESTOR_CLASSES classes' THEN said <@
                    '["RETAIL", "INFORMED", "PROFESSIONAL", "ELIGIBLE_COUNTERPARTY"]'
                ELSE FALSE END
            AND NOT EXISTS (SELECT FROM jsonb_array_elements(said) AS e (one)
                WHERE jsonb_typeof(one) <> 'string'
                    OR kind = 'COUNTRIES' AND one #>> '{}' !~ '^[A-Z]{2}$');
    END IF;
    RETURN said::text ~ '^[1-9][0-9]{0,19}$' AND CASE kind || ' ' || name
        WHEN 'MAX_HOLDERS holders' THEN said::numeric < 2::numeric ^ 63
        WHEN 'MAX_BALANCE units' THEN said::numeric < 2::numeric ^ 64
        WHEN 'MAX_BALANCE bps' THEN said::numeric <= 10000
        ELSE FALSE END;
END $_$;

CREATE FUNCTION public.register_standing(of_token uuid, accounts bigint[], at timestamp with time zone, past boolean DEFAULT false, newcomer uuid DEFAULT NULL::uuid) RETURNS TABLE(account bigint, is_paused boolean, sending jsonb, receiving jsonb, locked numeric, locked_until timestamp with time zone, most_units numeric, most_bps integer, most_holders bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH rules AS MATERIALIZED (
        SELECT r.kind, r.parameters FROM issuers_tokenrule r
        WHERE r.token_id = of_token AND (r.ended_at IS NULL OR r.ended_at > at)
        AND (NOT past OR r.created_at <= at)
    ), bounds AS MATERIALIZED (
        SELECT coalesce(bool_or(r.kind = 'TRANSFERS_PAUSED'), FALSE) AS paused,
            bool_or(r.kind = 'VERIFIED_HOLDERS') AS verified,
            bool_or(r.kind = 'APPROVED_HOLDERS') AS approved,
            min((r.parameters ->> 'units')::numeric) AS units,
            min((r.parameters ->> 'bps')::integer) AS bps,
            min((r.parameters ->> 'holders')::bigint) AS holders
        FROM rules r
    )
    SELECT w.account, b.paused,
        CASE WHEN x.frozen THEN jsonb_build_array(jsonb_strip_nulls(
            jsonb_build_object('code', 'SENDER_FROZEN', 'until', x.frozen_until)))
            ELSE '[]' END,
        (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(f.said) ORDER BY f.place), '[]')
         FROM (VALUES
            (1, x.frozen,
                jsonb_build_object('code', 'RECEIVER_FROZEN', 'until', x.frozen_until)),
            (2, b.verified AND p.is_unverified,
                jsonb_build_object('code', 'RECEIVER_NOT_VERIFIED',
                    'verifiedUntil', p.verified_until)),
            (3, p.is_elsewhere,
                jsonb_build_object('code', 'COUNTRY_NOT_ALLOWED', 'country', p.country)),
            (4, p.is_of_another_class,
                jsonb_build_object('code', 'INVESTOR_CLASS_NOT_ALLOWED')),
            (5, b.approved AND NOT EXISTS (SELECT FROM issuers_approvedholder h
                    WHERE h.token_id = of_token AND h.ledger_account_id = w.account
                        AND h.created_at <= at AND (h.until > at OR h.until IS NULL)
                        AND (h.ended_at IS NULL OR past AND h.ended_at > at)),
                jsonb_build_object('code', 'HOLDER_NOT_APPROVED'))
         ) AS f (place, is_broken, said) WHERE f.is_broken),
        x.locked, x.locked_until, b.units, b.bps, b.holders
    FROM (
        SELECT w.account, a.user_id
        FROM unnest(accounts) AS w (account)
        CROSS JOIN LATERAL (
            SELECT a.user_id FROM issuers_ledgeraccount a
            WHERE a.id = w.account AND a.kind = 'HOLDER' LIMIT 1
        ) a
        UNION ALL SELECT NULL, newcomer WHERE newcomer IS NOT NULL
    ) AS w
    CROSS JOIN bounds b
    CROSS JOIN LATERAL (
        -- As it is; and as it was, where it has changed since the instant.
        SELECT bool_or((i.verification = 'VERIFIED'
                AND (i.verified_until > at OR i.verified_until IS NULL)) IS NOT TRUE)
                AS is_unverified,
            bool_or(EXISTS (SELECT FROM rules r WHERE r.kind = 'COUNTRIES' AND CASE
                WHEN r.parameters ? 'allowed'
                    THEN (r.parameters -> 'allowed' ? i.country) IS NOT TRUE
                ELSE (r.parameters -> 'refused' ? i.country) IS NOT FALSE END))
                AS is_elsewhere,
            bool_or(EXISTS (SELECT FROM rules r WHERE r.kind = 'INVESTOR_CLASSES'
                AND NOT r.parameters -> 'classes' ? coalesce(i.class, 'RETAIL')))
                AS is_of_another_class,
            min(i.verified_until) AS verified_until, min(i.country) AS country
        FROM (
            SELECT i.verification, i.verified_until, i.tax_country_id::text AS country,
                i.investor_class AS class
            FROM (SELECT) AS one
            LEFT JOIN accounts_investorprofile i ON i.user_id = w.user_id
            WHERE NOT past
            UNION ALL
            SELECT i.verification, i.verified_until, i.tax_country_id, i.investor_class
            FROM (SELECT) AS one
            LEFT JOIN LATERAL (
                SELECT * FROM accounts_investorchange c
                WHERE c.user_id = w.user_id AND c.created_at <= at
                ORDER BY c.number DESC LIMIT 1
            ) i ON TRUE
            WHERE past OR EXISTS (SELECT FROM accounts_investorprofile x
                WHERE x.user_id = w.user_id AND x.updated_at > at)
        ) i
    ) p
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(r.is_whole), FALSE) AS frozen,
            CASE WHEN bool_and(r.until IS NOT NULL) FILTER (WHERE r.is_whole)
                THEN max(r.until) FILTER (WHERE r.is_whole) END AS frozen_until,
            least(coalesce(sum(coalesce(r.units, 18446744073709551615))
                FILTER (WHERE NOT r.is_whole), 0), 18446744073709551615) AS locked,
            CASE WHEN bool_and(r.until IS NOT NULL) FILTER (WHERE NOT r.is_whole)
                THEN max(r.until) FILTER (WHERE NOT r.is_whole) END AS locked_until
        FROM (
            SELECT r.units, r.until, r.kind = 'FREEZE' AND r.units IS NULL AS is_whole
            FROM issuers_restriction r
            WHERE r.ledger_account_id = w.account
                AND (r.token_id IS NULL OR r.token_id = of_token)
                AND (r.until IS NULL OR r.until > at) AND (r.ended_at IS NULL OR r.ended_at > at)
        AND (NOT past OR r.created_at <= at)
        ) r
    ) x;
END $$;

CREATE FUNCTION public.register_states(tokens uuid[], wanted bigint[], holds boolean) RETURNS TABLE(token_id uuid, account bigint, kind text, issuer_id uuid, name text, balance numeric, reserved numeric, is_paused boolean, sending jsonb, receiving jsonb, locked numeric, locked_until timestamp with time zone, most_units numeric, most_bps integer, most_holders bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    ruled uuid[];
    restricts boolean;
BEGIN
    IF holds THEN
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (wanted) AND a.kind = 'HOLDER' ORDER BY a.id FOR SHARE;
    END IF;
    ruled := ARRAY(SELECT DISTINCT r.token_id FROM issuers_tokenrule r
        WHERE r.ended_at IS NULL AND r.token_id = ANY (tokens));
    restricts := EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp());
    RETURN QUERY
    SELECT w.token_id, w.account, a.kind::text, a.issuer_id,
        coalesce(holder.name, 'the treasury of ' || issuer.trading_name, '')::text,
        coalesce(b.balance, 0), coalesce(b.reserved, 0),
        s.is_paused, s.sending, s.receiving, s.locked, s.locked_until, s.most_units,
        s.most_bps, s.most_holders
    FROM unnest(tokens, wanted) AS w (token_id, account)
    -- LATERAL looks each account up: where statistics are older than a large import,
    -- the planner would compare each account with all.
    LEFT JOIN LATERAL (
        SELECT * FROM issuers_ledgeraccount x WHERE x.id = w.account LIMIT 1
    ) a ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.trading_name FROM issuers_issuer x WHERE x.id = a.issuer_id LIMIT 1
    ) issuer ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.name FROM accounts_userholder x WHERE x.id = a.holder_id LIMIT 1
    ) holder ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.balance, x.reserved FROM issuers_holderbalance x
        WHERE x.token_id = w.token_id AND x.account_id = w.account LIMIT 1
    ) b ON TRUE
    LEFT JOIN LATERAL (
        SELECT s.* FROM (
            SELECT WHERE w.token_id = ANY (ruled) OR restricts AND EXISTS (
                SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id = w.account
                    AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp()))
            OFFSET 0
        ) AS is_bound
        JOIN issuers_tokenledgerhead h ON h.token_id = w.token_id
        CROSS JOIN LATERAL register_standing(w.token_id, ARRAY[w.account],
            coalesce(h.hold_at, clock_timestamp()), FALSE) s
    ) s ON TRUE;
END $$;

CREATE FUNCTION public.register_time_token() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'register_time_token guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
    IF NEW.created_at >= transaction_timestamp() THEN
        NEW.created_at := clock_timestamp();
    ELSIF NOT EXISTS (
        SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because its '
            'issuer was there before.', NEW.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.register_transaction(salt bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT hashtextextended(concat(
        system_identifier, ' ', pg_current_xact_id()), salt) FROM pg_control_system());
END $$;

CREATE FUNCTION public.search_beginnings(folded text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT '=' || left(w, 20) FROM unnest(search_words(folded)) w
    UNION
    SELECT left(w, n) FROM unnest(search_words(folded)) w,
        generate_series(3, least(length(w), 20)) n
$$;

CREATE FUNCTION public.search_fold(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT btrim(regexp_replace(
        replace(replace(replace(replace(
            translate(
                lower(regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;

CREATE FUNCTION public.search_issuer_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'search_issuer_changed guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- Who changes the owner can not see yet that it is the owner.
    IF TG_OP = 'INSERT' OR NEW.owner_id <> OLD.owner_id THEN
        PERFORM FROM accounts_user WHERE id = NEW.owner_id FOR SHARE;
    END IF;
    PERFORM search_refresh(NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION public.search_issuer_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'search_issuer_deleted guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    DELETE FROM issuers_issuerterm WHERE issuer_id = OLD.id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.search_owner_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_user'::regclass THEN
        RAISE EXCEPTION 'search_owner_changed guards accounts_user, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM search_refresh(id) FROM (
        SELECT id FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id) i;
    RETURN NULL;
END $$;

CREATE FUNCTION public.search_refresh(wanted uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    terms text[];
    privates boolean[];
    folded text;
BEGIN
    PERFORM FROM issuers_issuerterm WHERE issuer_id = wanted AND term = '' FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT t.term, t.name, wanted, t.private FROM search_terms(wanted) t;
        RETURN;
    END IF;
    SELECT array_agg(t.term), max(t.name), array_agg(t.private)
        INTO terms, folded, privates FROM search_terms(wanted) t;
    DELETE FROM issuers_issuerterm k
        WHERE issuer_id = wanted AND term <> '' AND NOT EXISTS (
            SELECT FROM unnest(terms, privates) AS t (term, private)
            WHERE t.term = k.term AND folded = k.name AND t.private = k.private);
    UPDATE issuers_issuerterm SET name = folded
        WHERE issuer_id = wanted AND term = '' AND name <> folded;
    INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
        SELECT t.term, folded, wanted, t.private
        FROM unnest(terms, privates) AS t (term, private)
        ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION public.search_terms(wanted uuid) RETURNS TABLE(term text, name text, private boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH said AS (
        SELECT left(search_fold(i.trading_name), 100) AS name, lower(u.lei) AS lei,
            search_fold(i.trading_name || ' ' || coalesce(u.company_name, '')) AS names
        FROM issuers_issuer i JOIN accounts_user u ON u.id = i.owner_id
        WHERE i.id = wanted
    ), identifiers (code, private, is_word) AS (
        SELECT lei, FALSE, TRUE FROM said WHERE lei IS NOT NULL
        UNION ALL
        SELECT lower(c.code), t.visibility = 'PRIVATE', c.is_word
        FROM issuers_token t
        CROSS JOIN LATERAL (VALUES (t.symbol, TRUE), (t.isin, FALSE)) c (code, is_word)
        WHERE t.issuer_id = wanted AND c.code IS NOT NULL
    ), terms (term, private) AS (
        SELECT '', FALSE
        UNION ALL SELECT '#' || code, private FROM identifiers
        UNION ALL SELECT b, FALSE FROM said, search_beginnings(names) b
        UNION ALL SELECT b, private FROM identifiers, search_beginnings(code) b
        WHERE is_word
    )
    SELECT t.term, s.name, bool_and(t.private) FROM terms t CROSS JOIN said s
    GROUP BY t.term, s.name;
END $$;

CREATE FUNCTION public.search_token_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    folded text;
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'search_token_changed guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        SELECT name INTO folded FROM issuers_issuerterm
            WHERE issuer_id = NEW.issuer_id AND term = '' FOR UPDATE;
        -- An issuer that was made past the triggers.
        IF NOT FOUND THEN
            PERFORM search_refresh(NEW.issuer_id);
            RETURN NULL;
        END IF;
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT term, folded, NEW.issuer_id, NEW.visibility = 'PRIVATE' FROM (
                SELECT '#' || lower(NEW.symbol)
                UNION SELECT '#' || lower(NEW.isin) WHERE NEW.isin IS NOT NULL
                UNION SELECT search_beginnings(lower(NEW.symbol))) AS t (term)
            ON CONFLICT (term, name, issuer_id) DO UPDATE SET private = FALSE
            WHERE issuers_issuerterm.private AND NOT excluded.private;
        RETURN NULL;
    END IF;
    PERFORM search_refresh(OLD.issuer_id);
    IF TG_OP = 'UPDATE' AND NEW.issuer_id <> OLD.issuer_id THEN
        PERFORM search_refresh(NEW.issuer_id);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.search_words(folded text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT array_remove(regexp_split_to_array(folded,
        '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'
    ), '')
$$;

CREATE FUNCTION public.staff_log_has_its_time() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'django_admin_log'::regclass THEN
        RAISE EXCEPTION 'staff_log_has_its_time guards django_admin_log, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.action_time := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION public.staff_log_stays() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'What staff did stays on the log, and so does user %. Clear '
        'is_active on the user instead.', OLD.user_id
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE FUNCTION public.trading_book_is_orders() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'marketdata_bookchange'::regclass THEN
        RAISE EXCEPTION 'trading_book_is_orders guards marketdata_bookchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('token %s, side %s, %s cents', c.token_id, c.side, c.price_cents)
    INTO wrong
    FROM (
        SELECT DISTINCT ON (e.token_id, e.side, e.price_cents) e.token_id, e.side,
            e.price_cents, e.quantity
        FROM entered e JOIN marketdata_orderbookhead h
            ON h.token_id = e.token_id AND h.source = 'OWN'
        ORDER BY e.token_id, e.side, e.price_cents, e.sequence DESC
    ) c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = c.token_id AND o.side = c.side
            AND o.limit_price = c.price_cents AND o.status = 'OPEN'
    ) s
    WHERE c.quantity <> s.units
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; a market of ours is fed by '
            'nothing else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_change_phase(token uuid, wanted text, follows text, follows_at timestamp with time zone, reference bigint, why text, changed_by text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    changed_at timestamptz;
    refers_to bigint;
BEGIN
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CONTINUOUS', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CONTINUOUS', 'CLOSED') END, FALSE) THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF market.phase = 'HALTED' THEN
        PERFORM approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    refers_to := coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = token),
        market.reference_price);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        reference_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to
            ELSE reference_price END,
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
END $$;

CREATE FUNCTION public.trading_count_day_anew() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'trading_bust'::regclass THEN
        RAISE EXCEPTION 'trading_count_day_anew guards trading_bust, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE marketdata_tradingday d
    SET open_cents = coalesce(f.opening, d.open_cents),
        high_cents = coalesce(f.high, d.high_cents),
        low_cents = coalesce(f.low, d.low_cents),
        close_cents = coalesce(f.closing, d.close_cents),
        volume = f.volume, value_cents = f.value, trades = f.trades
    FROM marketdata_tradingday o
    CROSS JOIN LATERAL (
        SELECT (array_agg(t.price_cents ORDER BY t.sequence))[1] AS opening,
            max(t.price_cents) AS high, min(t.price_cents) AS low,
            (array_agg(t.price_cents ORDER BY t.sequence DESC))[1] AS closing,
            coalesce(sum(t.quantity), 0) AS volume,
            coalesce(sum(t.price_cents::numeric * t.quantity), 0) AS value,
            count(*) AS trades
        FROM marketdata_trade t
        WHERE t.token_id = o.token_id
            AND t.sequence BETWEEN o.first_trade AND o.last_trade
            AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
    ) f
    WHERE o.token_id = NEW.token_id
        AND NEW.sequence BETWEEN o.first_trade AND o.last_trade
        AND d.token_id = o.token_id AND d.first_trade = o.first_trade;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_follow_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
    done bigint;
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_follow_changed guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('order %s', coalesce(n.id, o.id)) INTO wrong
    FROM was o FULL JOIN became n ON n.id = o.id
    WHERE (ROW (n.token_id, n.account_id, n.user_id, n.ledger_account_id, n.cash_account_id, n.partner_id, n.side, n.time_in_force, n.expires_at, n.client_order_id, n.created_at) IS NOT DISTINCT FROM ROW (o.token_id, o.account_id, o.user_id, o.ledger_account_id, o.cash_account_id, o.partner_id, o.side, o.time_in_force, o.expires_at, o.client_order_id, o.created_at)
        AND o.status = 'OPEN' AND n.last_event > o.last_event
        AND n.updated_at >= o.updated_at AND n.filled >= o.filled
        AND n.filled_value >= o.filled_value
        AND (n.version = o.version + 1 OR n.version = o.version
            AND ROW (n.limit_price, n.quantity, n.priority)
                = ROW (o.limit_price, o.quantity, o.priority))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order changes while it is OPEN, with an event; who, what '
            'and how long stay, and an amendment has a version of its own: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    
    WITH held AS (SELECT token_id, side, ledger_account_id, cash_account_id,
        (quantity - filled) AS units, (quantity - filled) * limit_price AS cents
        FROM became WHERE status = 'OPEN' UNION ALL SELECT token_id, side, ledger_account_id, cash_account_id,
        -(quantity - filled) AS units, -(quantity - filled) * limit_price AS cents
        FROM was WHERE status = 'OPEN'), per_account AS (
        SELECT token_id, side,
            CASE side WHEN 1 THEN ledger_account_id ELSE cash_account_id END AS account,
            sum(CASE side WHEN 1 THEN units ELSE cents END) AS delta
        FROM held GROUP BY 1, 2, 3
        HAVING sum(CASE side WHEN 1 THEN units ELSE cents END) <> 0
    ), units AS (
        SELECT issuers_reserve_units(token_id, array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 1 GROUP BY token_id
    ), cash AS (
        SELECT accounts_reserve_cash(array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 0 HAVING count(*) > 0
    )
    SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM cash) INTO done;
    
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_follow_events() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_follow_events guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR NO KEY UPDATE;
    IF (SELECT bool_and(kind = 'PHASE_CHANGED') FROM entered) THEN
        IF EXISTS (SELECT FROM entered e
            LEFT JOIN trading_market m ON m.token_id = e.token_id
            WHERE (e.number = m.last_event AND e.phase = m.phase
                AND e.at = m.phase_since) IS NOT TRUE) THEN
            RAISE EXCEPTION 'A market''s phase changes by trading_change_phase.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NULL;
    END IF;
    WITH linked AS (
        SELECT e.*, m.token_id IS NOT NULL
                AND e.number = m.last_event + row_number() OVER by_number
                AND e.at = lag(e.at, 1, e.at) OVER by_number AND e.at >= m.last_at
                AND e.at <= greatest(m.last_at, clock_timestamp()) AS follows,
            lag(e.kind) OVER by_order AS kind_before,
            lag(e.filled) OVER by_order AS filled_before,
            lag(e.value) OVER by_order AS value_before,
            lag(e.remaining) OVER by_order AS remaining_before,
            lead(e.number) OVER by_order IS NULL AS is_last
        FROM entered e LEFT JOIN trading_market m ON m.token_id = e.token_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number),
            by_order AS (PARTITION BY e.order_id, e.kind = 'TRADE_BUSTED'
                ORDER BY e.number)
    ), judged AS (
        SELECT e.number, e.token_id, e.follows
            AND o.token_id = e.token_id
            AND CASE e.kind
            WHEN 'ORDER_ACCEPTED' THEN p.kind IS NULL AND e.filled = 0 AND e.value = 0
                AND e.remaining = e.quantity AND e.priority = e.number
                AND o.quantity = e.quantity AND o.limit_price = e.price
                AND o.priority = e.number AND o.created_at = e.at
            WHEN 'ORDER_AMENDED' THEN p.remaining > 0 AND e.filled = p.filled
                AND e.value = p.value AND e.remaining = e.quantity - e.filled
                AND e.remaining > 0 AND o.quantity = e.quantity
                AND o.limit_price = e.price AND o.priority = e.priority
                AND e.priority = (
                    SELECT CASE WHEN e.price = a.price AND e.quantity <= a.quantity
                        THEN a.priority ELSE e.number END
                    FROM trading_orderevent a
                    WHERE a.order_id = e.order_id AND a.number < e.number
                        AND a.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
                    ORDER BY a.number DESC LIMIT 1)
            WHEN 'ORDER_TRADED' THEN e.filled = p.filled + e.quantity
                AND e.value = p.value + e.price * e.quantity
                AND e.remaining = p.remaining - e.quantity AND e.remaining >= 0
                AND x.price = e.price AND x.quantity = e.quantity AND x.at = e.at
                AND e.order_id = CASE
                    WHEN e.number = x.event THEN
                        CASE x.aggressor WHEN 0 THEN x.buy_order_id ELSE x.sell_order_id
                        END
                    WHEN e.number = x.event - 1 THEN
                        CASE x.aggressor WHEN 0 THEN x.sell_order_id ELSE x.buy_order_id
                        END END
            WHEN 'TRADE_BUSTED' THEN b.sequence IS NOT NULL AND e.price = x.price
                AND e.quantity = x.quantity
                AND e.order_id = CASE e.number WHEN b.event THEN x.buy_order_id
                    WHEN b.event + 1 THEN x.sell_order_id END
            WHEN 'PHASE_CHANGED' THEN FALSE
            ELSE e.filled = p.filled AND e.value = p.value
                AND e.remaining = p.remaining AND p.remaining > 0
                AND p.kind NOT IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') END
            AND (NOT e.is_last OR e.kind = 'TRADE_BUSTED' OR o.last_event = e.number
                AND o.updated_at = e.at AND o.filled = e.filled
                AND o.filled_value = e.value AND o.quantity = e.filled + e.remaining
                AND o.status = CASE e.kind WHEN 'ORDER_CANCELLED' THEN 'CANCELLED'
                    WHEN 'ORDER_EXPIRED' THEN 'EXPIRED' ELSE
                    CASE e.remaining WHEN 0 THEN 'FILLED' ELSE 'OPEN' END END
                AND coalesce(o.status_reason, '') = e.reason) AS follows
        FROM linked e
        LEFT JOIN trading_order o ON o.id = e.order_id
        LEFT JOIN LATERAL (
            SELECT e.kind_before AS kind, e.filled_before AS filled,
                e.value_before AS value, e.remaining_before AS remaining
            WHERE e.kind_before IS NOT NULL
            UNION ALL
            (SELECT a.kind, a.filled, a.value, a.remaining FROM trading_orderevent a
            WHERE a.order_id = e.order_id AND a.number < e.number
                AND e.kind_before IS NULL AND e.kind <> 'ORDER_ACCEPTED'
                AND a.kind <> 'TRADE_BUSTED'
            ORDER BY a.number DESC LIMIT 1)
        ) p ON TRUE
        LEFT JOIN trading_execution x
            ON x.token_id = e.token_id AND x.sequence = e.trade
        LEFT JOIN trading_bust b ON b.token_id = e.token_id AND b.sequence = e.trade
            AND e.kind = 'TRADE_BUSTED'
    )
    SELECT format('event %s of token %s', number, token_id) INTO wrong
    FROM judged WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The market''s next event has the next number, follows on the '
            'order''s last one and on its trade, and is what the order says: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('token %s, side %s, %s cents', l.token_id, l.side, l.limit_price)
    INTO wrong
    FROM (
        SELECT DISTINCT o.token_id, o.side, o.limit_price
        FROM entered e JOIN trading_order o ON o.id = e.order_id
        WHERE e.kind <> 'TRADE_BUSTED'
    ) l
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = l.token_id AND o.side = l.side
            AND o.limit_price = l.limit_price AND o.status = 'OPEN'
    ) s
    WHERE s.units <> coalesce((
        SELECT b.quantity FROM marketdata_booklevel b WHERE b.token_id = l.token_id
            AND b.side = l.side AND b.price_cents = l.limit_price), 0)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE trading_market m SET last_event = e.number, last_at = e.at
        FROM (SELECT token_id, max(number) AS number, max(at) AS at
              FROM entered GROUP BY token_id) e
        WHERE m.token_id = e.token_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_follow_executions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'trading_execution'::regclass THEN
        RAISE EXCEPTION 'trading_follow_executions guards trading_execution, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('trade %s of token %s', x.sequence, x.token_id) INTO wrong
    FROM entered x
    LEFT JOIN trading_order b ON b.id = x.buy_order_id
    LEFT JOIN trading_order s ON s.id = x.sell_order_id
    LEFT JOIN trading_market m ON m.token_id = x.token_id
    LEFT JOIN issuers_ledgertransaction l
        ON l.token_id = x.token_id AND l.seq = x.ledger_seq
    LEFT JOIN accounts_cashtransaction c ON c.id = x.cash_transaction
    WHERE (b.token_id = x.token_id AND s.token_id = x.token_id
        AND b.side = 0 AND s.side = 1 AND b.user_id <> s.user_id
        AND x.buyer_account_id = b.account_id AND x.seller_account_id = s.account_id
        AND x.price <= b.limit_price AND x.price >= s.limit_price
        AND x.price = CASE x.aggressor
            WHEN 0 THEN s.limit_price WHEN 1 THEN b.limit_price END
        AND CASE x.aggressor WHEN 0 THEN b.priority > s.priority
            WHEN 1 THEN s.priority > b.priority END
        AND m.phase = 'CONTINUOUS' AND x.event > m.last_event + 1
        AND x.at >= m.last_at AND x.at <= greatest(m.last_at, clock_timestamp())
        AND (b.expires_at > x.at) IS NOT FALSE AND (s.expires_at > x.at) IS NOT FALSE
        AND l.kind = 'TRADE' AND l.amount = x.quantity
        AND l.source_id = s.ledger_account_id AND l.target_id = b.ledger_account_id
        AND c.kind = 'TRADE' AND c.amount = x.price * x.quantity
        AND c.source_id = b.cash_account_id AND c.target_id = s.cash_account_id)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A trade is of a buy and a sell order of two users, at the '
            'resting one''s price and within the other''s limit, while the market is '
            'CONTINUOUS and before either expires, with an entry of its units and a '
            'payment of its price, and names their accounts: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_follow_placed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
    done bigint;
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_follow_placed guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('order %s', o.id) INTO wrong
    FROM came o
    LEFT JOIN accounts_account a ON a.id = o.account_id
    LEFT JOIN issuers_ledgeraccount l ON l.id = o.ledger_account_id
    LEFT JOIN accounts_cashaccount c ON c.id = o.cash_account_id
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = o.token_id
    WHERE (a.user_id = o.user_id AND a.partner_id = o.partner_id
        AND a.status = 'ACTIVE' AND l.user_id = o.user_id
        AND c.account_id = o.account_id AND h.source = 'OWN' AND o.version = 1)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order is of an account that is ACTIVE, of its user, partner '
            'and accounts, on a market of ours: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    
    WITH held AS (SELECT token_id, side, ledger_account_id, cash_account_id,
        (quantity - filled) AS units, (quantity - filled) * limit_price AS cents
        FROM came WHERE status = 'OPEN'), per_account AS (
        SELECT token_id, side,
            CASE side WHEN 1 THEN ledger_account_id ELSE cash_account_id END AS account,
            sum(CASE side WHEN 1 THEN units ELSE cents END) AS delta
        FROM held GROUP BY 1, 2, 3
        HAVING sum(CASE side WHEN 1 THEN units ELSE cents END) <> 0
    ), units AS (
        SELECT issuers_reserve_units(token_id, array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 1 GROUP BY token_id
    ), cash AS (
        SELECT accounts_reserve_cash(array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 0 HAVING count(*) > 0
    )
    SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM cash) INTO done;
    
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_left_active() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'trading_left_active guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM accounts_account a
        JOIN trading_order o ON o.account_id = a.id AND o.status = 'OPEN'
        WHERE a.id = NEW.account_id AND a.status <> 'ACTIVE') THEN
        RAISE EXCEPTION 'Account % is not ACTIVE any more and has orders that are OPEN: '
            'they end in the same transaction.', NEW.account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.previous_status = 'ACTIVE' AND EXISTS (
        SELECT FROM accounts_account a
        JOIN trading_fill f ON f.account_id = a.id AND f.at > NEW.created_at
        WHERE a.id = NEW.account_id AND a.changes = NEW.number) THEN
        RAISE EXCEPTION 'Account % has traded since: it leaves ACTIVE after its last '
            'trade.', NEW.account_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_lock(tokens uuid[]) RETURNS TABLE(token_id uuid, source text, last_sequence bigint, last_snapshot bigint, last_trade bigint, phase text, next_phase text, next_phase_at timestamp with time zone, session_opens time without time zone, session_closes time without time zone, weekdays_only boolean, tick_cents bigint, lot_units bigint, collar_bps integer, reference_price bigint, last_event bigint, last_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.token_id, h.source::text, h.last_sequence, h.last_snapshot,
            h.last_trade, m.phase::text, m.next_phase::text, m.next_phase_at,
            m.session_opens, m.session_closes, m.weekdays_only, m.tick_cents,
            m.lot_units, m.collar_bps, m.reference_price, m.last_event, m.last_at
        FROM marketdata_orderbookhead h
        LEFT JOIN trading_market m ON m.token_id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;

CREATE FUNCTION public.trading_open(token uuid, opens time without time zone, closes time without time zone, weekdays boolean, begins timestamp with time zone, tick bigint, lot bigint, collar integer, reference bigint, opened_by text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
    opened_at timestamptz;
BEGIN
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF head.source IS DISTINCT FROM 'EXTERNAL' THEN
        RAISE EXCEPTION 'A market opens once, on a token that has an order book.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(token, head.last_sequence, sides, prices, empty,
            ends, '{}', '{}', FALSE);
    END IF;
    opened_at := clock_timestamp();
    UPDATE marketdata_orderbookhead SET source = 'OWN' WHERE token_id = token;
    INSERT INTO trading_market (token_id, phase, phase_since, next_phase, next_phase_at,
        session_opens, session_closes, weekdays_only, tick_cents, lot_units, collar_bps,
        reference_price, last_event, last_phase_event, last_at, halt_reason)
    VALUES (token, 'CLOSED', opened_at, 'CONTINUOUS', begins, opens, closes, weekdays,
        tick, lot, collar, reference, 1, 1, opened_at, '');
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, 1, 'PHASE_CHANGED', reference, 'CLOSED', '', opened_by, opened_at);
END $$;

CREATE FUNCTION public.trading_settles_cash() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.cash_transaction = NEW.id) THEN
            RAISE EXCEPTION 'Payment % is of no trade: cash of a TRADE moves with an '
                'execution and an entry.', NEW.id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM accounts_cashtransaction t
            WHERE t.id = NEW.reverses_id AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.cash_transaction = NEW.id) THEN
        RAISE EXCEPTION 'Payment % is a trade''s: only bust_trade undoes it, with its '
            'units.', NEW.reverses_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_settles_units() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_units guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.token_id = NEW.token_id AND x.ledger_seq = NEW.seq) THEN
            RAISE EXCEPTION 'Entry % of token % is of no trade: units of a TRADE move '
                'with an execution and a payment.', NEW.seq, NEW.token_id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = NEW.token_id AND b.ledger_seq = NEW.seq) THEN
        RAISE EXCEPTION 'Entry % of token % is a trade''s: only bust_trade undoes it, '
            'with its payment.', NEW.reverses, NEW.token_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_tape_is_executions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'marketdata_trade'::regclass THEN
        RAISE EXCEPTION 'trading_tape_is_executions guards marketdata_trade, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('trade %s of token %s', e.sequence, e.token_id) INTO wrong
    FROM entered e JOIN marketdata_orderbookhead h
        ON h.token_id = e.token_id AND h.source = 'OWN'
    LEFT JOIN trading_execution x
        ON x.token_id = e.token_id AND x.sequence = e.sequence
    WHERE (x.price = e.price_cents AND x.quantity = e.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of a market of ours has its executions, and nothing '
            'else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_tell_orders() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_tell_orders guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id, type,
        subject_id, issuer_id, token_id, account_id, order_id, order_event, price,
        quantity, remaining, trade, reason)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', o.partner_id, e.kind,
        md5(concat_ws(' ', e.token_id, e.number))::uuid, t.issuer_id, e.token_id,
        o.account_id, o.id, e.number, e.price, e.quantity, e.remaining, e.trade,
        CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') THEN e.reason END
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id, e.number;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_tell_registers() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    told_now bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('registers that moved', 0)) THEN
        RETURN 0;
    END IF;
    WITH moved AS (
        INSERT INTO trading_registertold AS r (token_id, ledger_seq)
        SELECT m.token_id, h.last_seq FROM trading_market m
        JOIN issuers_tokenledgerhead h ON h.token_id = m.token_id
        LEFT JOIN trading_registertold told ON told.token_id = m.token_id
        WHERE EXISTS (SELECT FROM issuers_ledgertransaction l
            WHERE l.token_id = m.token_id AND l.kind = 'TRADE'
                AND l.seq > coalesce(told.ledger_seq, 0))
        ORDER BY m.token_id
        ON CONFLICT (token_id) DO UPDATE SET ledger_seq = excluded.ledger_seq
        RETURNING r.token_id, r.ledger_seq
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id, token_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', 'REGISTER_CHANGED',
        m.token_id, t.issuer_id, m.token_id, m.ledger_seq
    FROM moved m JOIN issuers_token t ON t.id = m.token_id ORDER BY m.token_id;
    GET DIAGNOSTICS told_now = ROW_COUNT;
    RETURN told_now;
END $$;

CREATE FUNCTION public.trading_told_bust() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'trading_bust'::regclass THEN
        RAISE EXCEPTION 'trading_told_bust guards trading_bust, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM trading_execution x
    JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
        AND l.seq = NEW.ledger_seq AND l.kind = 'REVERSAL' AND l.reverses = x.ledger_seq
    JOIN accounts_cashtransaction c ON c.id = NEW.cash_transaction
        AND c.kind = 'REVERSAL' AND c.reverses_id = x.cash_transaction
    WHERE x.token_id = NEW.token_id AND x.sequence = NEW.sequence;
    IF NOT FOUND OR NEW.at > clock_timestamp() OR 2 <> (
        SELECT count(*) FROM trading_orderevent e WHERE e.token_id = NEW.token_id
            AND e.number BETWEEN NEW.event AND NEW.event + 1
            AND e.kind = 'TRADE_BUSTED'
            AND e.trade = NEW.sequence AND e.at = NEW.at) THEN
        RAISE EXCEPTION 'A bust undoes the entry and the payment of a trade, with an '
            'event of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('BUST', jsonb_build_object('token', NEW.token_id,
        'trade', NEW.sequence, 'reason', NEW.reason), NULL, NEW.token_id,
        NEW.ledger_seq);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvalrequest r
        JOIN accounts_approvaldecision d ON d.request_id = r.id
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE r.id = used AND f.email = NEW.requested_by AND u.email = NEW.approved_by)
    THEN
        RAISE EXCEPTION 'A bust names who asked for it and who approved it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_told_execution() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'trading_execution'::regclass THEN
        RAISE EXCEPTION 'trading_told_execution guards trading_execution, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM marketdata_trade t WHERE t.token_id = NEW.token_id
            AND t.sequence = NEW.sequence AND t.price_cents = NEW.price
            AND t.quantity = NEW.quantity)
        OR 2 <> (SELECT count(*) FROM trading_orderevent e
            WHERE e.token_id = NEW.token_id
                AND e.number BETWEEN NEW.event - 1 AND NEW.event
                AND e.kind = 'ORDER_TRADED' AND e.trade = NEW.sequence) THEN
        RAISE EXCEPTION 'An execution is the tape''s trade of its number, and an event '
            'of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.trading_told_order() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_told_order guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (
        SELECT FROM trading_order o JOIN trading_orderevent e
            ON e.token_id = o.token_id AND e.number = o.last_event AND e.order_id = o.id
        WHERE o.id = NEW.id) THEN
        RAISE EXCEPTION 'What becomes of an order is an event of the market''s log: %.',
            NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.version > 1 AND NOT EXISTS (
        SELECT FROM trading_order o CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE e.kind = 'ORDER_AMENDED') AS amended,
                (array_agg(ROW (e.price, e.quantity, e.priority) ORDER BY e.number DESC)
                )[1] = ROW (o.limit_price, o.quantity, o.priority) AS fits
            FROM trading_orderevent e WHERE e.order_id = o.id
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')) p
        WHERE o.id = NEW.id AND p.fits AND p.amended = o.version - 1) THEN
        RAISE EXCEPTION 'An order is amended as an event says: %.', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.update_industry_of_issuers() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'issuers_industryclassificationbenchmark'::regclass THEN
        RAISE EXCEPTION 'update_industry_of_issuers guards issuers_industryclassificationbenchmark, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_issuer WHERE industry_classification_benchmark_id = NEW.id
        ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET industry_code = NULL
        WHERE industry_classification_benchmark_id = NEW.id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.update_issuer_time() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'update_issuer_time guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.update_legacy_time() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'update_legacy_time guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.update_owned_time() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF TG_RELID <> 'accounts_user'::regclass THEN
        RAISE EXCEPTION 'update_owned_time guards accounts_user, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET updated_at = clock_timestamp() WHERE owner_id = NEW.id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.update_token_time() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    writer xid8;
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'update_token_time guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;

CREATE TABLE public.accounts_accountstatuschange (
    id uuid NOT NULL,
    number integer NOT NULL,
    previous_status character varying(9),
    status character varying(9) NOT NULL,
    reason character varying(500),
    actor character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    approved_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    account_id uuid NOT NULL,
    recorded_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT accounts_accountstatuschange_number_check CHECK ((number >= 0)),
    CONSTRAINT status_change_is_a_known_move CHECK ((((number = 1) AND (previous_status IS NULL) AND ((status)::text = 'PENDING'::text)) OR ((number > 1) AND ((previous_status)::text = 'PENDING'::text) AND ((status)::text = 'ACTIVE'::text)) OR ((number > 1) AND ((previous_status)::text = 'PENDING'::text) AND ((status)::text = 'REJECTED'::text)) OR ((number > 1) AND ((previous_status)::text = 'ACTIVE'::text) AND ((status)::text = 'SUSPENDED'::text)) OR ((number > 1) AND ((previous_status)::text = 'SUSPENDED'::text) AND ((status)::text = 'ACTIVE'::text)) OR ((number > 1) AND ((previous_status)::text = 'ACTIVE'::text) AND ((status)::text = 'CLOSED'::text)) OR ((number > 1) AND ((previous_status)::text = 'SUSPENDED'::text) AND ((status)::text = 'CLOSED'::text))))
);

CREATE TABLE public.accounts_apikey (
    id uuid NOT NULL,
    secret_digest bytea NOT NULL,
    last_four character varying(4) NOT NULL,
    scopes character varying(20)[] NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    partner_id uuid NOT NULL,
    pepper_id bigint,
    CONSTRAINT api_key_expires_after_creation CHECK (((expires_at IS NULL) OR (expires_at > created_at))),
    CONSTRAINT api_key_scopes_are_known CHECK ((scopes <@ ARRAY['issuers:read'::character varying(20), 'captable:read'::character varying(20), 'shareholders:read'::character varying(20), 'accounts:read'::character varying(20), 'accounts:write'::character varying(20), 'marketdata:read'::character varying(20), 'trading:read'::character varying(20), 'trading:write'::character varying(20), 'cash:read'::character varying(20), 'cash:write'::character varying(20), 'compliance:read'::character varying(20), 'compliance:write'::character varying(20)]))
);

CREATE TABLE public.accounts_applicant (
    account_id uuid NOT NULL,
    reference character varying(64) NOT NULL,
    email character varying(254) NOT NULL,
    lei character varying(20),
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    partner_id uuid NOT NULL,
    user_id uuid NOT NULL,
    CONSTRAINT applicant_email_is_lower_case CHECK (((email)::text = lower((email)::text))),
    CONSTRAINT applicant_lei_follows_iso_17442 CHECK (((lei IS NULL) OR public.lei_is_valid((lei)::text))),
    CONSTRAINT reference_is_short CHECK (((reference)::text ~ '^[A-Za-z0-9._:-]{1,64}$'::text))
);

CREATE TABLE public.accounts_approvaldecision (
    request_id uuid NOT NULL,
    is_approved boolean NOT NULL,
    reason character varying(500) NOT NULL,
    decided_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    decided_by_id uuid NOT NULL
);

CREATE TABLE public.accounts_approvaloutcome (
    request_id uuid NOT NULL,
    is_executed boolean NOT NULL,
    detail character varying(500) NOT NULL,
    token_id uuid,
    number bigint,
    ended_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL
);

CREATE TABLE public.accounts_approvalpolicy (
    kind character varying(20) NOT NULL,
    is_required boolean NOT NULL,
    from_amount numeric(20,0)
);

CREATE TABLE public.accounts_approvalrequest (
    id uuid NOT NULL,
    kind character varying(20) NOT NULL,
    title character varying(200) NOT NULL,
    content jsonb NOT NULL,
    reason character varying(500) NOT NULL,
    filed_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    filed_by_id uuid NOT NULL,
    CONSTRAINT request_has_a_reason CHECK ((NOT ((reason)::text = ''::text)))
);

CREATE TABLE public.accounts_bankline (
    reference character varying(64) NOT NULL,
    text character varying(500) NOT NULL,
    amount bigint NOT NULL,
    date date NOT NULL,
    statement_id bigint NOT NULL,
    CONSTRAINT bank_line_has_a_reference CHECK ((NOT ((reference)::text = ''::text))),
    CONSTRAINT bank_line_moves_money CHECK ((NOT (amount = 0)))
);

CREATE TABLE public.accounts_bankstatement (
    id bigint NOT NULL,
    name character varying(200) NOT NULL,
    digest character varying(64) NOT NULL,
    closing_balance bigint,
    booked_balance bigint NOT NULL,
    booked_by character varying(254) NOT NULL,
    booked_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL
);

ALTER TABLE public.accounts_bankstatement ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_bankstatement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_cashaccount (
    id bigint NOT NULL,
    kind character varying(8) NOT NULL,
    deposit_reference character varying(25),
    account_id uuid,
    CONSTRAINT cash_account_is_a_clients_or_the_platforms CHECK ((((account_id IS NOT NULL) AND (deposit_reference IS NOT NULL) AND ((kind)::text = 'CLIENT'::text)) OR ((account_id IS NULL) AND (deposit_reference IS NULL) AND (kind IN ('BANK', 'FEES', 'SUSPENSE')))))
);

ALTER TABLE public.accounts_cashaccount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_cashaccount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_cashhead (
    cash_account_id bigint NOT NULL,
    kind character varying(8) NOT NULL,
    balance bigint NOT NULL,
    reserved bigint NOT NULL,
    last_number bigint NOT NULL,
    last_at timestamp with time zone,
    fingerprint numeric(40,0) NOT NULL,
    CONSTRAINT cash_bank_is_not_positive CHECK (((NOT ((kind)::text = 'BANK'::text)) OR (balance <= 0))),
    CONSTRAINT cash_reserved_within_balance CHECK (((reserved >= 0) AND ((reserved = 0) OR ((kind)::text = 'CLIENT'::text)) AND ((NOT ((kind)::text = 'CLIENT'::text)) OR (reserved <= balance))))
)
WITH (fillfactor='50');

CREATE TABLE public.accounts_cashposting (
    number bigint NOT NULL,
    delta bigint NOT NULL,
    balance_after bigint NOT NULL,
    cash_account_id bigint NOT NULL,
    transaction_id bigint NOT NULL,
    CONSTRAINT cash_posting_moves_money CHECK ((NOT (delta = 0)))
);

CREATE TABLE public.accounts_cashtransaction (
    id bigint NOT NULL,
    kind character varying(10) NOT NULL,
    amount bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor character varying(254) NOT NULL,
    reason character varying(500) NOT NULL,
    assigns_id bigint,
    reference character varying(64),
    reverses_id bigint,
    source_id bigint NOT NULL,
    target_id bigint NOT NULL,
    withdrawal_id uuid,
    CONSTRAINT cash_amount_is_positive CHECK ((amount > 0)),
    CONSTRAINT cash_moves_between_two CHECK ((NOT (source_id = target_id))),
    CONSTRAINT cash_transaction_names_what_its_kind_needs CHECK ((((assigns_id IS NULL) AND ((kind)::text = 'DEPOSIT'::text) AND (reference IS NOT NULL) AND (reverses_id IS NULL) AND (withdrawal_id IS NULL)) OR ((assigns_id IS NOT NULL) AND ((kind)::text = 'DEPOSIT'::text) AND (reference IS NULL) AND (reverses_id IS NULL) AND (withdrawal_id IS NULL)) OR ((assigns_id IS NULL) AND ((kind)::text = 'WITHDRAWAL'::text) AND (reference IS NOT NULL) AND (reverses_id IS NULL)) OR ((assigns_id IS NULL) AND (kind IN ('TRADE', 'FEE')) AND (reference IS NULL) AND (reverses_id IS NULL) AND (withdrawal_id IS NULL)) OR ((assigns_id IS NULL) AND ((kind)::text = 'REVERSAL'::text) AND (reference IS NULL) AND (reverses_id IS NOT NULL) AND (withdrawal_id IS NULL))))
);

ALTER TABLE public.accounts_cashtransaction ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_cashtransaction_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_country (
    code character varying(2) NOT NULL,
    alpha3 character varying(3) NOT NULL,
    name character varying(100) NOT NULL,
    CONSTRAINT country_alpha3_is_three_capitals CHECK (((alpha3)::text ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT country_code_is_two_capitals CHECK (((code)::text ~ '^[A-Z]{2}$'::text))
);

CREATE TABLE public.accounts_holderimport (
    id uuid NOT NULL,
    file_name character varying(255) NOT NULL,
    checksum_sha256 character varying(64) NOT NULL,
    imported_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL
);

CREATE TABLE public.accounts_investorattestation (
    verification character varying(8) NOT NULL,
    verified_until timestamp with time zone,
    tax_country_id character varying(2),
    investor_class character varying(21) NOT NULL,
    evidence character varying(200) NOT NULL,
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    user_id uuid NOT NULL,
    partner_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT investorattestation_facts_are_known CHECK (((verification IN ('NONE', 'PENDING', 'VERIFIED', 'REFUSED')) AND (investor_class IN ('RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'))))
);

CREATE TABLE public.accounts_investorchange (
    verification character varying(8) NOT NULL,
    verified_until timestamp with time zone,
    tax_country_id character varying(2),
    investor_class character varying(21) NOT NULL,
    evidence character varying(200) NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    number integer NOT NULL,
    attestation_id uuid,
    partner_id uuid,
    actor character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT accounts_investorchange_number_check CHECK ((number >= 0)),
    CONSTRAINT investorchange_facts_are_known CHECK (((verification IN ('NONE', 'PENDING', 'VERIFIED', 'REFUSED')) AND (investor_class IN ('RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY')))),
    CONSTRAINT partner_changes_by_attestation CHECK (((partner_id IS NULL) OR (attestation_id IS NOT NULL)))
);

CREATE TABLE public.accounts_investorprofile (
    verification character varying(8) NOT NULL,
    verified_until timestamp with time zone,
    tax_country_id character varying(2),
    investor_class character varying(21) NOT NULL,
    evidence character varying(200) NOT NULL,
    user_id uuid NOT NULL,
    partner_id uuid,
    changes integer NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT accounts_investorprofile_changes_check CHECK ((changes >= 0)),
    CONSTRAINT investorprofile_facts_are_known CHECK (((verification IN ('NONE', 'PENDING', 'VERIFIED', 'REFUSED')) AND (investor_class IN ('RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'))))
);

CREATE TABLE public.accounts_partner (
    id uuid NOT NULL,
    login character varying(50) NOT NULL,
    name character varying(200) NOT NULL,
    budget_points integer,
    budget_refill integer,
    is_active boolean NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    may_attest boolean DEFAULT false NOT NULL,
    CONSTRAINT accounts_partner_budget_points_check CHECK ((budget_points >= 0)),
    CONSTRAINT accounts_partner_budget_refill_check CHECK ((budget_refill >= 0)),
    CONSTRAINT partner_budget_points_positive CHECK (((budget_points IS NULL) OR (budget_points > 0))),
    CONSTRAINT partner_budget_refill_positive CHECK (((budget_refill IS NULL) OR (budget_refill > 0))),
    CONSTRAINT partner_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT partner_login_fits_in_a_key CHECK (((login)::text ~ '^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$'::text))
);

CREATE TABLE public.accounts_pepper (
    id bigint NOT NULL,
    digest bytea NOT NULL,
    first_used_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL
);

ALTER TABLE public.accounts_pepper ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_pepper_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_rowchange (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    table_name character varying(63) NOT NULL,
    row_id character varying(40) NOT NULL,
    operation character varying(6) NOT NULL,
    before jsonb,
    after jsonb,
    who character varying(254) NOT NULL,
    source character varying(200) NOT NULL,
    request_id character varying(100) NOT NULL
);

ALTER TABLE public.accounts_rowchange ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_rowchange_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_user (
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    id uuid NOT NULL,
    type character varying(10) NOT NULL,
    email character varying(254),
    first_name character varying(100) NOT NULL,
    last_name character varying(100) NOT NULL,
    company_name character varying(200),
    legal_form character varying(12),
    lei character varying(20),
    address character varying(200) NOT NULL,
    postal_code character varying(20) NOT NULL,
    city character varying(100) NOT NULL,
    is_active boolean NOT NULL,
    is_staff boolean NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    country_id character varying(2),
    CONSTRAINT user_company_has_a_company_name_only CHECK (((NOT ((type)::text = 'COMPANY'::text)) OR ((company_name IS NOT NULL) AND (NOT (((company_name)::text = ''::text) AND (company_name IS NOT NULL))) AND ((first_name)::text = ''::text) AND ((last_name)::text = ''::text)))),
    CONSTRAINT user_email_is_lower_case CHECK (((email IS NULL) OR ((email)::text = lower((email)::text)))),
    CONSTRAINT user_individual_has_a_personal_name_only CHECK (((NOT ((type)::text = 'INDIVIDUAL'::text)) OR ((company_name IS NULL) AND (legal_form IS NULL) AND (lei IS NULL) AND (NOT (((first_name)::text = ''::text) AND ((last_name)::text = ''::text)))))),
    CONSTRAINT user_lei_follows_iso_17442 CHECK (((lei IS NULL) OR public.lei_is_valid((lei)::text))),
    CONSTRAINT user_type_is_known CHECK ((type IN ('INDIVIDUAL', 'COMPANY')))
);

CREATE TABLE public.accounts_user_groups (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    group_id integer NOT NULL
);

ALTER TABLE public.accounts_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_user_user_permissions (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    permission_id integer NOT NULL
);

ALTER TABLE public.accounts_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_userholder (
    id uuid NOT NULL,
    name character varying(200) NOT NULL,
    wallet_address character varying(42),
    user_id uuid NOT NULL,
    CONSTRAINT user_holder_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT user_holder_wallet_is_an_evm_address CHECK (((wallet_address IS NULL) OR ((wallet_address)::text ~ '^0x[0-9a-fA-F]{40}$'::text)))
);

CREATE TABLE public.accounts_userholdername (
    id bigint NOT NULL,
    name character varying(200) NOT NULL,
    replaced_at timestamp with time zone NOT NULL,
    holder_id uuid NOT NULL
);

ALTER TABLE public.accounts_userholdername ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_userholdername_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_withdrawal (
    id uuid NOT NULL,
    amount bigint NOT NULL,
    reference character varying(64) NOT NULL,
    payment_reference character varying(25) NOT NULL,
    status character varying(9) NOT NULL,
    status_reason character varying(500) NOT NULL,
    requested_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    cash_account_id bigint NOT NULL,
    request_id uuid,
    CONSTRAINT withdrawal_amount_is_positive CHECK ((amount > 0)),
    CONSTRAINT withdrawal_status_is_known CHECK ((status IN ('REQUESTED', 'APPROVED', 'PAID', 'REFUSED', 'CANCELLED')))
);

CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);

ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);

ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);

ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.axes_accessattempt (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    get_data text NOT NULL,
    post_data text NOT NULL,
    failures_since_start integer NOT NULL,
    CONSTRAINT axes_accessattempt_failures_since_start_check CHECK ((failures_since_start >= 0))
);

ALTER TABLE public.axes_accessattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.axes_accessattemptexpiration (
    access_attempt_id integer NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.axes_accessfailurelog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    locked_out boolean NOT NULL
);

ALTER TABLE public.axes_accessfailurelog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessfailurelog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.axes_accesslog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    logout_time timestamp with time zone,
    session_hash character varying(64) NOT NULL
);

ALTER TABLE public.axes_accesslog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accesslog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id uuid NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);

ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);

ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);

ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);

CREATE TABLE public.issuers_approvedholder (
    id uuid NOT NULL,
    until timestamp with time zone,
    created_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    ended_by character varying(254) DEFAULT ''::character varying NOT NULL,
    ended_at timestamp with time zone,
    ledger_account_id bigint NOT NULL,
    token_id uuid NOT NULL
);

CREATE TABLE public.issuers_article (
    id uuid NOT NULL,
    title character varying(200) NOT NULL,
    slug character varying(100) NOT NULL,
    summary text,
    body text NOT NULL,
    url character varying(200),
    published_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    cover_image_id uuid,
    issuer_id uuid NOT NULL,
    CONSTRAINT article_has_a_title CHECK ((NOT ((title)::text = ''::text))),
    CONSTRAINT article_slug_is_url_friendly CHECK (((slug)::text ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text))
);

CREATE TABLE public.issuers_articletocome (
    article_id uuid NOT NULL,
    published_at timestamp with time zone NOT NULL
);

CREATE TABLE public.issuers_deliveryjob (
    id uuid NOT NULL,
    source character varying(8) NOT NULL,
    "position" integer NOT NULL,
    delivered integer NOT NULL,
    skipped integer NOT NULL,
    refused integer NOT NULL,
    created_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    line_count integer NOT NULL,
    released_at timestamp with time zone,
    handed_over_at timestamp with time zone,
    resumed_by character varying(254),
    tried_at timestamp with time zone,
    held character varying(500) DEFAULT ''::character varying NOT NULL,
    CONSTRAINT delivery_counts_every_line_once CHECK (("position" = ((delivered + skipped) + refused))),
    CONSTRAINT delivery_source_is_known CHECK ((source IN ('TREASURY', 'MINT'))),
    CONSTRAINT issuers_deliveryjob_delivered_check CHECK ((delivered >= 0)),
    CONSTRAINT issuers_deliveryjob_line_count_check CHECK ((line_count >= 0)),
    CONSTRAINT issuers_deliveryjob_position_check CHECK (("position" >= 0)),
    CONSTRAINT issuers_deliveryjob_refused_check CHECK ((refused >= 0)),
    CONSTRAINT issuers_deliveryjob_skipped_check CHECK ((skipped >= 0))
);

CREATE TABLE public.issuers_deliverystep (
    id bigint NOT NULL,
    "position" integer NOT NULL,
    shareholder_ids uuid[] NOT NULL,
    refusals jsonb NOT NULL,
    job_id uuid NOT NULL,
    units bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    token_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    user_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    skipped_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT issuers_deliverystep_position_check CHECK (("position" >= 0))
);

ALTER TABLE public.issuers_deliverystep ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issuers_deliverystep_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.issuers_document (
    id uuid NOT NULL,
    name character varying(100) NOT NULL,
    content_type character varying(50) NOT NULL,
    content bytea NOT NULL,
    size_bytes bigint NOT NULL,
    checksum_sha256 character varying(64) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    served_at timestamp with time zone,
    CONSTRAINT document_checksum_is_its_bytes CHECK (((checksum_sha256)::text = encode(sha256(content), 'hex'::text))),
    CONSTRAINT document_name_is_safe_in_an_address CHECK (((name)::text ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$'::text)),
    CONSTRAINT document_size_is_its_bytes CHECK (((size_bytes = length(content)) AND (size_bytes <= 5242880))),
    CONSTRAINT document_type_is_served CHECK ((content_type IN ('image/png', 'image/jpeg', 'image/webp', 'application/pdf'))),
    CONSTRAINT issuers_document_size_bytes_check CHECK ((size_bytes >= 0))
);

CREATE TABLE public.issuers_event (
    id uuid NOT NULL,
    sequence bigint NOT NULL,
    type character varying(30) NOT NULL,
    at timestamp with time zone NOT NULL,
    subject_id uuid,
    issuer_id uuid,
    token_id uuid,
    account_id uuid,
    ledger_sequence bigint,
    partner_id uuid NOT NULL,
    order_event bigint,
    price bigint,
    quantity bigint,
    remaining bigint,
    trade bigint,
    reason character varying(20)
);

CREATE TABLE public.issuers_eventhead (
    partner_id uuid NOT NULL,
    last_sequence bigint NOT NULL,
    pruned_sequence bigint NOT NULL,
    last_at timestamp with time zone
);

CREATE TABLE public.issuers_formerissuer (
    id uuid NOT NULL
);

CREATE TABLE public.issuers_holderbalance (
    account_id bigint NOT NULL,
    token_id uuid NOT NULL,
    balance numeric(20,0) NOT NULL,
    last_seq bigint NOT NULL,
    user_id uuid,
    reserved numeric(20,0) DEFAULT 0 NOT NULL,
    CONSTRAINT holder_balance_is_not_negative CHECK ((balance >= (0)::numeric)),
    CONSTRAINT holder_balance_reserved_within_balance CHECK (((reserved >= (0)::numeric) AND (reserved <= balance)))
)
WITH (fillfactor='80');

CREATE TABLE public.issuers_holdingperiod (
    token_id uuid NOT NULL,
    user_id uuid NOT NULL,
    since bigint NOT NULL,
    until bigint,
    since_class smallint GENERATED ALWAYS AS ((floor((((8)::double precision * ln((since)::double precision)) / ln((2)::double precision))))::smallint) STORED,
    until_class smallint GENERATED ALWAYS AS (COALESCE(((floor((((32)::double precision * ln((until)::double precision)) / ln((2)::double precision))))::smallint)::integer, 32767)) STORED,
    CONSTRAINT holding_ends_after_it_begins CHECK (((until IS NULL) OR (until > since)))
);

CREATE TABLE public.issuers_industryclassificationbenchmark (
    id uuid NOT NULL,
    industry_code character varying(2) NOT NULL,
    industry character varying(100) NOT NULL,
    supersector_code character varying(4) NOT NULL,
    supersector character varying(100) NOT NULL,
    sector_code character varying(6) NOT NULL,
    sector character varying(100) NOT NULL,
    subsector_code character varying(8) NOT NULL,
    subsector character varying(100) NOT NULL,
    description text NOT NULL,
    CONSTRAINT icb_codes_are_prefixes_of_the_subsector CHECK ((((sector_code)::text = "left"((subsector_code)::text, 6)) AND ((supersector_code)::text = "left"((subsector_code)::text, 4)) AND ((industry_code)::text = "left"((subsector_code)::text, 2)))),
    CONSTRAINT icb_subsector_code_has_eight_digits CHECK (((subsector_code)::text ~ '^[0-9]{8}$'::text))
);

CREATE TABLE public.issuers_issuer (
    id uuid NOT NULL,
    trading_name character varying(200) NOT NULL,
    slug character varying(100) NOT NULL,
    tag_line character varying(200),
    description text,
    market_description text,
    website character varying(200),
    twitter_url character varying(200),
    youtube_url character varying(200),
    linkedin_url character varying(200),
    facebook_url character varying(200),
    discord_url character varying(200),
    instagram_url character varying(200),
    trading_location character varying(100) NOT NULL,
    initial_number_of_shares bigint,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    company_logo_id uuid,
    country_id character varying(2),
    industry_classification_benchmark_id uuid,
    owner_id uuid NOT NULL,
    recorded_in bigint,
    updated_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    industry_code character varying(8),
    CONSTRAINT issuer_has_a_trading_location CHECK ((NOT ((trading_location)::text = ''::text))),
    CONSTRAINT issuer_has_a_trading_name CHECK ((NOT ((trading_name)::text = ''::text))),
    CONSTRAINT issuer_initial_shares_positive_and_exact CHECK (((initial_number_of_shares IS NULL) OR ((initial_number_of_shares > 0) AND (initial_number_of_shares <= '9007199254740991'::bigint)))),
    CONSTRAINT issuer_slug_is_url_friendly CHECK (((slug)::text ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text))
);

CREATE TABLE public.issuers_issuerfinancialdata (
    id uuid NOT NULL,
    period_type character varying(14) NOT NULL,
    year integer NOT NULL,
    revenue_cents bigint,
    ebitda_cents bigint,
    ebit_cents bigint,
    net_income_cents bigint,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    issuer_id uuid NOT NULL,
    CONSTRAINT financial_data_ebit_cents_is_exact_in_json CHECK (((ebit_cents IS NULL) OR ((ebit_cents >= '-9007199254740991'::bigint) AND (ebit_cents <= '9007199254740991'::bigint)))),
    CONSTRAINT financial_data_ebitda_cents_is_exact_in_json CHECK (((ebitda_cents IS NULL) OR ((ebitda_cents >= '-9007199254740991'::bigint) AND (ebitda_cents <= '9007199254740991'::bigint)))),
    CONSTRAINT financial_data_net_income_cents_is_exact_in_json CHECK (((net_income_cents IS NULL) OR ((net_income_cents >= '-9007199254740991'::bigint) AND (net_income_cents <= '9007199254740991'::bigint)))),
    CONSTRAINT financial_data_period_type_is_known CHECK ((period_type IN ('FIRST_SEMESTER', 'YEAR'))),
    CONSTRAINT financial_data_revenue_cents_is_exact_in_json CHECK (((revenue_cents IS NULL) OR ((revenue_cents >= '-9007199254740991'::bigint) AND (revenue_cents <= '9007199254740991'::bigint)))),
    CONSTRAINT financial_data_year_is_a_year CHECK (((year >= 1900) AND (year <= 2200)))
);

CREATE TABLE public.issuers_issuergrant (
    id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    issuer_id uuid,
    partner_id uuid NOT NULL,
    ended_at timestamp with time zone
);

CREATE TABLE public.issuers_issuerterm (
    term text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    private boolean NOT NULL,
    issuer_id uuid NOT NULL
);

CREATE TABLE public.issuers_ledgeraccount (
    id bigint NOT NULL,
    user_id uuid,
    issuer_id uuid,
    holder_id uuid,
    kind character varying(8) NOT NULL,
    CONSTRAINT ledger_account_is_a_holder_or_a_treasury CHECK ((((holder_id IS NOT NULL) AND (issuer_id IS NULL) AND ((kind)::text = 'HOLDER'::text) AND (user_id IS NOT NULL)) OR ((holder_id IS NULL) AND (issuer_id IS NOT NULL) AND ((kind)::text = 'TREASURY'::text) AND (user_id IS NULL))))
);

ALTER TABLE public.issuers_ledgeraccount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issuers_ledgeraccount_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.issuers_ledgerposting (
    token_id uuid NOT NULL,
    account_id bigint NOT NULL,
    seq bigint NOT NULL,
    leg smallint NOT NULL,
    delta numeric(21,0) NOT NULL,
    balance_after numeric(20,0) NOT NULL,
    CONSTRAINT ledger_balance_after_is_not_negative CHECK ((balance_after >= (0)::numeric)),
    CONSTRAINT ledger_first_leg_takes_second_gives CHECK ((((delta < (0)::numeric) AND (leg = 1)) OR ((delta > (0)::numeric) AND (leg = 2))))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02');

CREATE TABLE public.issuers_ledgertransaction (
    token_id uuid NOT NULL,
    target_id bigint,
    source_id bigint,
    legacy_shareholder_id uuid,
    seq bigint NOT NULL,
    kind character varying(15) NOT NULL,
    amount numeric(20,0) NOT NULL,
    effective_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    supply_after numeric(20,0) NOT NULL,
    held_after numeric(20,0) NOT NULL,
    holders_after bigint NOT NULL,
    actor character varying(254) NOT NULL,
    reason character varying(500) NOT NULL,
    chain_reference character varying(100),
    reverses bigint,
    CONSTRAINT ledger_amount_is_positive CHECK ((amount > (0)::numeric)),
    CONSTRAINT ledger_delivery_names_its_legacy_shareholder CHECK (((((kind)::text = 'LEGACY_DELIVERY'::text) AND (legacy_shareholder_id IS NOT NULL)) OR ((NOT ((kind)::text = 'LEGACY_DELIVERY'::text)) AND (legacy_shareholder_id IS NULL)))),
    CONSTRAINT ledger_reversal_names_what_it_reverses CHECK (((((kind)::text = 'REVERSAL'::text) AND (reverses IS NOT NULL)) OR ((NOT ((kind)::text = 'REVERSAL'::text)) AND (reverses IS NULL)))),
    CONSTRAINT ledger_units_come_or_go CHECK (((NOT ((source_id IS NULL) AND (target_id IS NULL))) AND (NOT ((source_id = target_id) AND (source_id IS NOT NULL) AND (target_id IS NOT NULL)))))
);

CREATE TABLE public.issuers_legacyimport (
    id uuid NOT NULL,
    file_name character varying(255) NOT NULL,
    checksum_sha256 character varying(64) NOT NULL,
    imported_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    issuer_id uuid NOT NULL
);

CREATE TABLE public.issuers_legacyshareholder (
    id uuid NOT NULL,
    status character varying(9) NOT NULL,
    number_of_shares bigint NOT NULL,
    price_cents bigint NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    issuer_id uuid NOT NULL,
    user_id uuid NOT NULL,
    batch_row integer,
    delivered_at timestamp with time zone,
    delivered_by character varying(254),
    ledger_seq bigint,
    reference character varying(100),
    replaces_id uuid,
    token_id uuid,
    batch_id uuid,
    updated_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT issuers_legacyshareholder_batch_row_check CHECK ((batch_row >= 0)),
    CONSTRAINT legacy_price_not_negative_and_int CHECK (((price_cents >= 0) AND (price_cents <= 2147483647))),
    CONSTRAINT legacy_shareholder_status_is_known CHECK ((status IN ('PENDING', 'DELIVERED'))),
    CONSTRAINT legacy_shares_delivered_with_when_who_and_entry CHECK ((((delivered_at IS NOT NULL) AND (delivered_by IS NOT NULL) AND (ledger_seq IS NOT NULL) AND ((status)::text = 'DELIVERED'::text) AND (token_id IS NOT NULL)) OR ((delivered_at IS NULL) AND (delivered_by IS NULL) AND (ledger_seq IS NULL) AND ((status)::text = 'PENDING'::text)))),
    CONSTRAINT legacy_shares_positive_and_int CHECK (((number_of_shares >= 1) AND (number_of_shares <= 2147483647)))
);

CREATE TABLE public.issuers_legacyshareholderchange (
    id uuid NOT NULL,
    before jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    batch_id uuid NOT NULL,
    shareholder_id uuid NOT NULL
);

CREATE TABLE public.issuers_restriction (
    id uuid NOT NULL,
    kind character varying(7) NOT NULL,
    units numeric(20,0),
    until timestamp with time zone,
    beneficiary character varying(200) NOT NULL,
    reason character varying(500) NOT NULL,
    created_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    ended_by character varying(254) DEFAULT ''::character varying NOT NULL,
    ended_at timestamp with time zone,
    ledger_account_id bigint NOT NULL,
    token_id uuid,
    CONSTRAINT pledge_has_a_beneficiary CHECK (((((kind)::text = 'PLEDGE'::text) AND (NOT ((beneficiary)::text = ''::text))) OR (((beneficiary)::text = ''::text) AND (kind IN ('FREEZE', 'LOCK_UP'))))),
    CONSTRAINT restricted_units_are_of_a_token CHECK (((units IS NULL) OR ((token_id IS NOT NULL) AND (units > (0)::numeric))))
);

CREATE TABLE public.issuers_token (
    id uuid NOT NULL,
    name character varying(200) NOT NULL,
    symbol character varying(20) NOT NULL,
    isin character varying(12),
    market_type character varying(16) NOT NULL,
    visibility character varying(7) NOT NULL,
    contract_address character varying(42),
    network character varying(50),
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    issuer_id uuid NOT NULL,
    authorized_units numeric(20,0),
    class_type character varying(9),
    nominal_currency character varying(3),
    nominal_value numeric(20,10),
    seniority numeric(20,10),
    votes_per_share integer,
    updated_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    CONSTRAINT issuers_token_votes_per_share_check CHECK ((votes_per_share >= 0)),
    CONSTRAINT token_authorized_units_are_uint64 CHECK (((authorized_units IS NULL) OR ((authorized_units >= (0)::numeric) AND (authorized_units <= '18446744073709551615'::numeric)))),
    CONSTRAINT token_contract_address_has_a_network CHECK ((((contract_address IS NULL) AND (network IS NULL)) OR (((contract_address)::text ~ '^0x[0-9a-fA-F]{40}$'::text) AND (network IS NOT NULL)))),
    CONSTRAINT token_has_a_name CHECK ((NOT ((name)::text = ''::text))),
    CONSTRAINT token_isin_follows_iso_6166 CHECK (((isin IS NULL) OR public.isin_is_valid((isin)::text))),
    CONSTRAINT token_market_type_is_known CHECK ((market_type IN ('PRIMARY_MARKET', 'SECONDARY_MARKET'))),
    CONSTRAINT token_symbol_is_upper_case CHECK (((symbol)::text ~ '^[A-Z0-9][A-Z0-9.-]*$'::text)),
    CONSTRAINT token_visibility_is_known CHECK ((visibility IN ('PUBLIC', 'PRIVATE')))
);

CREATE TABLE public.issuers_tokenledgerhead (
    token_id uuid NOT NULL,
    last_seq bigint NOT NULL,
    last_price bigint NOT NULL,
    last_effective_at timestamp with time zone,
    last_price_at timestamp with time zone,
    supply numeric(20,0) NOT NULL,
    held numeric(20,0) NOT NULL,
    holder_count bigint NOT NULL,
    price_cents bigint,
    is_open boolean NOT NULL,
    entry_digest bytea DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea NOT NULL,
    price_digest bytea DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea NOT NULL,
    hold_transaction bigint,
    hold_at timestamp with time zone,
    CONSTRAINT ledger_held_within_supply_within_uint64 CHECK (((held >= (0)::numeric) AND (held <= supply) AND (supply <= '18446744073709551615'::numeric))),
    CONSTRAINT ledger_value_of_supply_within_bounds CHECK (((NOT is_open) OR (price_cents IS NULL) OR ((supply * (price_cents)::numeric) <= ('9223372036854775807'::bigint)::numeric)))
)
WITH (fillfactor='20');

CREATE TABLE public.issuers_tokenprice (
    token_id uuid NOT NULL,
    number bigint NOT NULL,
    price_cents bigint NOT NULL,
    source character varying(6) NOT NULL,
    effective_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    recorded_by character varying(254) NOT NULL,
    CONSTRAINT token_price_is_not_negative CHECK ((price_cents >= 0)),
    CONSTRAINT token_price_source_is_known CHECK ((source IN ('ISSUE', 'TRADE', 'NAV', 'MANUAL')))
);

CREATE TABLE public.issuers_tokenrule (
    id uuid NOT NULL,
    kind character varying(16) NOT NULL,
    parameters jsonb NOT NULL,
    reason character varying(500) NOT NULL,
    created_by character varying(254) NOT NULL,
    approved_by character varying(254) NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    ended_by character varying(254) DEFAULT ''::character varying NOT NULL,
    ended_at timestamp with time zone,
    replaces_id uuid,
    token_id uuid NOT NULL,
    CONSTRAINT token_rule_is_valid CHECK (public.register_rule_is_valid((kind)::text, parameters))
);

CREATE UNLOGGED TABLE public.issuers_unnumberedevent (
    id bigint NOT NULL,
    transaction bigint NOT NULL,
    leads boolean NOT NULL,
    audience character varying(7) NOT NULL,
    partner_id uuid,
    type character varying(30) NOT NULL,
    subject_id uuid,
    issuer_id uuid,
    token_id uuid,
    account_id uuid,
    ledger_sequence bigint,
    order_event bigint,
    price bigint,
    quantity bigint,
    remaining bigint,
    trade bigint,
    reason character varying(20),
    order_id uuid
);

ALTER TABLE public.issuers_unnumberedevent ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.issuers_unnumberedevent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.marketdata_bookchange (
    sequence bigint NOT NULL,
    side smallint NOT NULL,
    price_cents bigint NOT NULL,
    quantity bigint NOT NULL,
    ends_message boolean NOT NULL,
    at timestamp with time zone NOT NULL,
    token_id uuid NOT NULL,
    CONSTRAINT book_change_price_is_positive CHECK ((price_cents > 0)),
    CONSTRAINT book_change_quantity_is_not_negative CHECK ((quantity >= 0)),
    CONSTRAINT book_change_side_is_known CHECK ((side = ANY (ARRAY[0, 1])))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE public.marketdata_booklevel (
    side smallint NOT NULL,
    price_cents bigint NOT NULL,
    quantity bigint NOT NULL,
    token_id uuid NOT NULL,
    CONSTRAINT book_level_is_not_empty CHECK ((quantity > 0))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.marketdata_booksnapshot (
    sequence bigint NOT NULL,
    trade_sequence bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    bid_prices bigint[] NOT NULL,
    bid_quantities bigint[] NOT NULL,
    ask_prices bigint[] NOT NULL,
    ask_quantities bigint[] NOT NULL,
    token_id uuid NOT NULL,
    fingerprint numeric(30,0) DEFAULT 0 NOT NULL
);

CREATE TABLE public.marketdata_fixlease (
    session_id bigint NOT NULL,
    acceptor character varying(50) NOT NULL,
    generation bigint NOT NULL,
    taken bigint NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE public.marketdata_fixsession (
    id bigint NOT NULL,
    comp_id character varying(20) NOT NULL,
    enabled boolean NOT NULL,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    connected_since timestamp with time zone,
    last_heartbeat_at timestamp with time zone,
    last_logout_reason character varying(200) NOT NULL,
    messages_sent bigint NOT NULL,
    partner_id uuid NOT NULL,
    book_sequence boolean NOT NULL,
    sources cidr[] DEFAULT '{}'::cidr[] NOT NULL,
    CONSTRAINT fix_session_comp_id_is_upper_case CHECK (((comp_id)::text ~ '^[A-Z0-9]+$'::text))
);

ALTER TABLE public.marketdata_fixsession ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.marketdata_fixsession_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.marketdata_orderbookhead (
    token_id uuid NOT NULL,
    last_sequence bigint NOT NULL,
    last_trade bigint NOT NULL,
    last_snapshot bigint NOT NULL,
    last_at timestamp with time zone,
    fingerprint numeric(30,0) DEFAULT 0 NOT NULL,
    source character varying(8) DEFAULT 'EXTERNAL'::character varying NOT NULL
)
WITH (fillfactor='10', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE TABLE public.marketdata_trade (
    sequence bigint NOT NULL,
    price_cents bigint NOT NULL,
    quantity bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    token_id uuid NOT NULL,
    CONSTRAINT trade_price_is_positive CHECK ((price_cents > 0)),
    CONSTRAINT trade_quantity_is_positive CHECK ((quantity > 0))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE public.marketdata_tradingday (
    day date NOT NULL,
    open_cents bigint NOT NULL,
    high_cents bigint NOT NULL,
    low_cents bigint NOT NULL,
    close_cents bigint NOT NULL,
    volume numeric(30,0) NOT NULL,
    value_cents numeric(50,0) NOT NULL,
    trades bigint NOT NULL,
    first_trade bigint NOT NULL,
    last_trade bigint NOT NULL,
    token_id uuid NOT NULL
);

CREATE TABLE public.otp_totp_totpdevice (
    id integer NOT NULL,
    name character varying(64) NOT NULL,
    confirmed boolean NOT NULL,
    key character varying(80) NOT NULL,
    step smallint NOT NULL,
    t0 bigint NOT NULL,
    digits smallint NOT NULL,
    tolerance smallint NOT NULL,
    drift smallint NOT NULL,
    last_t bigint NOT NULL,
    user_id uuid NOT NULL,
    throttling_failure_count integer NOT NULL,
    throttling_failure_timestamp timestamp with time zone,
    created_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT otp_totp_totpdevice_digits_check CHECK ((digits >= 0)),
    CONSTRAINT otp_totp_totpdevice_step_check CHECK ((step >= 0)),
    CONSTRAINT otp_totp_totpdevice_throttling_failure_count_check CHECK ((throttling_failure_count >= 0)),
    CONSTRAINT otp_totp_totpdevice_tolerance_check CHECK ((tolerance >= 0))
);

ALTER TABLE public.otp_totp_totpdevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.otp_totp_totpdevice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.partnerapi_export (
    id uuid NOT NULL,
    connection character varying(19) NOT NULL,
    issuer_id uuid,
    token_id uuid,
    date timestamp with time zone,
    last_sequence bigint,
    status character varying(7) DEFAULT 'WAITING'::character varying NOT NULL,
    place smallint,
    cursor text,
    is_written boolean NOT NULL,
    members integer NOT NULL,
    rows bigint NOT NULL,
    size_bytes bigint NOT NULL,
    charged bigint NOT NULL,
    attempts smallint NOT NULL,
    due_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    reason character varying(500),
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    expires_at timestamp with time zone,
    partner_id uuid NOT NULL,
    CONSTRAINT export_failed_for_a_reason CHECK (((NOT ((status)::text = 'FAILED'::text)) OR (reason IS NOT NULL))),
    CONSTRAINT export_has_a_place_while_it_runs CHECK ((((place >= 1) AND (place IS NOT NULL) AND (place <= 2) AND ((status)::text = 'RUNNING'::text)) OR ((place IS NULL) AND (status IN ('WAITING', 'READY', 'FAILED', 'EXPIRED'))))),
    CONSTRAINT export_is_ready_when_it_is_written CHECK (((NOT ((status)::text = 'READY'::text)) OR ((date IS NOT NULL) AND (expires_at IS NOT NULL) AND is_written))),
    CONSTRAINT export_names_what_it_is_of CHECK (((((connection)::text = 'HOLDERS'::text) AND (issuer_id IS NOT NULL)) OR (((connection)::text = 'TRANSACTIONS'::text) AND (issuer_id IS NOT NULL) AND (last_sequence IS NOT NULL) AND (token_id IS NOT NULL)) OR (((connection)::text = 'LEGACY_SHAREHOLDERS'::text) AND (issuer_id IS NOT NULL)) OR (((connection)::text = 'ACCOUNTS'::text) AND (issuer_id IS NULL)))),
    CONSTRAINT partnerapi_export_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT partnerapi_export_charged_check CHECK ((charged >= 0)),
    CONSTRAINT partnerapi_export_members_check CHECK ((members >= 0)),
    CONSTRAINT partnerapi_export_place_check CHECK ((place >= 0)),
    CONSTRAINT partnerapi_export_rows_check CHECK ((rows >= 0)),
    CONSTRAINT partnerapi_export_size_bytes_check CHECK ((size_bytes >= 0))
);

CREATE TABLE public.partnerapi_exportmember (
    id bigint NOT NULL,
    number integer NOT NULL,
    "position" bigint NOT NULL,
    rows integer NOT NULL,
    data bytea NOT NULL,
    export_id uuid NOT NULL,
    CONSTRAINT export_member_is_small CHECK ((octet_length(data) <= 1048576)),
    CONSTRAINT partnerapi_exportmember_number_check CHECK ((number >= 0)),
    CONSTRAINT partnerapi_exportmember_position_check CHECK (("position" >= 0)),
    CONSTRAINT partnerapi_exportmember_rows_check CHECK ((rows >= 0))
);
ALTER TABLE ONLY public.partnerapi_exportmember ALTER COLUMN data SET STORAGE EXTERNAL;

ALTER TABLE public.partnerapi_exportmember ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.partnerapi_exportmember_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.partnerapi_failedsignin (
    id bigint NOT NULL,
    login character varying(254) NOT NULL,
    address character varying(64) NOT NULL,
    is_locked boolean NOT NULL,
    at timestamp with time zone DEFAULT statement_timestamp() NOT NULL
);

ALTER TABLE public.partnerapi_failedsignin ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.partnerapi_failedsignin_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.partnerapi_idempotencyrecord (
    id bigint NOT NULL,
    key uuid NOT NULL,
    fingerprint bytea NOT NULL,
    operation_name character varying(200),
    body bytea,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    partner_id uuid NOT NULL,
    scopes character varying(50)[] DEFAULT '{}'::character varying(50)[] NOT NULL,
    CONSTRAINT idempotency_record_expires_when_it_is_answered CHECK ((((body IS NULL) AND (expires_at IS NULL)) OR ((body IS NOT NULL) AND (expires_at IS NOT NULL))))
);

ALTER TABLE public.partnerapi_idempotencyrecord ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.partnerapi_idempotencyrecord_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.partnerapi_jobrun (
    id bigint NOT NULL,
    job character varying(100) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    result character varying(6) NOT NULL,
    detail text NOT NULL,
    CONSTRAINT job_run_result_is_known CHECK ((result IN ('BEGUN', 'DONE', 'FAILED'))),
    CONSTRAINT job_run_took_time CHECK ((seconds >= (0.0)::double precision))
);

ALTER TABLE public.partnerapi_jobrun ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.partnerapi_jobrun_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW public.register_entry_lines AS
 SELECT t.token_id,
    t.seq AS number,
    concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE((to_json(t.chain_reference))::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":',
        CASE
            WHEN (t.source_id IS NULL) THEN 'null'::text
            WHEN (source.user_id IS NULL) THEN '"treasury"'::text
            ELSE (('"'::text || source.user_id) || '"'::text)
        END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE((('"'::text || t.legacy_shareholder_id) || '"'::text), 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE((t.reverses)::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":',
        CASE
            WHEN (t.target_id IS NULL) THEN 'null'::text
            WHEN (target.user_id IS NULL) THEN '"treasury"'::text
            ELSE (('"'::text || target.user_id) || '"'::text)
        END, ',"token":"', t.token_id, '"}') AS line
   FROM ((public.issuers_ledgertransaction t
     LEFT JOIN public.issuers_ledgeraccount source ON ((source.id = t.source_id)))
     LEFT JOIN public.issuers_ledgeraccount target ON ((target.id = t.target_id)));

CREATE VIEW public.register_price_lines AS
 SELECT p.token_id,
    p.number,
    concat('{"effectiveAt":"', to_char((p.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","number":', p.number, ',"priceCents":"', p.price_cents, '","recordedAt":"', to_char((p.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","recordedBy":', to_json(p.recorded_by), ',"source":"', p.source, '","token":"', p.token_id, '"}') AS line
   FROM public.issuers_tokenprice p;

CREATE VIEW public.staff_log AS
 SELECT c.at,
    (c.who)::text AS who,
    initcap((c.operation)::text) AS what,
    (c.table_name)::text AS kind,
    (c.row_id)::text AS object,
    (c.before)::text AS before,
    (c.after)::text AS after,
    ''::text AS reason,
    (c.request_id)::text AS request_id,
    (c.source)::text AS source,
    NULL::uuid AS object_key,
    false AS is_price_of_trade
   FROM public.accounts_rowchange c
UNION ALL
 SELECT s.recorded_at AS at,
    (s.actor)::text AS who,
    'Status'::text AS what,
    'accounts_account'::text AS kind,
    (s.account_id)::text AS object,
    (s.previous_status)::text AS before,
    (s.status)::text AS after,
    (COALESCE(s.reason, ''::character varying))::text AS reason,
    ''::text AS request_id,
        CASE
            WHEN s.is_staff THEN concat_ws(', approved by '::text, 'staff', NULLIF((s.approved_by)::text, ''::text))
            ELSE 'API'::text
        END AS source,
    s.account_id AS object_key,
    false AS is_price_of_trade
   FROM public.accounts_accountstatuschange s
UNION ALL
 SELECT r.filed_at AS at,
    (u.email)::text AS who,
    'Request'::text AS what,
    'accounts_approvalrequest'::text AS kind,
    (r.id)::text AS object,
    NULL::text AS before,
    (((r.title)::text || ' '::text) || r.content) AS after,
    (r.reason)::text AS reason,
    ''::text AS request_id,
    'request'::text AS source,
    r.id AS object_key,
    false AS is_price_of_trade
   FROM (public.accounts_approvalrequest r
     JOIN public.accounts_user u ON ((u.id = r.filed_by_id)))
UNION ALL
 SELECT d.decided_at AS at,
    (u.email)::text AS who,
        CASE
            WHEN d.is_approved THEN 'Approval'::text
            ELSE 'Refusal'::text
        END AS what,
    'accounts_approvalrequest'::text AS kind,
    (r.id)::text AS object,
    NULL::text AS before,
    (r.title)::text AS after,
    (d.reason)::text AS reason,
    ''::text AS request_id,
    'request'::text AS source,
    r.id AS object_key,
    false AS is_price_of_trade
   FROM ((public.accounts_approvaldecision d
     JOIN public.accounts_approvalrequest r ON ((r.id = d.request_id)))
     JOIN public.accounts_user u ON ((u.id = d.decided_by_id)))
UNION ALL
 SELECT o.ended_at AS at,
    (u.email)::text AS who,
        CASE
            WHEN o.is_executed THEN 'Execution'::text
            ELSE 'Overtaken'::text
        END AS what,
    'accounts_approvalrequest'::text AS kind,
    (r.id)::text AS object,
    NULL::text AS before,
    concat_ws(' '::text, r.title, ('token '::text || o.token_id), ('number '::text || o.number)) AS after,
    (o.detail)::text AS reason,
    ''::text AS request_id,
    'request'::text AS source,
    r.id AS object_key,
    false AS is_price_of_trade
   FROM ((public.accounts_approvaloutcome o
     JOIN public.accounts_approvalrequest r ON ((r.id = o.request_id)))
     JOIN public.accounts_user u ON ((u.id = r.filed_by_id)))
UNION ALL
 SELECT l.action_time AS at,
    (u.email)::text AS who,
        CASE l.action_flag
            WHEN 1 THEN 'Page: added'::text
            WHEN 2 THEN 'Page: changed'::text
            ELSE 'Page: deleted'::text
        END AS what,
    (((t.app_label)::text || '_'::text) || (t.model)::text) AS kind,
    l.object_id AS object,
    NULL::text AS before,
    concat_ws(': '::text, l.object_repr, l.change_message) AS after,
    ''::text AS reason,
    ''::text AS request_id,
    'page'::text AS source,
    NULL::uuid AS object_key,
    false AS is_price_of_trade
   FROM ((public.django_admin_log l
     JOIN public.accounts_user u ON ((u.id = l.user_id)))
     LEFT JOIN public.django_content_type t ON ((t.id = l.content_type_id)))
UNION ALL
 SELECT e.recorded_at AS at,
    (e.actor)::text AS who,
    ('Entry: '::text || (e.kind)::text) AS what,
    'issuers_token'::text AS kind,
    (e.token_id)::text AS object,
    NULL::text AS before,
    ((((('entry '::text || e.seq) || ', units '::text) || e.amount) || ', supply '::text) || e.supply_after) AS after,
    (e.reason)::text AS reason,
    ''::text AS request_id,
    'ledger'::text AS source,
    e.token_id AS object_key,
    false AS is_price_of_trade
   FROM public.issuers_ledgertransaction e
UNION ALL
 SELECT p.recorded_at AS at,
    (p.recorded_by)::text AS who,
    ('Price: '::text || (p.source)::text) AS what,
    'issuers_token'::text AS kind,
    (p.token_id)::text AS object,
    NULL::text AS before,
    (p.price_cents || ' cents'::text) AS after,
    ''::text AS reason,
    ''::text AS request_id,
    'ledger'::text AS source,
    p.token_id AS object_key,
    ((p.source)::text = 'TRADE'::text) AS is_price_of_trade
   FROM public.issuers_tokenprice p
UNION ALL
 SELECT j.created_at AS at,
    (j.created_by)::text AS who,
    'Delivery'::text AS what,
    'issuers_deliveryjob'::text AS kind,
    (j.id)::text AS object,
    NULL::text AS before,
    ((((((j.line_count || ' lines, source '::text) || (j.source)::text) || ', delivered '::text) || j.delivered) || ', refused '::text) || j.refused) AS after,
    ''::text AS reason,
    ''::text AS request_id,
    'delivery'::text AS source,
    j.id AS object_key,
    false AS is_price_of_trade
   FROM public.issuers_deliveryjob j;

CREATE TABLE public.trading_bust (
    sequence bigint NOT NULL,
    ledger_seq bigint NOT NULL,
    cash_transaction bigint NOT NULL,
    reason character varying(500) NOT NULL,
    requested_by character varying(254) NOT NULL,
    approved_by character varying(254) NOT NULL,
    event bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    token_id uuid NOT NULL
);

CREATE TABLE public.trading_execution (
    sequence bigint NOT NULL,
    price bigint NOT NULL,
    quantity bigint NOT NULL,
    aggressor smallint,
    ledger_seq bigint NOT NULL,
    cash_transaction bigint NOT NULL,
    event bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    token_id uuid NOT NULL,
    buy_order_id uuid NOT NULL,
    sell_order_id uuid NOT NULL,
    buyer_account_id uuid NOT NULL,
    seller_account_id uuid NOT NULL,
    CONSTRAINT execution_aggressor_is_known CHECK (((aggressor IS NULL) OR (aggressor = ANY (ARRAY[0, 1])))),
    CONSTRAINT execution_is_of_units_at_a_price CHECK (((price > 0) AND (quantity > 0)))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02');
ALTER TABLE ONLY public.trading_execution ALTER COLUMN buyer_account_id SET (n_distinct=-0.1);
ALTER TABLE ONLY public.trading_execution ALTER COLUMN seller_account_id SET (n_distinct=-0.1);

CREATE VIEW public.trading_fill AS
 SELECT (md5(concat_ws(' '::text, e.token_id, e.sequence, 0)))::uuid AS id,
    e.token_id,
    e.sequence,
    (0)::smallint AS side,
    e.buy_order_id AS order_id,
    e.buyer_account_id AS account_id,
    e.price,
    e.quantity,
    (e.price * e.quantity) AS value,
        CASE
            WHEN (e.aggressor IS NULL) THEN 'AUCTION'::text
            WHEN (e.aggressor = 0) THEN 'TAKER'::text
            ELSE 'MAKER'::text
        END AS liquidity,
    e.ledger_seq,
    e.at,
    ( SELECT b.at
           FROM public.trading_bust b
          WHERE ((b.token_id = e.token_id) AND (b.sequence = e.sequence))) AS busted_at
   FROM public.trading_execution e
UNION ALL
 SELECT (md5(concat_ws(' '::text, e.token_id, e.sequence, 1)))::uuid AS id,
    e.token_id,
    e.sequence,
    (1)::smallint AS side,
    e.sell_order_id AS order_id,
    e.seller_account_id AS account_id,
    e.price,
    e.quantity,
    (e.price * e.quantity) AS value,
        CASE
            WHEN (e.aggressor IS NULL) THEN 'AUCTION'::text
            WHEN (e.aggressor = 1) THEN 'TAKER'::text
            ELSE 'MAKER'::text
        END AS liquidity,
    e.ledger_seq,
    e.at,
    ( SELECT b.at
           FROM public.trading_bust b
          WHERE ((b.token_id = e.token_id) AND (b.sequence = e.sequence))) AS busted_at
   FROM public.trading_execution e;

CREATE TABLE public.trading_market (
    token_id uuid NOT NULL,
    phase character varying(10) NOT NULL,
    phase_since timestamp with time zone NOT NULL,
    next_phase character varying(10),
    next_phase_at timestamp with time zone,
    session_opens time without time zone NOT NULL,
    session_closes time without time zone NOT NULL,
    weekdays_only boolean NOT NULL,
    tick_cents bigint NOT NULL,
    lot_units bigint NOT NULL,
    collar_bps integer NOT NULL,
    reference_price bigint,
    last_event bigint NOT NULL,
    last_phase_event bigint NOT NULL,
    last_at timestamp with time zone NOT NULL,
    halt_reason character varying(500) NOT NULL,
    CONSTRAINT market_collar_is_below_the_price CHECK (((collar_bps > 0) AND (collar_bps < 10000))),
    CONSTRAINT market_phase_is_known CHECK ((phase IN ('CLOSED', 'CONTINUOUS', 'HALTED'))),
    CONSTRAINT market_tick_and_lot_are_positive CHECK (((lot_units > 0) AND (tick_cents > 0))),
    CONSTRAINT market_trades_around_a_reference_price CHECK (((NOT ((phase)::text = 'CONTINUOUS'::text)) OR (reference_price > 0)))
)
WITH (fillfactor='10', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE TABLE public.trading_order (
    id uuid NOT NULL,
    side smallint NOT NULL,
    limit_price bigint NOT NULL,
    quantity bigint NOT NULL,
    filled bigint NOT NULL,
    filled_value bigint NOT NULL,
    time_in_force character varying(3) NOT NULL,
    expires_at timestamp with time zone,
    status character varying(9) NOT NULL,
    status_reason character varying(20),
    priority bigint NOT NULL,
    version integer NOT NULL,
    last_event bigint NOT NULL,
    client_order_id character varying(64),
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id uuid NOT NULL,
    cash_account_id bigint NOT NULL,
    ledger_account_id bigint NOT NULL,
    partner_id uuid NOT NULL,
    token_id uuid NOT NULL,
    user_id uuid NOT NULL,
    CONSTRAINT order_is_filled_when_all_of_it_is CHECK ((((filled = quantity) AND ((status)::text = 'FILLED'::text)) OR ((status IN ('OPEN', 'CANCELLED', 'EXPIRED')) AND (filled < quantity)))),
    CONSTRAINT order_is_filled_within_its_quantity CHECK (((filled >= 0) AND (filled <= quantity))),
    CONSTRAINT order_price_and_quantity_are_positive CHECK (((limit_price > 0) AND (quantity > 0))),
    CONSTRAINT order_rests_until_it_expires CHECK ((((expires_at IS NULL) AND (time_in_force IN ('IOC', 'FOK')) AND (NOT (status IN ('OPEN', 'EXPIRED')))) OR ((expires_at IS NOT NULL) AND (time_in_force IN ('DAY', 'GTC', 'GTD'))))),
    CONSTRAINT order_side_is_known CHECK ((side = ANY (ARRAY[0, 1]))),
    CONSTRAINT order_that_ended_early_says_why CHECK ((((status IN ('OPEN', 'FILLED')) AND (status_reason IS NULL)) OR ((status IN ('CANCELLED', 'EXPIRED')) AND (status_reason IS NOT NULL))))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.trading_orderevent (
    number bigint NOT NULL,
    kind character varying(15) NOT NULL,
    price bigint,
    quantity bigint,
    filled bigint,
    remaining bigint,
    value bigint,
    priority bigint,
    trade bigint,
    phase character varying(10),
    reason character varying(500) NOT NULL,
    actor character varying(254) NOT NULL,
    at timestamp with time zone NOT NULL,
    order_id uuid,
    token_id uuid NOT NULL,
    CONSTRAINT order_event_is_of_an_order_or_a_phase CHECK (((((kind)::text = 'PHASE_CHANGED'::text) AND (order_id IS NULL) AND (phase IS NOT NULL)) OR ((kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED', 'ORDER_CANCELLED', 'ORDER_EXPIRED', 'TRADE_BUSTED')) AND (order_id IS NOT NULL) AND (phase IS NULL))))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02');

CREATE TABLE public.trading_registertold (
    token_id uuid NOT NULL,
    ledger_seq bigint NOT NULL
);

ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_accountstatuschange
    ADD CONSTRAINT accounts_accountstatuschange_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_apikey
    ADD CONSTRAINT accounts_apikey_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_apikey
    ADD CONSTRAINT accounts_apikey_secret_digest_key UNIQUE (secret_digest);

ALTER TABLE ONLY public.accounts_applicant
    ADD CONSTRAINT accounts_applicant_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.accounts_applicant
    ADD CONSTRAINT accounts_applicant_user_id_key UNIQUE (user_id);

ALTER TABLE ONLY public.accounts_approvaldecision
    ADD CONSTRAINT accounts_approvaldecision_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY public.accounts_approvaloutcome
    ADD CONSTRAINT accounts_approvaloutcome_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY public.accounts_approvalpolicy
    ADD CONSTRAINT accounts_approvalpolicy_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY public.accounts_approvalrequest
    ADD CONSTRAINT accounts_approvalrequest_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_bankline
    ADD CONSTRAINT accounts_bankline_pkey PRIMARY KEY (reference);

ALTER TABLE ONLY public.accounts_bankstatement
    ADD CONSTRAINT accounts_bankstatement_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_cashaccount
    ADD CONSTRAINT accounts_cashaccount_account_id_key UNIQUE (account_id);

ALTER TABLE ONLY public.accounts_cashaccount
    ADD CONSTRAINT accounts_cashaccount_deposit_reference_key UNIQUE (deposit_reference);

ALTER TABLE ONLY public.accounts_cashaccount
    ADD CONSTRAINT accounts_cashaccount_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_cashhead
    ADD CONSTRAINT accounts_cashhead_pkey PRIMARY KEY (cash_account_id);

ALTER TABLE ONLY public.accounts_cashposting
    ADD CONSTRAINT accounts_cashposting_pkey PRIMARY KEY (cash_account_id, number);

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransaction_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransaction_reference_key UNIQUE (reference);

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransaction_reverses_id_key UNIQUE (reverses_id);

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransaction_withdrawal_id_key UNIQUE (withdrawal_id);

ALTER TABLE ONLY public.accounts_country
    ADD CONSTRAINT accounts_country_alpha3_key UNIQUE (alpha3);

ALTER TABLE ONLY public.accounts_country
    ADD CONSTRAINT accounts_country_pkey PRIMARY KEY (code);

ALTER TABLE ONLY public.accounts_holderimport
    ADD CONSTRAINT accounts_holderimport_checksum_sha256_key UNIQUE (checksum_sha256);

ALTER TABLE ONLY public.accounts_holderimport
    ADD CONSTRAINT accounts_holderimport_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_investorattestation
    ADD CONSTRAINT accounts_investorattestation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT accounts_investorchange_attestation_id_key UNIQUE (attestation_id);

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT accounts_investorchange_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_investorprofile
    ADD CONSTRAINT accounts_investorprofile_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.accounts_partner
    ADD CONSTRAINT accounts_partner_login_key UNIQUE (login);

ALTER TABLE ONLY public.accounts_partner
    ADD CONSTRAINT accounts_partner_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_pepper
    ADD CONSTRAINT accounts_pepper_digest_key UNIQUE (digest);

ALTER TABLE ONLY public.accounts_pepper
    ADD CONSTRAINT accounts_pepper_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_rowchange
    ADD CONSTRAINT accounts_rowchange_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_email_key UNIQUE (email);

ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_group_id_59c0b32f_uniq UNIQUE (user_id, group_id);

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_lei_key UNIQUE (lei);

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permi_user_id_permission_id_2ab516c2_uniq UNIQUE (user_id, permission_id);

ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permissions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_userholder
    ADD CONSTRAINT accounts_userholder_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_userholder
    ADD CONSTRAINT accounts_userholder_user_id_key UNIQUE (user_id);

ALTER TABLE ONLY public.accounts_userholder
    ADD CONSTRAINT accounts_userholder_wallet_address_key UNIQUE (wallet_address);

ALTER TABLE ONLY public.accounts_userholdername
    ADD CONSTRAINT accounts_userholdername_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_withdrawal
    ADD CONSTRAINT accounts_withdrawal_payment_reference_key UNIQUE (payment_reference);

ALTER TABLE ONLY public.accounts_withdrawal
    ADD CONSTRAINT accounts_withdrawal_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_article
    ADD CONSTRAINT article_slug_is_unique_within_the_issuer UNIQUE (issuer_id, slug);

ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);

ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);

ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);

ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_username_ip_address_user_agent_8ea22282_uniq UNIQUE (username, ip_address, user_agent);

ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptexpiration_pkey PRIMARY KEY (access_attempt_id);

ALTER TABLE ONLY public.axes_accessfailurelog
    ADD CONSTRAINT axes_accessfailurelog_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.axes_accesslog
    ADD CONSTRAINT axes_accesslog_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.trading_bust
    ADD CONSTRAINT bust_has_its_own_entry UNIQUE (token_id, ledger_seq);

ALTER TABLE ONLY public.trading_order
    ADD CONSTRAINT client_order_id_is_used_once UNIQUE (account_id, client_order_id);

ALTER TABLE ONLY public.issuers_deliverystep
    ADD CONSTRAINT delivery_has_one_step_at_a_position UNIQUE (job_id, "position");

ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);

ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);

ALTER TABLE ONLY public.issuers_event
    ADD CONSTRAINT events_are_numbered_per_partner UNIQUE (partner_id, sequence);

ALTER TABLE ONLY public.trading_execution
    ADD CONSTRAINT execution_has_its_own_entry UNIQUE (token_id, ledger_seq);

ALTER TABLE ONLY public.trading_execution
    ADD CONSTRAINT execution_has_its_own_payment UNIQUE (cash_transaction);

ALTER TABLE ONLY public.partnerapi_exportmember
    ADD CONSTRAINT export_members_are_numbered UNIQUE (export_id, number);

ALTER TABLE ONLY public.partnerapi_export
    ADD CONSTRAINT exports_at_work_have_their_places UNIQUE (partner_id, place);

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT investor_changes_are_numbered UNIQUE (user_id, number);

ALTER TABLE ONLY public.issuers_approvedholder
    ADD CONSTRAINT issuers_approvedholder_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_article
    ADD CONSTRAINT issuers_article_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_articletocome
    ADD CONSTRAINT issuers_articletocome_pkey PRIMARY KEY (article_id);

ALTER TABLE ONLY public.issuers_deliveryjob
    ADD CONSTRAINT issuers_deliveryjob_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_deliverystep
    ADD CONSTRAINT issuers_deliverystep_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_document
    ADD CONSTRAINT issuers_document_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_event
    ADD CONSTRAINT issuers_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_eventhead
    ADD CONSTRAINT issuers_eventhead_pkey PRIMARY KEY (partner_id);

ALTER TABLE ONLY public.issuers_formerissuer
    ADD CONSTRAINT issuers_formerissuer_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_holderbalance
    ADD CONSTRAINT issuers_holderbalance_pkey PRIMARY KEY (token_id, account_id);

ALTER TABLE ONLY public.issuers_holdingperiod
    ADD CONSTRAINT issuers_holdingperiod_pkey PRIMARY KEY (token_id, user_id, since);

ALTER TABLE ONLY public.issuers_industryclassificationbenchmark
    ADD CONSTRAINT issuers_industryclassificationbenchmark_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_industryclassificationbenchmark
    ADD CONSTRAINT issuers_industryclassificationbenchmark_subsector_code_key UNIQUE (subsector_code);

ALTER TABLE ONLY public.issuers_issuer
    ADD CONSTRAINT issuers_issuer_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_issuer
    ADD CONSTRAINT issuers_issuer_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.issuers_issuerfinancialdata
    ADD CONSTRAINT issuers_issuerfinancialdata_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_issuergrant
    ADD CONSTRAINT issuers_issuergrant_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_issuerterm
    ADD CONSTRAINT issuers_issuerterm_pkey PRIMARY KEY (term, name, issuer_id);

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccount_holder_id_key UNIQUE (holder_id);

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccount_issuer_id_key UNIQUE (issuer_id);

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccount_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccount_user_id_key UNIQUE (user_id);

ALTER TABLE ONLY public.issuers_ledgerposting
    ADD CONSTRAINT issuers_ledgerposting_pkey PRIMARY KEY (token_id, seq, leg);

ALTER TABLE ONLY public.issuers_ledgertransaction
    ADD CONSTRAINT issuers_ledgertransaction_pkey PRIMARY KEY (token_id, seq);

ALTER TABLE ONLY public.issuers_legacyimport
    ADD CONSTRAINT issuers_legacyimport_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareholder_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareholder_replaces_id_key UNIQUE (replaces_id);

ALTER TABLE ONLY public.issuers_legacyshareholderchange
    ADD CONSTRAINT issuers_legacyshareholderchange_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_restriction
    ADD CONSTRAINT issuers_restriction_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_token
    ADD CONSTRAINT issuers_token_isin_key UNIQUE (isin);

ALTER TABLE ONLY public.issuers_token
    ADD CONSTRAINT issuers_token_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_token
    ADD CONSTRAINT issuers_token_symbol_key UNIQUE (symbol);

ALTER TABLE ONLY public.issuers_tokenledgerhead
    ADD CONSTRAINT issuers_tokenledgerhead_pkey PRIMARY KEY (token_id);

ALTER TABLE ONLY public.issuers_tokenprice
    ADD CONSTRAINT issuers_tokenprice_pkey PRIMARY KEY (token_id, number);

ALTER TABLE ONLY public.issuers_tokenrule
    ADD CONSTRAINT issuers_tokenrule_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_tokenrule
    ADD CONSTRAINT issuers_tokenrule_replaces_id_key UNIQUE (replaces_id);

ALTER TABLE ONLY public.issuers_unnumberedevent
    ADD CONSTRAINT issuers_unnumberedevent_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers_legacyimport
    ADD CONSTRAINT legacy_file_is_imported_once_per_issuer UNIQUE (issuer_id, checksum_sha256);

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT legacy_reference_unique_per_issuer UNIQUE (issuer_id, reference);

ALTER TABLE ONLY public.marketdata_bookchange
    ADD CONSTRAINT marketdata_bookchange_pkey PRIMARY KEY (token_id, sequence);

ALTER TABLE ONLY public.marketdata_booklevel
    ADD CONSTRAINT marketdata_booklevel_pkey PRIMARY KEY (token_id, side, price_cents);

ALTER TABLE ONLY public.marketdata_booksnapshot
    ADD CONSTRAINT marketdata_booksnapshot_pkey PRIMARY KEY (token_id, sequence);

ALTER TABLE ONLY public.marketdata_fixlease
    ADD CONSTRAINT marketdata_fixlease_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY public.marketdata_fixsession
    ADD CONSTRAINT marketdata_fixsession_comp_id_key UNIQUE (comp_id);

ALTER TABLE ONLY public.marketdata_fixsession
    ADD CONSTRAINT marketdata_fixsession_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.marketdata_orderbookhead
    ADD CONSTRAINT marketdata_orderbookhead_pkey PRIMARY KEY (token_id);

ALTER TABLE ONLY public.marketdata_trade
    ADD CONSTRAINT marketdata_trade_pkey PRIMARY KEY (token_id, sequence);

ALTER TABLE ONLY public.marketdata_tradingday
    ADD CONSTRAINT marketdata_tradingday_pkey PRIMARY KEY (token_id, first_trade);

ALTER TABLE ONLY public.partnerapi_idempotencyrecord
    ADD CONSTRAINT one_answer_per_partner_and_key UNIQUE (partner_id, key);

ALTER TABLE ONLY public.issuers_unnumberedevent
    ADD CONSTRAINT one_event_per_commit_and_subject UNIQUE NULLS NOT DISTINCT (transaction, type, subject_id, partner_id);

ALTER TABLE ONLY public.issuers_issuerfinancialdata
    ADD CONSTRAINT one_figure_set_per_issuer_and_period UNIQUE (issuer_id, year, period_type);

ALTER TABLE ONLY public.issuers_issuergrant
    ADD CONSTRAINT one_grant_per_partner_and_issuer UNIQUE NULLS NOT DISTINCT (partner_id, issuer_id);

ALTER TABLE ONLY public.otp_totp_totpdevice
    ADD CONSTRAINT otp_totp_totpdevice_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.partnerapi_export
    ADD CONSTRAINT partnerapi_export_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.partnerapi_exportmember
    ADD CONSTRAINT partnerapi_exportmember_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.partnerapi_failedsignin
    ADD CONSTRAINT partnerapi_failedsignin_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.partnerapi_idempotencyrecord
    ADD CONSTRAINT partnerapi_idempotencyrecord_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.partnerapi_jobrun
    ADD CONSTRAINT partnerapi_jobrun_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_applicant
    ADD CONSTRAINT reference_is_unique_per_partner UNIQUE (partner_id, reference);

ALTER TABLE ONLY public.accounts_accountstatuschange
    ADD CONSTRAINT status_changes_are_numbered UNIQUE (account_id, number);

ALTER TABLE ONLY public.trading_bust
    ADD CONSTRAINT trading_bust_cash_transaction_key UNIQUE (cash_transaction);

ALTER TABLE ONLY public.trading_bust
    ADD CONSTRAINT trading_bust_pkey PRIMARY KEY (token_id, sequence);

ALTER TABLE ONLY public.marketdata_tradingday
    ADD CONSTRAINT trading_day_is_kept_once UNIQUE (token_id, day);

ALTER TABLE ONLY public.trading_execution
    ADD CONSTRAINT trading_execution_pkey PRIMARY KEY (token_id, sequence);

ALTER TABLE ONLY public.trading_market
    ADD CONSTRAINT trading_market_pkey PRIMARY KEY (token_id);

ALTER TABLE ONLY public.trading_order
    ADD CONSTRAINT trading_order_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.trading_orderevent
    ADD CONSTRAINT trading_orderevent_pkey PRIMARY KEY (token_id, number);

ALTER TABLE ONLY public.trading_registertold
    ADD CONSTRAINT trading_registertold_pkey PRIMARY KEY (token_id);

ALTER TABLE ONLY public.accounts_withdrawal
    ADD CONSTRAINT withdrawal_reference_is_used_once UNIQUE (cash_account_id, reference);

CREATE INDEX account_list_by_status ON public.accounts_account USING btree (partner_id, status, created_at, id);

CREATE INDEX account_list_order ON public.accounts_account USING btree (partner_id, created_at, id);

CREATE INDEX account_recorded ON public.accounts_account USING btree (partner_id, recorded_at);

CREATE INDEX accounts_account_user_id_d61b40c6 ON public.accounts_account USING btree (user_id);

CREATE INDEX accounts_apikey_partner_id_b47fc650 ON public.accounts_apikey USING btree (partner_id);

CREATE INDEX accounts_apikey_pepper_id_5b58324e ON public.accounts_apikey USING btree (pepper_id);

CREATE INDEX accounts_approvaldecision_decided_by_id_de5ac13c ON public.accounts_approvaldecision USING btree (decided_by_id);

CREATE INDEX accounts_approvalpolicy_kind_eb00094e_like ON public.accounts_approvalpolicy USING btree (kind varchar_pattern_ops);

CREATE INDEX accounts_approvalrequest_filed_by_id_7dd4fd4f ON public.accounts_approvalrequest USING btree (filed_by_id);

CREATE INDEX accounts_bankline_reference_839357ce_like ON public.accounts_bankline USING btree (reference varchar_pattern_ops);

CREATE INDEX accounts_bankline_statement_id_167b0ea2 ON public.accounts_bankline USING btree (statement_id);

CREATE INDEX accounts_cashaccount_deposit_reference_15392ed8_like ON public.accounts_cashaccount USING btree (deposit_reference varchar_pattern_ops);

CREATE INDEX accounts_cashposting_transaction_id_69d0106d ON public.accounts_cashposting USING btree (transaction_id);

CREATE INDEX accounts_cashtransaction_reference_334b89f8_like ON public.accounts_cashtransaction USING btree (reference varchar_pattern_ops);

CREATE INDEX accounts_country_alpha3_11116f35_like ON public.accounts_country USING btree (alpha3 varchar_pattern_ops);

CREATE INDEX accounts_country_code_05b8c271_like ON public.accounts_country USING btree (code varchar_pattern_ops);

CREATE INDEX accounts_holderimport_checksum_sha256_2be07242_like ON public.accounts_holderimport USING btree (checksum_sha256 varchar_pattern_ops);

CREATE INDEX accounts_partner_login_33fc56a7_like ON public.accounts_partner USING btree (login varchar_pattern_ops);

CREATE INDEX accounts_rowchange_at_4553fb8b ON public.accounts_rowchange USING btree (at);

CREATE INDEX accounts_user_country_id_307f9591 ON public.accounts_user USING btree (country_id);

CREATE INDEX accounts_user_country_id_307f9591_like ON public.accounts_user USING btree (country_id varchar_pattern_ops);

CREATE INDEX accounts_user_email_b2644a56_like ON public.accounts_user USING btree (email varchar_pattern_ops);

CREATE INDEX accounts_user_groups_group_id_bd11a704 ON public.accounts_user_groups USING btree (group_id);

CREATE INDEX accounts_user_groups_user_id_52b62117 ON public.accounts_user_groups USING btree (user_id);

CREATE INDEX accounts_user_lei_bff5ab24_like ON public.accounts_user USING btree (lei varchar_pattern_ops);

CREATE INDEX accounts_user_user_permissions_permission_id_113bb443 ON public.accounts_user_user_permissions USING btree (permission_id);

CREATE INDEX accounts_user_user_permissions_user_id_e4f0a161 ON public.accounts_user_user_permissions USING btree (user_id);

CREATE INDEX accounts_userholder_wallet_address_a165db63_like ON public.accounts_userholder USING btree (wallet_address varchar_pattern_ops);

CREATE INDEX accounts_withdrawal_payment_reference_21948e87_like ON public.accounts_withdrawal USING btree (payment_reference varchar_pattern_ops);

CREATE INDEX approved_holders ON public.issuers_approvedholder USING btree (token_id, ledger_account_id, ended_at);

CREATE INDEX article_list_order ON public.issuers_article USING btree (issuer_id, published_at, id) WHERE (published_at IS NOT NULL);

CREATE INDEX attested_of_user ON public.accounts_investorattestation USING btree (user_id, created_at);

CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);

CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);

CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);

CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);

CREATE INDEX axes_accessattempt_ip_address_10922d9c ON public.axes_accessattempt USING btree (ip_address);

CREATE INDEX axes_accessattempt_user_agent_ad89678b ON public.axes_accessattempt USING btree (user_agent);

CREATE INDEX axes_accessattempt_user_agent_ad89678b_like ON public.axes_accessattempt USING btree (user_agent varchar_pattern_ops);

CREATE INDEX axes_accessattempt_username_3f2d4ca0 ON public.axes_accessattempt USING btree (username);

CREATE INDEX axes_accessattempt_username_3f2d4ca0_like ON public.axes_accessattempt USING btree (username varchar_pattern_ops);

CREATE INDEX axes_accessfailurelog_ip_address_2e9f5a7f ON public.axes_accessfailurelog USING btree (ip_address);

CREATE INDEX axes_accessfailurelog_user_agent_ea145dda ON public.axes_accessfailurelog USING btree (user_agent);

CREATE INDEX axes_accessfailurelog_user_agent_ea145dda_like ON public.axes_accessfailurelog USING btree (user_agent varchar_pattern_ops);

CREATE INDEX axes_accessfailurelog_username_a8b7e8a4 ON public.axes_accessfailurelog USING btree (username);

CREATE INDEX axes_accessfailurelog_username_a8b7e8a4_like ON public.axes_accessfailurelog USING btree (username varchar_pattern_ops);

CREATE INDEX axes_accesslog_ip_address_86b417e5 ON public.axes_accesslog USING btree (ip_address);

CREATE INDEX axes_accesslog_user_agent_0e659004 ON public.axes_accesslog USING btree (user_agent);

CREATE INDEX axes_accesslog_user_agent_0e659004_like ON public.axes_accesslog USING btree (user_agent varchar_pattern_ops);

CREATE INDEX axes_accesslog_username_df93064b ON public.axes_accesslog USING btree (username);

CREATE INDEX axes_accesslog_username_df93064b_like ON public.axes_accesslog USING btree (username varchar_pattern_ops);

CREATE INDEX cash_assigned ON public.accounts_cashtransaction USING btree (assigns_id) WHERE (assigns_id IS NOT NULL);

CREATE INDEX cash_deposited ON public.accounts_cashtransaction USING btree (target_id) WHERE ((assigns_id IS NULL) AND ((kind)::text = 'DEPOSIT'::text));

CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);

CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);

CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);

CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);

CREATE INDEX event_by_account ON public.issuers_event USING btree (partner_id, account_id, sequence) WHERE (account_id IS NOT NULL);

CREATE INDEX event_by_type ON public.issuers_event USING btree (partner_id, type, sequence);

CREATE INDEX execution_list_of_buyer ON public.trading_execution USING btree (buyer_account_id, at, sequence, token_id);

CREATE INDEX execution_list_of_seller ON public.trading_execution USING btree (seller_account_id, at, sequence, token_id);

CREATE INDEX execution_of_buy ON public.trading_execution USING btree (buy_order_id, sequence);

CREATE INDEX execution_of_sell ON public.trading_execution USING btree (sell_order_id, sequence);

CREATE INDEX exports_of_partner ON public.partnerapi_export USING btree (partner_id, status);

CREATE INDEX exports_to_write ON public.partnerapi_export USING btree (status, due_at) WHERE (status IN ('WAITING', 'RUNNING'));

CREATE UNIQUE INDEX holder_is_approved_once ON public.issuers_approvedholder USING btree (token_id, ledger_account_id) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX holding_now ON public.issuers_holdingperiod USING btree (token_id, user_id) INCLUDE (since) WHERE (until IS NULL);

CREATE INDEX holding_then ON public.issuers_holdingperiod USING btree (token_id, since_class, until_class, user_id) INCLUDE (since, until);

CREATE INDEX issuer_by_country ON public.issuers_issuer USING btree (country_id, lower((trading_name)::text) COLLATE "C", id);

CREATE INDEX issuer_by_industry ON public.issuers_issuer USING btree ("left"((industry_code)::text, 2), lower((trading_name)::text) COLLATE "C", id);

CREATE INDEX issuer_by_sector ON public.issuers_issuer USING btree ("left"((industry_code)::text, 6), lower((trading_name)::text) COLLATE "C", id);

CREATE INDEX issuer_by_subsector ON public.issuers_issuer USING btree ("left"((industry_code)::text, 8), lower((trading_name)::text) COLLATE "C", id);

CREATE INDEX issuer_by_supersector ON public.issuers_issuer USING btree ("left"((industry_code)::text, 4), lower((trading_name)::text) COLLATE "C", id);

CREATE INDEX issuer_list_order ON public.issuers_issuer USING btree (lower((trading_name)::text) COLLATE "C", id);

CREATE INDEX issuer_updated ON public.issuers_issuer USING btree (updated_at);

CREATE INDEX issuers_article_cover_image_id_41c3c40d ON public.issuers_article USING btree (cover_image_id);

CREATE INDEX issuers_article_slug_5c411a45 ON public.issuers_article USING btree (slug);

CREATE INDEX issuers_article_slug_5c411a45_like ON public.issuers_article USING btree (slug varchar_pattern_ops);

CREATE INDEX issuers_articletocome_published_at_a3920dee ON public.issuers_articletocome USING btree (published_at);

CREATE INDEX issuers_holderbalance_account_id_fd2a214b ON public.issuers_holderbalance USING btree (account_id);

CREATE INDEX issuers_industryclassifi_subsector_code_70251933_like ON public.issuers_industryclassificationbenchmark USING btree (subsector_code varchar_pattern_ops);

CREATE INDEX issuers_issuer_company_logo_id_b9fd8223 ON public.issuers_issuer USING btree (company_logo_id);

CREATE INDEX issuers_issuer_country_id_8fb18b67 ON public.issuers_issuer USING btree (country_id);

CREATE INDEX issuers_issuer_country_id_8fb18b67_like ON public.issuers_issuer USING btree (country_id varchar_pattern_ops);

CREATE INDEX issuers_issuer_industry_classification_benchmark_id_7cb17491 ON public.issuers_issuer USING btree (industry_classification_benchmark_id);

CREATE INDEX issuers_issuer_owner_id_ed30cb63 ON public.issuers_issuer USING btree (owner_id);

CREATE INDEX issuers_issuer_slug_7e8748d9_like ON public.issuers_issuer USING btree (slug varchar_pattern_ops);

CREATE INDEX issuers_issuerfinancialdata_issuer_id_bde70f4a ON public.issuers_issuerfinancialdata USING btree (issuer_id);

CREATE INDEX issuers_issuergrant_issuer_id_5a8798fc ON public.issuers_issuergrant USING btree (issuer_id);

CREATE INDEX issuers_issuergrant_partner_id_98b6a555 ON public.issuers_issuergrant USING btree (partner_id);

CREATE INDEX issuers_issuerterm_issuer_id_f03e78f5 ON public.issuers_issuerterm USING btree (issuer_id);

CREATE INDEX issuers_legacyshareholder_batch_id_baeae8ce ON public.issuers_legacyshareholder USING btree (batch_id);

CREATE INDEX issuers_legacyshareholder_token_id_8e3824a2 ON public.issuers_legacyshareholder USING btree (token_id);

CREATE INDEX issuers_legacyshareholder_user_id_c6f0332e ON public.issuers_legacyshareholder USING btree (user_id);

CREATE INDEX issuers_legacyshareholderchange_batch_id_ef024b8a ON public.issuers_legacyshareholderchange USING btree (batch_id);

CREATE INDEX issuers_legacyshareholderchange_shareholder_id_b8c7b394 ON public.issuers_legacyshareholderchange USING btree (shareholder_id);

CREATE INDEX issuers_token_isin_9d1b9890_like ON public.issuers_token USING btree (isin varchar_pattern_ops);

CREATE INDEX issuers_token_symbol_eedd1a5b_like ON public.issuers_token USING btree (symbol varchar_pattern_ops);

CREATE INDEX job_run_latest ON public.partnerapi_jobrun USING btree (job, started_at DESC);

CREATE INDEX ledger_balance_at ON public.issuers_ledgerposting USING btree (token_id, account_id, seq DESC) INCLUDE (balance_after);

CREATE UNIQUE INDEX ledger_entry_is_reversed_once ON public.issuers_ledgertransaction USING btree (token_id, reverses) WHERE (reverses IS NOT NULL);

CREATE INDEX ledger_recorded ON public.issuers_ledgertransaction USING brin (recorded_at);

CREATE INDEX ledger_recorded_of_token ON public.issuers_ledgertransaction USING btree (token_id, recorded_at);

CREATE INDEX ledger_state_at ON public.issuers_ledgertransaction USING btree (token_id, effective_at DESC, seq DESC) INCLUDE (supply_after, held_after, holders_after);

CREATE INDEX legacy_shareholder_by_status ON public.issuers_legacyshareholder USING btree (issuer_id, status, created_at, id);

CREATE INDEX legacy_shareholder_list_order ON public.issuers_legacyshareholder USING btree (issuer_id, created_at, id);

CREATE INDEX legacy_shareholder_updated ON public.issuers_legacyshareholder USING btree (issuer_id, updated_at);

CREATE UNIQUE INDEX legacy_shares_are_delivered_once ON public.issuers_ledgertransaction USING btree (legacy_shareholder_id) WHERE (legacy_shareholder_id IS NOT NULL);

CREATE INDEX market_phases_to_come ON public.trading_market USING btree (next_phase_at) WHERE (next_phase_at IS NOT NULL);

CREATE INDEX marketdata_fixsession_comp_id_71efbe6c_like ON public.marketdata_fixsession USING btree (comp_id varchar_pattern_ops);

CREATE INDEX marketdata_fixsession_partner_id_3f54f8f1 ON public.marketdata_fixsession USING btree (partner_id);

CREATE UNIQUE INDEX one_cash_account_of_the_platform_per_kind ON public.accounts_cashaccount USING btree (kind) WHERE (NOT ((kind)::text = 'CLIENT'::text));

CREATE UNIQUE INDEX one_open_account_per_partner_and_user ON public.accounts_account USING btree (partner_id, user_id) WHERE (NOT (status IN ('CLOSED', 'REJECTED')));

CREATE INDEX order_by_client_order_id ON public.trading_order USING btree (client_order_id) WHERE (client_order_id IS NOT NULL);

CREATE INDEX order_event_of_order ON public.trading_orderevent USING btree (order_id, number) WHERE (order_id IS NOT NULL);

CREATE INDEX order_event_of_phase ON public.trading_orderevent USING btree (token_id, number) WHERE (order_id IS NULL);

CREATE INDEX order_expiry ON public.trading_order USING btree (expires_at) WHERE ((status)::text = 'OPEN'::text);

CREATE INDEX order_list_by_status ON public.trading_order USING btree (partner_id, status, created_at, id);

CREATE INDEX order_list_of_account ON public.trading_order USING btree (account_id, created_at, id);

CREATE INDEX order_list_of_partner ON public.trading_order USING btree (partner_id, created_at, id);

CREATE INDEX order_list_of_token ON public.trading_order USING btree (partner_id, token_id, created_at, id);

CREATE INDEX order_open_of_account ON public.trading_order USING btree (account_id, token_id) WHERE ((status)::text = 'OPEN'::text);

CREATE INDEX order_open_of_user ON public.trading_order USING btree (user_id) WHERE ((status)::text = 'OPEN'::text);

CREATE INDEX order_queues ON public.trading_order USING btree (token_id, side, limit_price, priority) WHERE ((status)::text = 'OPEN'::text);

CREATE INDEX otp_totp_totpdevice_user_id_0fb18292 ON public.otp_totp_totpdevice USING btree (user_id);

CREATE INDEX outcome_entry ON public.accounts_approvaloutcome USING btree (token_id, number);

CREATE INDEX partnerapi_failedsignin_at_e3a63685 ON public.partnerapi_failedsignin USING btree (at);

CREATE INDEX partnerapi_idempotencyrecord_expires_at_81a59f34 ON public.partnerapi_idempotencyrecord USING btree (expires_at);

CREATE INDEX request_expires ON public.accounts_approvalrequest USING btree (expires_at);

CREATE INDEX restrictions_in_force ON public.issuers_restriction USING btree (ended_at);

CREATE INDEX restrictions_of_account ON public.issuers_restriction USING btree (ledger_account_id, ended_at);

CREATE INDEX row_change_of_row ON public.accounts_rowchange USING btree (row_id, id);

CREATE INDEX token_list_order ON public.issuers_token USING btree (issuer_id, created_at, id);

CREATE INDEX token_price_at ON public.issuers_tokenprice USING btree (token_id, effective_at DESC, number DESC) INCLUDE (price_cents);

CREATE INDEX token_price_recorded ON public.issuers_tokenprice USING brin (recorded_at);

CREATE INDEX token_price_recorded_by_hand ON public.issuers_tokenprice USING btree (token_id, recorded_at) WHERE (NOT ((source)::text = 'TRADE'::text));

CREATE UNIQUE INDEX token_rule_in_force_is_one ON public.issuers_tokenrule USING btree (token_id, kind) WHERE (ended_at IS NULL);

CREATE INDEX token_rules ON public.issuers_tokenrule USING btree (token_id, ended_at);

CREATE INDEX user_company_name_prefix ON public.accounts_user USING btree (upper((company_name)::text) text_pattern_ops);

CREATE INDEX user_first_name_prefix ON public.accounts_user USING btree (upper((first_name)::text) text_pattern_ops);

CREATE INDEX user_holder_name_at ON public.accounts_userholdername USING btree (holder_id, replaced_at, id);

CREATE INDEX user_last_name_prefix ON public.accounts_user USING btree (upper((last_name)::text) text_pattern_ops);

CREATE INDEX withdrawal_list_order ON public.accounts_withdrawal USING btree (cash_account_id, created_at, id);

CREATE INDEX withdrawal_open ON public.accounts_withdrawal USING btree (status, created_at) WHERE (status IN ('REQUESTED', 'APPROVED'));

CREATE TRIGGER account_is_held_first BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.register_hold_investor();

CREATE TRIGGER accounts_accept_applicant AFTER INSERT ON public.accounts_accountstatuschange FOR EACH ROW WHEN ((((new.previous_status)::text = 'PENDING'::text) AND ((new.status)::text = 'ACTIVE'::text))) EXECUTE FUNCTION public.accounts_accept_applicant();

CREATE TRIGGER accounts_attest BEFORE INSERT ON public.accounts_investorattestation FOR EACH ROW EXECUTE FUNCTION public.accounts_attest();

CREATE CONSTRAINT TRIGGER accounts_begin_history AFTER INSERT ON public.accounts_account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.accounts_begin_history();

CREATE TRIGGER accounts_delete_no_key BEFORE DELETE ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_keys();

CREATE TRIGGER accounts_describe BEFORE INSERT ON public.accounts_applicant FOR EACH ROW EXECUTE FUNCTION public.accounts_describe();

CREATE TRIGGER accounts_follow_history AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_follow_history();

CREATE TRIGGER accounts_follow_investor BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.accounts_follow_investor();

CREATE TRIGGER accounts_keep_keys BEFORE UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (((new.partner_id <> old.partner_id) OR (NOT (new.scopes <@ old.scopes)) OR ((new.secret_digest <> old.secret_digest) AND (NOT (new.pepper_id IS DISTINCT FROM old.pepper_id))) OR ((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at)) OR ((old.expires_at IS NOT NULL) AND (COALESCE(new.expires_at, 'infinity'::timestamp with time zone) > old.expires_at)))) EXECUTE FUNCTION public.accounts_keep_keys();

CREATE CONSTRAINT TRIGGER accounts_keep_names AFTER UPDATE OF name ON public.accounts_userholder DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.name)::text <> (old.name)::text)) EXECUTE FUNCTION public.accounts_keep_names();

CREATE TRIGGER accounts_keep_superusers BEFORE UPDATE ON public.accounts_user FOR EACH ROW WHEN ((new.is_superuser AND (NOT old.is_superuser))) EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE TRIGGER accounts_make_superuser BEFORE INSERT ON public.accounts_user FOR EACH ROW WHEN (new.is_superuser) EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE TRIGGER accounts_open_account BEFORE INSERT ON public.accounts_account FOR EACH ROW EXECUTE FUNCTION public.accounts_open_account();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_accountstatuschange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_applicant FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_approvaldecision FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_approvaloutcome FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_approvalrequest FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_bankline FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_bankstatement FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_cashaccount FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_cashposting FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_cashtransaction FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_investorattestation FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_investorchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_rowchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_userholdername FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE ON public.accounts_cashhead FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE ON public.accounts_withdrawal FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER accounts_time_change BEFORE INSERT ON public.accounts_accountstatuschange FOR EACH ROW EXECUTE FUNCTION public.accounts_time_change();

CREATE TRIGGER approvals_decide BEFORE INSERT ON public.accounts_approvaldecision FOR EACH ROW EXECUTE FUNCTION public.approvals_decide();

CREATE TRIGGER approvals_file BEFORE INSERT ON public.accounts_approvalrequest FOR EACH ROW EXECUTE FUNCTION public.approvals_file();

CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.assigns_id IS NOT NULL) OR (new.reverses_id IS NOT NULL))) EXECUTE FUNCTION public.approvals_of_cash();

CREATE CONSTRAINT TRIGGER approvals_of_closing AFTER INSERT ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.is_staff AND ((new.status)::text = 'CLOSED'::text))) EXECUTE FUNCTION public.approvals_of_closing();

CREATE TRIGGER approvals_of_delivered_line AFTER INSERT ON public.issuers_ledgertransaction FOR EACH ROW WHEN ((((new.kind)::text = 'LEGACY_DELIVERY'::text) AND (new.effective_at > (transaction_timestamp() - '1 day'::interval)))) EXECUTE FUNCTION public.approvals_of_delivered_line();

CREATE TRIGGER approvals_of_delivery BEFORE UPDATE ON public.issuers_deliveryjob FOR EACH ROW WHEN ((new.released_at, new.source, new.created_by) IS DISTINCT FROM (old.released_at, old.source, old.created_by)) EXECUTE FUNCTION public.approvals_of_delivery();

CREATE CONSTRAINT TRIGGER approvals_of_entry AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.kind IN ('MINT', 'BURN', 'FORCED_TRANSFER', 'REVERSAL')) AND (new.effective_at > (transaction_timestamp() - '1 day'::interval)))) EXECUTE FUNCTION public.approvals_of_entry();

CREATE CONSTRAINT TRIGGER approvals_of_key AFTER INSERT ON public.accounts_apikey DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_key();

CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_lifting();

CREATE TRIGGER approvals_of_new_delivery BEFORE INSERT ON public.issuers_deliveryjob FOR EACH ROW WHEN ((new.released_at IS NOT NULL)) EXECUTE FUNCTION public.approvals_of_delivery();

CREATE CONSTRAINT TRIGGER approvals_of_price AFTER INSERT ON public.issuers_tokenprice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((new.source)::text <> 'TRADE'::text) AND (new.effective_at > (transaction_timestamp() - '1 day'::interval)))) EXECUTE FUNCTION public.approvals_of_price();

CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_rule();

CREATE TRIGGER approvals_of_trade_price AFTER INSERT ON public.issuers_tokenprice FOR EACH ROW WHEN ((((new.source)::text = 'TRADE'::text) AND (new.effective_at > (transaction_timestamp() - '1 day'::interval)))) EXECUTE FUNCTION public.approvals_of_trade_price();

CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.cash_book_line();

CREATE TRIGGER cash_follow_transactions AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.cash_follow_transactions();

CREATE TRIGGER cash_move_withdrawal BEFORE UPDATE ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.cash_move_withdrawal();

CREATE TRIGGER cash_name_account BEFORE INSERT ON public.accounts_cashaccount FOR EACH ROW EXECUTE FUNCTION public.cash_name_account();

CREATE TRIGGER cash_of_closed_account AFTER INSERT ON public.accounts_accountstatuschange FOR EACH ROW WHEN (((new.status)::text = 'CLOSED'::text)) EXECUTE FUNCTION public.cash_of_closed_account();

CREATE TRIGGER cash_open_account AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS opened FOR EACH STATEMENT EXECUTE FUNCTION public.cash_open_account();

CREATE TRIGGER cash_open_head AFTER INSERT ON public.accounts_cashaccount REFERENCING NEW TABLE AS opened FOR EACH STATEMENT EXECUTE FUNCTION public.cash_open_head();

CREATE TRIGGER cash_request_withdrawal BEFORE INSERT ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.cash_request_withdrawal();

CREATE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE TRIGGER cash_reserve_requested AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE TRIGGER delivery_stays BEFORE UPDATE ON public.issuers_deliverystep FOR EACH ROW WHEN ((new.job_id, new."position", new.shareholder_ids, new.units, new.token_ids, new.user_ids) IS DISTINCT FROM (old.job_id, old."position", old.shareholder_ids, old.units, old.token_ids, old.user_ids)) EXECUTE FUNCTION public.delivery_stays();

CREATE TRIGGER delivery_takes_steps BEFORE INSERT ON public.issuers_deliverystep FOR EACH ROW EXECUTE FUNCTION public.delivery_stays();

CREATE TRIGGER events_account_changed AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_account_changed();

CREATE CONSTRAINT TRIGGER events_announce AFTER INSERT ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.leads) EXECUTE FUNCTION public.events_announce();

CREATE TRIGGER events_article_changed AFTER INSERT OR DELETE OR UPDATE ON public.issuers_article FOR EACH ROW EXECUTE FUNCTION public.events_article_changed();

CREATE TRIGGER events_cash_changed AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_cash_changed();

CREATE TRIGGER events_figures_changed AFTER INSERT OR DELETE OR UPDATE ON public.issuers_issuerfinancialdata FOR EACH ROW EXECUTE FUNCTION public.events_figures_changed();

CREATE TRIGGER events_grant_changed AFTER INSERT OR DELETE OR UPDATE ON public.issuers_issuergrant FOR EACH ROW EXECUTE FUNCTION public.events_grant_changed();

CREATE TRIGGER events_investor_changed AFTER INSERT ON public.accounts_investorchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_investor_changed();

CREATE TRIGGER events_key_changed AFTER INSERT OR DELETE ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.events_key_changed();

CREATE TRIGGER events_key_rights_changed AFTER UPDATE OF scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW WHEN ((old.scopes, old.expires_at, old.revoked_at) IS DISTINCT FROM (new.scopes, new.expires_at, new.revoked_at)) EXECUTE FUNCTION public.events_key_changed();

CREATE TRIGGER events_legacy_delivered AFTER UPDATE ON public.issuers_legacyshareholder REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_legacy_delivered();

CREATE CONSTRAINT TRIGGER events_number AFTER UPDATE OF leads ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.events_number();

CREATE TRIGGER events_open_head AFTER INSERT ON public.accounts_partner FOR EACH ROW EXECUTE FUNCTION public.events_open_head();

CREATE TRIGGER events_price_changed AFTER INSERT ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_price_changed();

CREATE TRIGGER events_register_changed AFTER INSERT ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_register_changed();

CREATE TRIGGER events_withdrawal_changed AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_withdrawal_changed();

CREATE TRIGGER events_withdrawal_changed_again AFTER UPDATE ON public.accounts_withdrawal REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_withdrawal_changed();

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE OF partner_id, scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.history_record('last_used_at pepper_id', 'secret_digest');

CREATE TRIGGER history_record AFTER INSERT ON public.accounts_bankstatement FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.accounts_partner FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER DELETE OR UPDATE ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.history_record('last_login updated_at settled_at', 'password');

CREATE TRIGGER history_record AFTER DELETE OR UPDATE ON public.accounts_userholder FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT OR UPDATE ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_approvedholder FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_article FOR EACH ROW EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_document FOR EACH ROW EXECUTE FUNCTION public.history_record('content', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_issuerfinancialdata FOR EACH ROW EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_issuergrant FOR EACH ROW EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE TRIGGER history_record AFTER DELETE OR UPDATE OF issuer_id, user_id, token_id, number_of_shares, price_cents, reference, replaces_id ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.history_record('updated_at', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_restriction FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE ON public.issuers_tokenrule FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE OF comp_id, partner_id, enabled ON public.marketdata_fixsession FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE TRIGGER keep_industry BEFORE INSERT OR UPDATE OF industry_classification_benchmark_id, industry_code ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.keep_issuer_industry();

CREATE TRIGGER marketdata_bookchange_keep AFTER DELETE ON public.marketdata_bookchange REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_bookchange_keep();

CREATE TRIGGER marketdata_follow_changes AFTER INSERT ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_follow_changes();

CREATE TRIGGER marketdata_follow_days AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_follow_days();

CREATE TRIGGER marketdata_follow_trades AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_follow_trades();

CREATE TRIGGER marketdata_keep_head BEFORE UPDATE ON public.marketdata_orderbookhead FOR EACH ROW WHEN (((new.last_sequence < old.last_sequence) OR (new.last_trade < old.last_trade) OR (new.last_snapshot < old.last_snapshot) OR (new.last_at < old.last_at) OR (new.token_id <> old.token_id))) EXECUTE FUNCTION public.marketdata_keep_head();

CREATE TRIGGER marketdata_keep_trades BEFORE DELETE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER marketdata_open_book AFTER INSERT OR UPDATE OF market_type ON public.issuers_token FOR EACH ROW WHEN (((new.market_type)::text = 'SECONDARY_MARKET'::text)) EXECUTE FUNCTION public.marketdata_open_book();

CREATE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_bookchange FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_orderbookhead FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_tradingday FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER partnerapi_follow_members BEFORE INSERT ON public.partnerapi_exportmember FOR EACH ROW EXECUTE FUNCTION public.partnerapi_follow_members();

CREATE TRIGGER partnerapi_keep_answers BEFORE UPDATE ON public.partnerapi_idempotencyrecord FOR EACH ROW EXECUTE FUNCTION public.partnerapi_keep_answers();

CREATE TRIGGER partnerapi_keep_exports BEFORE UPDATE ON public.partnerapi_export FOR EACH ROW EXECUTE FUNCTION public.partnerapi_keep_exports();

CREATE TRIGGER register_delete_no_grant BEFORE DELETE ON public.issuers_issuergrant FOR EACH ROW EXECUTE FUNCTION public.register_keep_grants();

CREATE TRIGGER register_follow_holdings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_follow_holdings();

CREATE TRIGGER register_follow_prices AFTER INSERT ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_follow_prices();

CREATE TRIGGER register_follow_transactions AFTER INSERT ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_follow_transactions();

CREATE TRIGGER register_judge_postings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_judge_postings();

CREATE TRIGGER register_keep_account BEFORE INSERT ON public.issuers_ledgeraccount FOR EACH ROW WHEN (((new.kind)::text = 'HOLDER'::text)) EXECUTE FUNCTION public.register_keep_account();

CREATE TRIGGER register_keep_approvedholder BEFORE INSERT OR UPDATE ON public.issuers_approvedholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_approvedholder();

CREATE CONSTRAINT TRIGGER register_keep_changes AFTER DELETE ON public.issuers_legacyshareholderchange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.register_keep_changes();

CREATE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_delivered();

CREATE TRIGGER register_keep_grants BEFORE UPDATE ON public.issuers_issuergrant FOR EACH ROW WHEN (((new.id <> old.id) OR (new.partner_id <> old.partner_id) OR (new.issuer_id IS DISTINCT FROM old.issuer_id))) EXECUTE FUNCTION public.register_keep_grants();

CREATE TRIGGER register_keep_head BEFORE UPDATE ON public.issuers_tokenledgerhead FOR EACH ROW WHEN (((old.is_open AND (NOT new.is_open)) OR (new.last_seq < old.last_seq) OR (new.last_price < old.last_price) OR (new.token_id <> old.token_id))) EXECUTE FUNCTION public.register_keep_head();

CREATE TRIGGER register_keep_holder BEFORE UPDATE ON public.accounts_userholder FOR EACH ROW WHEN (((new.user_id <> old.user_id) OR (new.id <> old.id))) EXECUTE FUNCTION public.register_keep_holder();

CREATE TRIGGER register_keep_holder_listed BEFORE DELETE ON public.accounts_userholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_holder();

CREATE TRIGGER register_keep_issuer BEFORE INSERT OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.register_keep_issuer();

CREATE TRIGGER register_keep_issuer_listed BEFORE DELETE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.register_keep_issuer();

CREATE CONSTRAINT TRIGGER register_keep_open AFTER UPDATE ON public.issuers_tokenledgerhead DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((NOT new.is_open)) EXECUTE FUNCTION public.register_keep_open();

CREATE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE ON public.issuers_restriction FOR EACH ROW EXECUTE FUNCTION public.register_keep_restriction();

CREATE TRIGGER register_keep_token BEFORE UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_keep_token();

CREATE TRIGGER register_keep_token_listed BEFORE DELETE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_keep_token();

CREATE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE ON public.issuers_tokenrule FOR EACH ROW EXECUTE FUNCTION public.register_keep_tokenrule();

CREATE TRIGGER register_keep_user BEFORE UPDATE ON public.accounts_user FOR EACH ROW WHEN ((new.id <> old.id)) EXECUTE FUNCTION public.register_keep_user();

CREATE TRIGGER register_keep_user_listed BEFORE DELETE ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.register_keep_user();

CREATE TRIGGER register_open_ledger AFTER INSERT ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_open_ledger();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_approvedholder FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgeraccount FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgerposting FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgertransaction FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_restriction FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenledgerhead FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_tokenprice FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenrule FOR EACH STATEMENT EXECUTE FUNCTION public.register_refuse_change();

CREATE TRIGGER register_time_token BEFORE INSERT ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_time_token();

CREATE CONSTRAINT TRIGGER search_issuer_changed AFTER UPDATE OF trading_name, owner_id ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((old.trading_name)::text IS DISTINCT FROM (new.trading_name)::text) OR (old.owner_id IS DISTINCT FROM new.owner_id))) EXECUTE FUNCTION public.search_issuer_changed();

CREATE TRIGGER search_issuer_deleted AFTER DELETE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.search_issuer_deleted();

CREATE CONSTRAINT TRIGGER search_issuer_made AFTER INSERT ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.search_issuer_changed();

CREATE CONSTRAINT TRIGGER search_owner_changed AFTER UPDATE OF company_name, lei ON public.accounts_user DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((old.company_name)::text IS DISTINCT FROM (new.company_name)::text) OR ((old.lei)::text IS DISTINCT FROM (new.lei)::text))) EXECUTE FUNCTION public.search_owner_changed();

CREATE CONSTRAINT TRIGGER search_token_changed AFTER UPDATE OF symbol, isin, visibility, issuer_id ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.symbol, old.isin, old.visibility, old.issuer_id) IS DISTINCT FROM (new.symbol, new.isin, new.visibility, new.issuer_id)) EXECUTE FUNCTION public.search_token_changed();

CREATE CONSTRAINT TRIGGER search_token_made AFTER INSERT OR DELETE ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.search_token_changed();

CREATE TRIGGER staff_log_has_its_time BEFORE INSERT ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.staff_log_has_its_time();

CREATE TRIGGER staff_log_is_appended_to BEFORE UPDATE OR TRUNCATE ON public.django_admin_log FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE TRIGGER staff_log_stays BEFORE DELETE ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.staff_log_stays();

CREATE TRIGGER trading_book_is_orders AFTER INSERT ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.trading_book_is_orders();

CREATE TRIGGER trading_count_day_anew AFTER INSERT ON public.trading_bust FOR EACH ROW EXECUTE FUNCTION public.trading_count_day_anew();

CREATE TRIGGER trading_follow_changed AFTER UPDATE ON public.trading_order REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.trading_follow_changed();

CREATE TRIGGER trading_follow_events AFTER INSERT ON public.trading_orderevent REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.trading_follow_events();

CREATE TRIGGER trading_follow_executions AFTER INSERT ON public.trading_execution REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.trading_follow_executions();

CREATE TRIGGER trading_follow_placed AFTER INSERT ON public.trading_order REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION public.trading_follow_placed();

CREATE CONSTRAINT TRIGGER trading_left_active AFTER INSERT ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.status)::text <> 'ACTIVE'::text)) EXECUTE FUNCTION public.trading_left_active();

CREATE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_bust FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_execution FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_orderevent FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_market FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_order FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE CONSTRAINT TRIGGER trading_settles_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((new.kind)::text = 'TRADE'::text) OR ((new.kind)::text = 'REVERSAL'::text))) EXECUTE FUNCTION public.trading_settles_cash();

CREATE CONSTRAINT TRIGGER trading_settles_units AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((new.kind)::text = 'TRADE'::text) OR ((new.kind)::text = 'REVERSAL'::text))) EXECUTE FUNCTION public.trading_settles_units();

CREATE TRIGGER trading_tape_is_executions AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.trading_tape_is_executions();

CREATE TRIGGER trading_tell_orders AFTER INSERT ON public.trading_orderevent REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.trading_tell_orders();

CREATE CONSTRAINT TRIGGER trading_told_bust AFTER INSERT ON public.trading_bust DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.trading_told_bust();

CREATE CONSTRAINT TRIGGER trading_told_execution AFTER INSERT ON public.trading_execution DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.trading_told_execution();

CREATE CONSTRAINT TRIGGER trading_told_order AFTER INSERT OR UPDATE ON public.trading_order DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.trading_told_order();

CREATE TRIGGER update_industry AFTER UPDATE OF subsector_code ON public.issuers_industryclassificationbenchmark FOR EACH ROW WHEN (((old.subsector_code)::text IS DISTINCT FROM (new.subsector_code)::text)) EXECUTE FUNCTION public.update_industry_of_issuers();

CREATE TRIGGER update_owned_time AFTER UPDATE OF type, company_name, lei, legal_form, address, postal_code, city, country_id ON public.accounts_user FOR EACH ROW WHEN ((old.type, old.company_name, old.lei, old.legal_form, old.address, old.postal_code, old.city, old.country_id) IS DISTINCT FROM (new.type, new.company_name, new.lei, new.legal_form, new.address, new.postal_code, new.city, new.country_id)) EXECUTE FUNCTION public.update_owned_time();

CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.accounts_account FOR EACH ROW EXECUTE FUNCTION public.accounts_record_time();

CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.update_issuer_time();

CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.update_legacy_time();

CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.update_token_time();

ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_partner_id_88c98518_fk_accounts_partner_id FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_user_id_d61b40c6_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_accountstatuschange
    ADD CONSTRAINT accounts_accountstat_account_id_aa0cba76_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_apikey
    ADD CONSTRAINT accounts_apikey_partner_id_b47fc650_fk_accounts_partner_id FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_apikey
    ADD CONSTRAINT accounts_apikey_pepper_id_5b58324e_fk_accounts_pepper_id FOREIGN KEY (pepper_id) REFERENCES public.accounts_pepper(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_applicant
    ADD CONSTRAINT accounts_applicant_account_id_7d134894_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_applicant
    ADD CONSTRAINT accounts_applicant_partner_id_d78c1942_fk_accounts_partner_id FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_applicant
    ADD CONSTRAINT accounts_applicant_user_id_e23c4b7d_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_approvaldecision
    ADD CONSTRAINT accounts_approvaldec_decided_by_id_de5ac13c_fk_accounts_ FOREIGN KEY (decided_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_approvaldecision
    ADD CONSTRAINT accounts_approvaldec_request_id_ff633d57_fk_accounts_ FOREIGN KEY (request_id) REFERENCES public.accounts_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_approvaloutcome
    ADD CONSTRAINT accounts_approvalout_request_id_4bbee937_fk_accounts_ FOREIGN KEY (request_id) REFERENCES public.accounts_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_approvalrequest
    ADD CONSTRAINT accounts_approvalreq_filed_by_id_7dd4fd4f_fk_accounts_ FOREIGN KEY (filed_by_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_bankline
    ADD CONSTRAINT accounts_bankline_statement_id_167b0ea2_fk_accounts_ FOREIGN KEY (statement_id) REFERENCES public.accounts_bankstatement(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashaccount
    ADD CONSTRAINT accounts_cashaccount_account_id_0fad360a_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashhead
    ADD CONSTRAINT accounts_cashhead_cash_account_id_e9e45ddb_fk_accounts_ FOREIGN KEY (cash_account_id) REFERENCES public.accounts_cashaccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransac_assigns_id_0dd36727_fk_accounts_ FOREIGN KEY (assigns_id) REFERENCES public.accounts_cashtransaction(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransac_reference_334b89f8_fk_accounts_ FOREIGN KEY (reference) REFERENCES public.accounts_bankline(reference) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransac_reverses_id_611f9daa_fk_accounts_ FOREIGN KEY (reverses_id) REFERENCES public.accounts_cashtransaction(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransac_source_id_0544a041_fk_accounts_ FOREIGN KEY (source_id) REFERENCES public.accounts_cashaccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransac_target_id_f517982f_fk_accounts_ FOREIGN KEY (target_id) REFERENCES public.accounts_cashaccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_cashtransaction
    ADD CONSTRAINT accounts_cashtransac_withdrawal_id_3f3e8e63_fk_accounts_ FOREIGN KEY (withdrawal_id) REFERENCES public.accounts_withdrawal(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorattestation
    ADD CONSTRAINT accounts_investoratt_account_id_0aa3afa5_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorattestation
    ADD CONSTRAINT accounts_investoratt_partner_id_72e7f778_fk_accounts_ FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorattestation
    ADD CONSTRAINT accounts_investoratt_tax_country_id_52559acd_fk_accounts_ FOREIGN KEY (tax_country_id) REFERENCES public.accounts_country(code) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorattestation
    ADD CONSTRAINT accounts_investoratt_user_id_5dd12b7e_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT accounts_investorcha_attestation_id_cbdadd5d_fk_accounts_ FOREIGN KEY (attestation_id) REFERENCES public.accounts_investorattestation(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT accounts_investorcha_partner_id_7e7f0178_fk_accounts_ FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT accounts_investorcha_tax_country_id_93e14008_fk_accounts_ FOREIGN KEY (tax_country_id) REFERENCES public.accounts_country(code) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorchange
    ADD CONSTRAINT accounts_investorchange_user_id_9d05cf03_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorprofile
    ADD CONSTRAINT accounts_investorpro_partner_id_f41dedb7_fk_accounts_ FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorprofile
    ADD CONSTRAINT accounts_investorpro_tax_country_id_da5ce598_fk_accounts_ FOREIGN KEY (tax_country_id) REFERENCES public.accounts_country(code) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_investorprofile
    ADD CONSTRAINT accounts_investorprofile_user_id_f2120d1a_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_country_id_307f9591_fk_accounts_country_code FOREIGN KEY (country_id) REFERENCES public.accounts_country(code) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_group_id_bd11a704_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_52b62117_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_permission_id_113bb443_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_user_id_e4f0a161_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_userholder
    ADD CONSTRAINT accounts_userholder_user_id_e447abf2_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_userholdername
    ADD CONSTRAINT accounts_userholdern_holder_id_302652e3_fk_accounts_ FOREIGN KEY (holder_id) REFERENCES public.accounts_userholder(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_withdrawal
    ADD CONSTRAINT accounts_withdrawal_cash_account_id_4974fc22_fk_accounts_ FOREIGN KEY (cash_account_id) REFERENCES public.accounts_cashaccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_withdrawal
    ADD CONSTRAINT accounts_withdrawal_request_id_1a811ccb_fk_accounts_ FOREIGN KEY (request_id) REFERENCES public.accounts_approvalrequest(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptex_access_attempt_id_6b73a47a_fk_axes_acce FOREIGN KEY (access_attempt_id) REFERENCES public.axes_accessattempt(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_approvedholder
    ADD CONSTRAINT issuers_approvedhold_ledger_account_id_5e030219_fk_issuers_l FOREIGN KEY (ledger_account_id) REFERENCES public.issuers_ledgeraccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_approvedholder
    ADD CONSTRAINT issuers_approvedholder_token_id_e7884704_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_article
    ADD CONSTRAINT issuers_article_cover_image_id_41c3c40d_fk_issuers_document_id FOREIGN KEY (cover_image_id) REFERENCES public.issuers_document(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_article
    ADD CONSTRAINT issuers_article_issuer_id_582a4cff_fk_issuers_issuer_id FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_deliverystep
    ADD CONSTRAINT issuers_deliverystep_job_id_a67dd715_fk_issuers_deliveryjob_id FOREIGN KEY (job_id) REFERENCES public.issuers_deliveryjob(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuer
    ADD CONSTRAINT issuers_issuer_company_logo_id_b9fd8223_fk_issuers_document_id FOREIGN KEY (company_logo_id) REFERENCES public.issuers_document(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuer
    ADD CONSTRAINT issuers_issuer_country_id_8fb18b67_fk_accounts_country_code FOREIGN KEY (country_id) REFERENCES public.accounts_country(code) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuer
    ADD CONSTRAINT issuers_issuer_industry_classificat_7cb17491_fk_issuers_i FOREIGN KEY (industry_classification_benchmark_id) REFERENCES public.issuers_industryclassificationbenchmark(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuer
    ADD CONSTRAINT issuers_issuer_owner_id_ed30cb63_fk_accounts_user_id FOREIGN KEY (owner_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuerfinancialdata
    ADD CONSTRAINT issuers_issuerfinanc_issuer_id_bde70f4a_fk_issuers_i FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuergrant
    ADD CONSTRAINT issuers_issuergrant_issuer_id_5a8798fc_fk_issuers_issuer_id FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_issuergrant
    ADD CONSTRAINT issuers_issuergrant_partner_id_98b6a555_fk_accounts_partner_id FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccoun_holder_id_947def6c_fk_accounts_ FOREIGN KEY (holder_id) REFERENCES public.accounts_userholder(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccount_issuer_id_629a6357_fk_issuers_issuer_id FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgeraccount
    ADD CONSTRAINT issuers_ledgeraccount_user_id_8e9d2978_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgertransaction
    ADD CONSTRAINT issuers_ledgertransa_legacy_shareholder_i_fd6d25c3_fk_issuers_l FOREIGN KEY (legacy_shareholder_id) REFERENCES public.issuers_legacyshareholder(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgertransaction
    ADD CONSTRAINT issuers_ledgertransa_source_id_69d4e0f0_fk_issuers_l FOREIGN KEY (source_id) REFERENCES public.issuers_ledgeraccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgertransaction
    ADD CONSTRAINT issuers_ledgertransa_target_id_587fc9fb_fk_issuers_l FOREIGN KEY (target_id) REFERENCES public.issuers_ledgeraccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_ledgertransaction
    ADD CONSTRAINT issuers_ledgertransaction_token_id_3287672c_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyimport
    ADD CONSTRAINT issuers_legacyimport_issuer_id_77fb88a3_fk_issuers_issuer_id FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareh_batch_id_baeae8ce_fk_issuers_l FOREIGN KEY (batch_id) REFERENCES public.issuers_legacyimport(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholderchange
    ADD CONSTRAINT issuers_legacyshareh_batch_id_ef024b8a_fk_issuers_l FOREIGN KEY (batch_id) REFERENCES public.issuers_legacyimport(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareh_issuer_id_799a5ec9_fk_issuers_i FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareh_replaces_id_54651a4f_fk_issuers_l FOREIGN KEY (replaces_id) REFERENCES public.issuers_legacyshareholder(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholderchange
    ADD CONSTRAINT issuers_legacyshareh_shareholder_id_b8c7b394_fk_issuers_l FOREIGN KEY (shareholder_id) REFERENCES public.issuers_legacyshareholder(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareholder_token_id_8e3824a2_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_legacyshareholder
    ADD CONSTRAINT issuers_legacyshareholder_user_id_c6f0332e_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_restriction
    ADD CONSTRAINT issuers_restriction_ledger_account_id_faadcce8_fk_issuers_l FOREIGN KEY (ledger_account_id) REFERENCES public.issuers_ledgeraccount(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_restriction
    ADD CONSTRAINT issuers_restriction_token_id_58b3aee3_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_token
    ADD CONSTRAINT issuers_token_issuer_id_787d140a_fk_issuers_issuer_id FOREIGN KEY (issuer_id) REFERENCES public.issuers_issuer(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_tokenledgerhead
    ADD CONSTRAINT issuers_tokenledgerhead_token_id_2e8989ea_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_tokenprice
    ADD CONSTRAINT issuers_tokenprice_token_id_cee733db_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_tokenrule
    ADD CONSTRAINT issuers_tokenrule_replaces_id_63695a16_fk_issuers_tokenrule_id FOREIGN KEY (replaces_id) REFERENCES public.issuers_tokenrule(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.issuers_tokenrule
    ADD CONSTRAINT issuers_tokenrule_token_id_ab51bce6_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_bookchange
    ADD CONSTRAINT marketdata_bookchange_token_id_8c571a1c_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_booklevel
    ADD CONSTRAINT marketdata_booklevel_token_id_b00b17f8_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_booksnapshot
    ADD CONSTRAINT marketdata_booksnapshot_token_id_5b3b29cd_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_fixlease
    ADD CONSTRAINT marketdata_fixlease_session_id_92249496_fk_marketdat FOREIGN KEY (session_id) REFERENCES public.marketdata_fixsession(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_fixsession
    ADD CONSTRAINT marketdata_fixsessio_partner_id_3f54f8f1_fk_accounts_ FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_orderbookhead
    ADD CONSTRAINT marketdata_orderbookhead_token_id_cd0b5f3a_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_trade
    ADD CONSTRAINT marketdata_trade_token_id_e43fdce0_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.marketdata_tradingday
    ADD CONSTRAINT marketdata_tradingday_token_id_0a66d5c6_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.otp_totp_totpdevice
    ADD CONSTRAINT otp_totp_totpdevice_user_id_0fb18292_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.partnerapi_export
    ADD CONSTRAINT partnerapi_export_partner_id_76568ab5_fk_accounts_partner_id FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.partnerapi_exportmember
    ADD CONSTRAINT partnerapi_exportmem_export_id_5a2026d9_fk_partnerap FOREIGN KEY (export_id) REFERENCES public.partnerapi_export(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.partnerapi_idempotencyrecord
    ADD CONSTRAINT partnerapi_idempoten_partner_id_77ed886e_fk_accounts_ FOREIGN KEY (partner_id) REFERENCES public.accounts_partner(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.trading_market
    ADD CONSTRAINT trading_market_token_id_ccfb763a_fk_issuers_token_id FOREIGN KEY (token_id) REFERENCES public.issuers_token(id) DEFERRABLE INITIALLY DEFERRED;

REVOKE ALL ON FUNCTION public.accounts_accept_applicant() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_attest() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_begin_history() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_describe() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_follow_history() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_follow_investor() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_hold_cash(cash_accounts bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_join(account uuid, known uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_keep_names() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_lock(account uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_open_account() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_own_writers() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_record_time() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_reserve_cash(cash_accounts bigint[], deltas bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_share(accounts uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.accounts_time_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_decide() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_file() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_may(person uuid, wanted text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_cash() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_closing() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_delivered_line() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_delivery() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_entry() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_key() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_lifting() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_price() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_rule() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_of_trade_price() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_overtake(request uuid, why text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.approvals_use(wanted text, said jsonb, amount numeric, entry_token uuid, entry_number bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_book_line() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_follow_transactions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_move_withdrawal() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_name_account() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_names(said text, reference text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_of_closed_account() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_open_account() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_open_head() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_reference(sort text, number numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_request_withdrawal() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.cash_reserve_withdrawals() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.delivery_stays() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_announce() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_announce_articles() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_article_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_open_head() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_prune(days integer, most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.history_record() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.issuers_reserve_units(of_token uuid, accounts bigint[], deltas bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.keep_issuer_industry() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_bookchange_keep() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_follow_changes() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_follow_days() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_follow_trades() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_keep_head() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_lock_book(token uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_open_book() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_prune(token uuid, snapshots_before bigint, first_change bigint, last_change bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_record(token uuid, known bigint, sides smallint[], prices bigint[], quantities bigint[], ends boolean[], deal_prices bigint[], deal_quantities bigint[], with_snapshot boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.marketdata_refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_analyze(tables text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_follow_members() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_keep_answers() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_keep_exports() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_prune_exports(most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_prune_failed_sign_ins() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_prune_idempotency_records(most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.partnerapi_prune_job_runs(most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_follow_holdings() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_follow_prices() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_follow_transactions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_hold(tokens uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_hold_investor() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_judge_postings() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_account() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_approvedholder() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_changes() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_grants() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_head() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_holder() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_issuer() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_open() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_restriction() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_tokenrule() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_keep_user() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_note(issuers uuid[], asked timestamp with time zone, settled timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_open(tokens uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_open_ledger() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_states(tokens uuid[], wanted bigint[], holds boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_time_token() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_transaction(salt bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.search_issuer_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.search_issuer_deleted() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.search_owner_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.search_refresh(wanted uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.search_terms(wanted uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.search_token_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.staff_log_has_its_time() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.staff_log_stays() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_book_is_orders() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_change_phase(token uuid, wanted text, follows text, follows_at timestamp with time zone, reference bigint, why text, changed_by text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_count_day_anew() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_follow_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_follow_events() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_follow_executions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_follow_placed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_left_active() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_lock(tokens uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_open(token uuid, opens time without time zone, closes time without time zone, weekdays boolean, begins timestamp with time zone, tick bigint, lot bigint, collar integer, reference bigint, opened_by text) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_settles_cash() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_settles_units() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_tape_is_executions() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_tell_orders() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_tell_registers() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_told_bust() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_told_execution() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.trading_told_order() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.update_industry_of_issuers() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.update_issuer_time() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.update_legacy_time() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.update_owned_time() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.update_token_time() FROM PUBLIC;

INSERT INTO public.django_migrations (app, name, applied)
SELECT app, name, now() FROM (VALUES
    ('contenttypes', '0001_initial'),
    ('contenttypes', '0002_remove_content_type_name'),
    ('auth', '0001_initial'),
    ('auth', '0002_alter_permission_name_max_length'),
    ('auth', '0003_alter_user_email_max_length'),
    ('auth', '0004_alter_user_username_opts'),
    ('auth', '0005_alter_user_last_login_null'),
    ('auth', '0006_require_contenttypes_0002'),
    ('auth', '0007_alter_validators_add_error_messages'),
    ('auth', '0008_alter_user_username_max_length'),
    ('auth', '0009_alter_user_last_name_max_length'),
    ('auth', '0010_alter_group_name_max_length'),
    ('auth', '0011_update_proxy_permissions'),
    ('auth', '0012_alter_user_first_name_max_length'),
    ('accounts', '0001_initial'),
    ('admin', '0001_initial'),
    ('admin', '0002_logentry_remove_auto_add'),
    ('admin', '0003_logentry_add_action_flag_choices'),
    ('accounts', '0002_account_accountstatuschange_and_more'),
    ('accounts', '0003_staff_log_guard'),
    ('accounts', '0005_holder_import'),
    ('accounts', '0006_kept_histories'),
    ('accounts', '0007_staff_log_times'),
    ('accounts', '0008_recorded_status_changes'),
    ('accounts', '0009_settled_at'),
    ('accounts', '0010_peppers'),
    ('accounts', '0011_settled_on_a_standby'),
    ('accounts', '0012_approvals'),
    ('accounts', '0013_approval_guards'),
    ('accounts', '0014_rowchange'),
    ('accounts', '0015_history'),
    ('accounts', '0016_accounts_by_recorded_at'),
    ('accounts', '0017_cash'),
    ('accounts', '0018_cash_guards'),
    ('accounts', '0019_cash_accounts'),
    ('accounts', '0020_investors'),
    ('accounts', '0021_partners_may_attest'),
    ('accounts', '0022_applicants'),
    ('accounts', '0023_scopes_of_trading'),
    ('accounts', '0024_scopes_are_known'),
    ('accounts', '0025_approvals_of_markets'),
    ('axes', '0001_initial'),
    ('axes', '0002_auto_20151217_2044'),
    ('axes', '0003_auto_20160322_0929'),
    ('axes', '0004_auto_20181024_1538'),
    ('axes', '0005_remove_accessattempt_trusted'),
    ('axes', '0006_remove_accesslog_trusted'),
    ('axes', '0007_alter_accessattempt_unique_together'),
    ('axes', '0008_accessfailurelog'),
    ('axes', '0009_add_session_hash'),
    ('axes', '0010_accessattemptexpiration'),
    ('issuers', '0001_initial'),
    ('issuers', '0002_register'),
    ('issuers', '0003_register_guards'),
    ('issuers', '0004_legacy_delivery'),
    ('issuers', '0005_legacy_guards'),
    ('issuers', '0006_holder_balance_user'),
    ('issuers', '0007_changed_issuers_are_read'),
    ('issuers', '0008_delivery_steps'),
    ('issuers', '0009_holder_guard'),
    ('issuers', '0010_article_published_at'),
    ('issuers', '0011_share_class_facts'),
    ('issuers', '0012_ledger_chains'),
    ('issuers', '0013_identities_stay'),
    ('issuers', '0014_legacy_shareholders_by_status'),
    ('issuers', '0015_issuer_terms'),
    ('issuers', '0016_events'),
    ('issuers', '0017_updated_at'),
    ('issuers', '0018_holding_periods'),
    ('issuers', '0019_documents_served'),
    ('issuers', '0020_tables_without_locks'),
    ('issuers', '0021_industry_of_issuers'),
    ('issuers', '0022_periods_end_first'),
    ('issuers', '0023_frozen_deliveries'),
    ('issuers', '0024_begun_deliveries'),
    ('issuers', '0025_approvals'),
    ('issuers', '0026_history'),
    ('issuers', '0027_recorded_at'),
    ('issuers', '0028_legacy_shareholders_by_updated_at'),
    ('issuers', '0029_holding_periods_of_before'),
    ('issuers', '0030_tables_for_the_release_before'),
    ('issuers', '0031_delivery_progress'),
    ('issuers', '0032_grants_end'),
    ('issuers', '0033_events_by_type'),
    ('issuers', '0034_compliance'),
    ('issuers', '0035_reserved_units'),
    ('issuers', '0036_compliance_judge'),
    ('issuers', '0037_reserved_is_validated'),
    ('issuers', '0038_events_of_orders'),
    ('issuers', '0039_events_by_account'),
    ('issuers', '0040_events_of_cash_and_investors'),
    ('issuers', '0041_investors_are_dated_under_locks'),
    ('issuers', '0042_log_by_token'),
    ('issuers', '0043_periods_end_where_they_are'),
    ('marketdata', '0001_books'),
    ('marketdata', '0002_book_heads'),
    ('marketdata', '0003_book_writer'),
    ('marketdata', '0004_book_guards'),
    ('marketdata', '0005_books_are_the_owners'),
    ('marketdata', '0006_trading_days'),
    ('marketdata', '0007_book_sequence'),
    ('marketdata', '0008_leases'),
    ('marketdata', '0009_history'),
    ('marketdata', '0010_prices_of_trades'),
    ('marketdata', '0011_days_of_the_tape'),
    ('marketdata', '0012_source_networks'),
    ('marketdata', '0013_own_books'),
    ('otp_totp', '0001_initial'),
    ('otp_totp', '0002_auto_20190420_0723'),
    ('otp_totp', '0003_add_timestamps'),
    ('partnerapi', '0001_initial'),
    ('partnerapi', '0002_kept_answers'),
    ('partnerapi', '0003_job_runs'),
    ('partnerapi', '0004_scopes_of_kept_answers'),
    ('partnerapi', '0005_exports'),
    ('partnerapi', '0006_pruned_job_runs'),
    ('partnerapi', '0007_failed_sign_ins'),
    ('partnerapi', '0008_job_run_begins'),
    ('partnerapi', '0009_staff_log'),
    ('partnerapi', '0010_log_by_object'),
    ('sessions', '0001_initial'),
    ('trading', '0001_trading'),
    ('trading', '0002_trading_guards'),
    ('trading', '0003_partners_are_told'),
    ('trading', '0004_look_ups'),
    ('trading', '0005_busted_days'),
    ('trading', '0006_what_came_last')
) AS applied (app, name);
