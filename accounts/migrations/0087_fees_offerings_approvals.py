"""Fees, offerings, corrections, approvals and their arguments, in functions."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_write(entries uuid[], accounts uuid[], partners uuid[], users uuid[], statuses text[], reasons text[], actors text[], by_staff boolean[], approvers text[], times timestamp with time zone[])
RETURNS SETOF accounts_account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    left_over bigint;
    closing accounts_accountstatuschange;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.account::text INTO wrong
    FROM unnest(accounts, statuses, by_staff, approvers, times)
        AS c (account, status, is_staff, approver, at)
    WHERE c.at IS NOT NULL AND (NOT isfinite(c.at) OR EXISTS (
            SELECT FROM accounts_account a WHERE a.id = c.account))
        OR c.approver <> '' AND (c.is_staff AND c.status = 'CLOSED') IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The history of a new account has times, and that of others goes '
            'on now; an approver is of a closing by staff: account %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- Rows are timed after the transaction has its id.
    PERFORM pg_current_xact_id();
    WITH opened AS (
        INSERT INTO accounts_account (id, partner_id, user_id, status, changes,
            created_at, updated_at, recorded_at)
        SELECT o.account, o.partner, o.client, o.status, 0,
            coalesce(o.at, clock_timestamp()), coalesce(o.at, clock_timestamp()),
            clock_timestamp()
        FROM unnest(accounts, partners, users, statuses, times)
            AS o (account, partner, client, status, at)
        WHERE o.status = 'PENDING'
        RETURNING id
    ), named AS (
        INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
        SELECT o.number, 'CLIENT', o.id, cash_reference('1', o.number)
        FROM (SELECT id, nextval('public.accounts_cashaccount_id_seq') AS number
            FROM opened ORDER BY id) o
        RETURNING id
    )
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, 'CLIENT', 0, 0, 0, decode(repeat('00', 32), 'hex') FROM named;
    PERFORM accounts_count(array_agg('accounts'::text), array_agg(o.partner),
        array_agg(o.number))
    FROM (SELECT partner, count(*) AS number
        FROM unnest(partners, statuses) AS u (partner, status)
        WHERE status = 'PENDING' GROUP BY partner) o
    HAVING count(*) > 0;
    PERFORM FROM accounts_account
        WHERE id = ANY (accounts) ORDER BY id FOR NO KEY UPDATE;
    INSERT INTO accounts_accountstatuschange (id, account_id, number, previous_status,
        status, reason, actor, is_staff, approved_by, created_at, recorded_at)
    SELECT c.id, c.account, a.changes + row_number() OVER by_place,
        lag(c.status, 1, CASE WHEN a.changes > 0 THEN a.status::text END) OVER by_place,
        c.status, c.reason, c.actor, c.is_staff, c.approver,
        coalesce(c.at, greatest(a.updated_at, clock_timestamp())), clock_timestamp()
    FROM unnest(entries, accounts, statuses, reasons, actors, by_staff, approvers, times)
        WITH ORDINALITY
        AS c (id, account, status, reason, actor, is_staff, approver, at, place)
    LEFT JOIN accounts_account a ON a.id = c.account
    WINDOW by_place AS (PARTITION BY c.account ORDER BY c.place);
    SELECT format('account %s, change %s', e.account_id, e.number) INTO wrong
    FROM accounts_accountstatuschange e
    JOIN accounts_account a ON a.id = e.account_id
    LEFT JOIN accounts_accountstatuschange p
        ON p.account_id = e.account_id AND p.number = e.number - 1
    WHERE e.id = ANY (entries) AND (e.created_at < coalesce(p.created_at, a.updated_at)
        OR e.created_at >= clock_timestamp() + interval '1 minute')
    ORDER BY e.number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An account''s next change has a time that is not before the '
            'last one''s nor in the future: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s by %s', e.account_id, e.actor) INTO wrong
    FROM accounts_accountstatuschange e
    JOIN accounts_account a ON a.id = e.account_id
    JOIN accounts_partner p ON p.id = a.partner_id
    WHERE e.id = ANY (entries) AND NOT e.is_staff AND NOT (e.actor = p.login
        AND (e.previous_status IS NULL OR e.previous_status IN ('ACTIVE', 'SUSPENDED')))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A partner opens, suspends, reactivates and closes accounts of '
            'its own: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(c.actor, 'accounts.change_account')
        FROM (SELECT DISTINCT actor FROM unnest(actors, by_staff, statuses)
                AS u (actor, is_staff, status)
            WHERE is_staff AND status <> 'CLOSED') c;
    FOR closing IN
        SELECT * FROM accounts_accountstatuschange
        WHERE id = ANY (entries) AND is_staff AND status = 'CLOSED' ORDER BY account_id
    LOOP
        used := approvals_use('CLOSING', jsonb_build_object('account', closing.account_id,
            'number', closing.number, 'reason', closing.reason), NULL, NULL, NULL);
        IF used IS NULL THEN
            PERFORM accounts_staff_with(closing.actor, 'accounts.change_account');
            CONTINUE;
        END IF;
        PERFORM cash_judge_staff(closing.actor, used, '{}');
        PERFORM FROM accounts_approvaldecision d
            JOIN accounts_user u ON u.id = d.decided_by_id
            WHERE d.request_id = used AND u.email = closing.approved_by;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'The closing of an account names who approved it.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at, recorded_at = clock_timestamp()
        FROM (SELECT DISTINCT ON (account_id) * FROM accounts_accountstatuschange
              WHERE id = ANY (entries) ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_accountstatuschange e
        JOIN accounts_applicant p ON p.account_id = e.account_id
        JOIN accounts_account a ON a.id = p.account_id AND a.user_id = p.user_id
        WHERE e.id = ANY (entries)
            AND (e.previous_status, e.status) = ('PENDING', 'ACTIVE')
            AND u.id = p.user_id;
    FOR left_over IN
        SELECT h.balance FROM unnest(accounts, statuses) AS e (account, status)
        JOIN accounts_cashaccount c ON c.account_id = e.account
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE e.status = 'CLOSED' ORDER BY c.id FOR NO KEY UPDATE OF h
    LOOP
        IF left_over <> 0 THEN
            RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
                left_over USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a WHERE a.id = ANY (accounts)
    HAVING count(*) > 0;
    RETURN QUERY SELECT * FROM accounts_account WHERE id = ANY (accounts);
END $$;
REVOKE ALL ON FUNCTION public.accounts_write(uuid[], uuid[], uuid[], uuid[], text[], text[], text[], boolean[], text[], timestamp with time zone[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_check_rest(request uuid, decider uuid, approves boolean, moment timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person text; what_for text; until timestamptz;
BEGIN
    FOR person, what_for, until IN
        SELECT u.email, p.what_for, approvals_rests_until(u.id, moment)
        FROM accounts_approvalrequest r
        CROSS JOIN LATERAL (VALUES
            (CASE WHEN approves OR decider <> r.filed_by_id THEN decider END, 'decides'),
            (CASE WHEN approves THEN r.filed_by_id END, 'filed')) AS p (id, what_for)
        JOIN accounts_user u ON u.id = p.id
        WHERE r.id = request
    LOOP
        IF until IS NOT NULL AND what_for = 'decides' THEN
            RAISE EXCEPTION '% cannot decide a request before % UTC: someone else '
                'changed their access less than 24 hours earlier. See Changes of staff.',
                person, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
                USING ERRCODE = 'restrict_violation',
                    CONSTRAINT = 'second_person_approves';
        ELSIF until IS NOT NULL THEN
            RAISE EXCEPTION 'This request cannot be approved before % UTC: someone else '
                'changed the access of %, who filed it, less than 24 hours earlier. '
                'See Changes of staff.',
                to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), person
                USING ERRCODE = 'restrict_violation',
                    CONSTRAINT = 'second_person_approves';
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.approvals_check_rest(uuid, uuid, boolean, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_file_request(request uuid, wanted text, said jsonb, name text, why text, filer uuid, until timestamp with time zone)
RETURNS accounts_approvalrequest LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    filed accounts_approvalrequest;
BEGIN
    PERFORM accounts_read_committed();
    IF until <= moment OR until > moment + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(filer, 'file_' || wanted) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(wanted) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvalrequest
        (id, kind, title, content, reason, filed_by_id, filed_at, expires_at)
    VALUES (request, wanted, name, said, why, filer, moment, until)
    RETURNING * INTO filed;
    IF wanted = 'BUST' THEN
        PERFORM trading_announce_bust((said ->> 'token')::uuid,
            (said ->> 'trade')::bigint, (said ->> 'price')::bigint);
    END IF;
    RETURN filed;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone) FROM PUBLIC;

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
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    RETURN decider;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_by(text, text, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_use_each(wanted text, said jsonb, issuers uuid[], amounts numeric[], entry_token uuid, entry_number bigint)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
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
        IF approvals_alone(wanted, issuers, amounts) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted,
            left(said::text, 400)
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    PERFORM approvals_check_rest(d.request_id, d.decided_by_id, TRUE, d.decided_at)
        FROM accounts_approvaldecision d WHERE d.request_id = used;
    RETURN used;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_each(text, jsonb, uuid[], numeric[], uuid, bigint) FROM PUBLIC;

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
REVOKE ALL ON FUNCTION public.binds_attest(uuid, uuid, text, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_decide(id uuid, actor text, investor uuid, attestation uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
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
REVOKE ALL ON FUNCTION public.binds_decide(uuid, text, uuid, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_book_statement(asker text, file_name text, file_digest text, closing bigint, line_references text[], texts text[], amounts bigint[], days date[], moved bigint[], withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    lines integer := cardinality(line_references);
    part integer;
    bank bigint;
    booked bigint;
    lies bigint;
    credited numeric;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    IF (lines = ALL (ARRAY[cardinality(texts), cardinality(amounts), cardinality(days),
            cardinality(moved), cardinality(withdrawals)])
        AND 'infinity' <> ALL (days) AND '-infinity' <> ALL (days)) IS NOT TRUE THEN
        RAISE EXCEPTION 'A line of a bank statement has a reference, a text, an amount, '
            'a date and an account.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id INTO STRICT bank FROM accounts_cashaccount c WHERE c.kind = 'BANK';
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
            WHERE c.id = ANY (moved))
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = bank OR h.cash_account_id = ANY (moved)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    INSERT INTO accounts_bankstatement
        (name, digest, closing_balance, booked_balance, booked_by, booked_at, made_in)
    VALUES (file_name, file_digest, closing, closing, asker, clock_timestamp(), 0)
    RETURNING id INTO booked;
    INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT l.reference, booked, l.text, l.amount, l.day
    FROM unnest(line_references, texts, amounts, days)
        AS l (reference, text, amount, day);
    -- A statement is judged whole; its payments are written in parts.
    FOR begun IN 1..lines BY 5000 LOOP
        part := least(5000, lines - begun + 1);
        PERFORM cash_post(clock_timestamp(), array_agg(CASE WHEN l.amount > 0
                THEN 'DEPOSIT' ELSE 'WITHDRAWAL' END ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN bank ELSE l.moved END
                ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN l.moved ELSE bank END
                ORDER BY l.place),
            array_agg(abs(l.amount) ORDER BY l.place),
            array_fill(asker, ARRAY[part]), array_fill(''::text, ARRAY[part]),
            line_references[begun:begun + 4999],
            array_fill(NULL::bigint, ARRAY[part]),
            array_fill(NULL::bigint, ARRAY[part]),
            withdrawals[begun:begun + 4999], '{}', '{}')
        FROM unnest(amounts[begun:begun + 4999], moved[begun:begun + 4999])
            WITH ORDINALITY AS l (amount, moved, place);
    END LOOP;
    SELECT -h.balance INTO lies FROM accounts_cashhead h
        WHERE h.cash_account_id = bank;
    IF lies IS DISTINCT FROM closing THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', closing, lies
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(l.amount), 0) INTO credited
    FROM unnest(amounts, moved) AS l (amount, moved)
    JOIN accounts_cashhead h ON h.cash_account_id = l.moved AND h.kind = 'CLIENT'
    WHERE l.amount > 0;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', file_name,
            'digest', file_digest, 'closing', closing::text, 'lines', (
                SELECT jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
                    l.day, l.moved) ORDER BY l.place)
                FROM unnest(line_references, texts, amounts, days, moved)
                    WITH ORDINALITY AS l (reference, text, amount, day, moved, place))),
            credited, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used,
        ARRAY['add_bankstatement', 'file_statement']);
    PERFORM cash_tell_unassigned(booked);
    RETURN booked;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_judge_staff(asker text, used uuid, rights text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person accounts_user;
    signed_in text;
BEGIN
    SELECT * INTO person FROM accounts_user u WHERE u.email = asker;
    IF used IS NOT NULL THEN
        PERFORM FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            WHERE r.id = used AND person.id IN (r.filed_by_id, d.decided_by_id);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'This is done in the name of the user that filed or decided '
                'its approval, and not of %.', asker
                USING ERRCODE = 'restrict_violation',
                    CONSTRAINT = 'second_person_approves';
        END IF;
        RETURN;
    END IF;
    IF (person.is_active AND person.is_staff AND (person.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts'
            WHERE p.codename = ANY (rights) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = person.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = person.id AND given.permission_id = p.id))))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'This is done by an active member of staff with the right to '
            'do it: %, and not %.', array_to_string(rights, ' or '), asker
            USING ERRCODE = 'restrict_violation';
    END IF;
    signed_in := approvals_person();
    IF signed_in NOT IN ('SQL', 'command', person.id::text) THEN
        RAISE EXCEPTION 'This is done in the name of the user that is signed in, and '
            'not of %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.cash_judge_staff(text, uuid, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_post(at timestamp with time zone, kinds text[], sources bigint[], targets bigint[], amounts bigint[], actors text[], reasons text[], line_references text[], reverses bigint[], assigns bigint[], withdrawals uuid[], held_accounts bigint[], held_deltas bigint[])
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    payments integer := cardinality(kinds);
    wrong text;
    ids bigint[];
    held bigint;
    moved bigint;
BEGIN
    -- Of 5,000 trades: each is paid, and both sides pay a fee.
    IF (payments <= 15000 AND cardinality(held_accounts) <= 15000) IS NOT TRUE THEN
        RAISE EXCEPTION 'Payments are written 15,000 at a time, and not %.',
            greatest(payments, cardinality(held_accounts))
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF payments = 0 THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
        FROM (
            SELECT account, sum(delta)::bigint AS delta
            FROM unnest(held_accounts, held_deltas) AS u (account, delta)
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> (SELECT count(DISTINCT account)
                FROM unnest(held_accounts) AS u (account)) THEN
            RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN ARRAY[]::bigint[];
    END IF;
    IF (cash_post.at BETWEEN transaction_timestamp() AND clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Cash moves at a time that its writer took under the lock, and '
            'not at %.', cash_post.at USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('%s from cash account %s to %s', p.kind, p.source, p.target)
        INTO wrong
    FROM unnest(kinds, sources, targets, amounts, actors, reasons, line_references,
        reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind, source, target,
        amount, actor, reason, line, undone, assigned, withdrawal, place)
    LEFT JOIN accounts_cashhead s ON s.cash_account_id = p.source
    LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
    WHERE CASE p.kind
        WHEN 'TRADE' THEN s.kind = 'CLIENT' AND t.kind = 'CLIENT'
        WHEN 'OFFERING' THEN s.kind = 'CLIENT' AND t.kind = 'ISSUER'
        WHEN 'DEPOSIT' THEN t.kind IN ('CLIENT', 'SUSPENSE')
            AND s.kind = CASE WHEN p.assigned IS NULL THEN 'BANK' ELSE 'SUSPENSE' END
        WHEN 'WITHDRAWAL' THEN t.kind = 'BANK'
            AND CASE WHEN p.withdrawal IS NULL THEN s.kind = 'SUSPENSE'
                ELSE s.kind IN ('CLIENT', 'ISSUER') END
        WHEN 'REVERSAL' THEN s.kind = 'CLIENT' AND t.kind IN ('CLIENT', 'SUSPENSE')
        WHEN 'FEE' THEN (s.kind, t.kind) IN (('CLIENT', 'MARKET'), ('MARKET', 'CLIENT'),
            ('MARKET', 'FEES'), ('FEES', 'MARKET'), ('ISSUER', 'FEES'))
        ELSE FALSE END IS NOT TRUE
    ORDER BY p.place LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status INTO wrong
    FROM unnest(targets) AS p (target)
    JOIN accounts_cashaccount c ON c.id = p.target
    JOIN accounts_account a ON a.id = c.account_id
    WHERE a.status NOT IN ('ACTIVE', 'SUSPENDED') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves to an account that is ACTIVE or SUSPENDED, and not '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'DEPOSIT' = ANY (kinds) OR 'WITHDRAWAL' = ANY (kinds) THEN
        SELECT coalesce(p.line, '') INTO wrong
        FROM unnest(kinds, sources, targets, amounts, line_references, assigns,
            withdrawals) WITH ORDINALITY AS p (kind, source, target, amount, line,
            assigned, withdrawal, place)
        LEFT JOIN accounts_bankline l ON l.reference = p.line
        LEFT JOIN accounts_cashaccount c ON c.id = p.target
        LEFT JOIN accounts_withdrawal w ON w.id = p.withdrawal
        WHERE (p.kind = 'WITHDRAWAL' OR p.kind = 'DEPOSIT' AND p.assigned IS NULL)
            AND (l.amount = CASE p.kind WHEN 'DEPOSIT' THEN p.amount
                    ELSE -p.amount END
                AND CASE
                    WHEN p.withdrawal IS NOT NULL
                        THEN cash_names(l.text, w.payment_reference)
                    WHEN c.kind = 'CLIENT' THEN cash_names(l.text, c.deposit_reference)
                    ELSE TRUE END) IS NOT TRUE
        ORDER BY p.place LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A bank line is booked with its amount, to or from whom '
                'its text names: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(withdrawals, NULL) <> '{}' THEN
        UPDATE accounts_withdrawal w SET status = 'PAID',
            updated_at = greatest(w.updated_at, clock_timestamp())
        FROM unnest(withdrawals, sources, amounts) AS p (withdrawal, source, amount)
        WHERE w.id = p.withdrawal AND w.status = 'APPROVED'
            AND w.cash_account_id = p.source AND w.amount = p.amount;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> cardinality(array_remove(withdrawals, NULL)) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(assigns, NULL) <> '{}' THEN
        SELECT p.assigned::text INTO wrong
        FROM (
            SELECT u.*, count(*) OVER (PARTITION BY u.assigned) AS times
            FROM unnest(kinds, sources, targets, amounts, assigns) AS u (kind, source,
                target, amount, assigned)
            WHERE u.assigned IS NOT NULL
        ) p
        LEFT JOIN accounts_cashtransaction d ON d.id = p.assigned
        LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
        WHERE (p.times = 1 AND t.kind = 'CLIENT' AND d.kind = 'DEPOSIT'
            AND d.assigns_id IS NULL AND d.target_id = p.source
            AND d.amount = p.amount AND NOT EXISTS (
                SELECT FROM accounts_cashtransaction o
                WHERE o.assigns_id = p.assigned AND NOT EXISTS (
                    SELECT FROM accounts_cashtransaction r WHERE r.reverses_id = o.id))
            ) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A receipt is assigned once, whole, from suspense to a '
                'client: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF 'REVERSAL' = ANY (kinds) THEN
        SELECT p.undone::text INTO wrong
        FROM unnest(kinds, sources, targets, amounts, reverses) AS p (kind, source,
            target, amount, undone)
        LEFT JOIN accounts_cashtransaction u ON u.id = p.undone
        WHERE p.kind = 'REVERSAL' AND ((u.kind = 'TRADE' OR u.assigns_id IS NOT NULL)
            AND u.amount = p.amount AND u.source_id = p.target
            AND u.target_id = p.source) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A reversal gives back what a trade or an assignment '
                'moved: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH entered AS (
        INSERT INTO accounts_cashtransaction (kind, amount, source_id, target_id, at,
            actor, reason, reference, reverses_id, assigns_id, withdrawal_id)
        SELECT p.kind, p.amount, p.source, p.target, greatest(cash_post.at, (
                SELECT max(h.last_at) FROM accounts_cashhead h
                WHERE h.cash_account_id = ANY (sources || targets))),
            p.actor, p.reason, p.line, p.undone, p.assigned, p.withdrawal
        FROM unnest(kinds, amounts, sources, targets, actors, reasons,
            line_references, reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind,
            amount, source, target, actor, reason, line, undone, assigned, withdrawal,
            place)
        ORDER BY p.place
        RETURNING *
    ), legs AS (
        SELECT n.*, sha256(n.salt || convert_to(cash_entry_detail(n.actor, n.assigns_id,
            n.reference, n.reason, n.reverses_id, n.id, n.withdrawal_id), 'UTF8'))
            AS private_digest
        FROM (
            SELECT e.*, l.cash_account, l.delta, h.kind AS sort, c.account_id AS owner,
                CASE
                    WHEN e.withdrawal_id IS NOT NULL THEN (
                        SELECT w.reference FROM accounts_withdrawal w
                        WHERE w.id = e.withdrawal_id)
                    WHEN e.assigns_id IS NOT NULL THEN (
                        SELECT a.reference FROM accounts_cashtransaction a
                        WHERE a.id = e.assigns_id)
                    ELSE e.reference END AS said_reference,
                uuid_send(gen_random_uuid()) AS salt,
                h.last_number + row_number() OVER by_account AS number,
                (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after
            FROM entered e
            CROSS JOIN LATERAL (VALUES (e.source_id, -e.amount), (e.target_id, e.amount))
                AS l (cash_account, delta)
            JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account
            JOIN accounts_cashaccount c ON c.id = l.cash_account
            WINDOW by_account AS (PARTITION BY l.cash_account ORDER BY e.id)
            OFFSET 0
        ) n
    ), posted AS (
        INSERT INTO accounts_cashposting (cash_account_id, number, transaction_id,
            delta, balance_after, salt, private_digest)
        SELECT cash_account, number, id, delta, balance_after, salt, private_digest
        FROM legs
    ), held AS (
        SELECT account, delta FROM unnest(held_accounts, held_deltas)
            AS u (account, delta)
        UNION ALL
        -- A paid withdrawal frees what it has reserved.
        SELECT source_id, -amount FROM entered WHERE withdrawal_id IS NOT NULL
    ), moved AS (
        UPDATE accounts_cashhead h SET balance = h.balance + d.delta,
            reserved = h.reserved + d.held, last_number = h.last_number + d.legs,
            last_at = coalesce(d.at, h.last_at),
            entry_digest = CASE WHEN d.legs = 0 THEN h.entry_digest
                ELSE cash_chain(h.entry_digest, d.lines) END
        FROM (
            SELECT account, sum(delta)::bigint AS delta, sum(held)::bigint AS held,
                sum(leg) AS legs, max(at) AS at,
                array_agg(line ORDER BY number) FILTER (WHERE leg = 1) AS lines
            FROM (
                SELECT cash_account AS account, delta, 0 AS held, 1 AS leg, at, number,
                    cash_entry_line(owner, sort, number, kind, delta, balance_after, at,
                        said_reference, private_digest) AS line
                FROM legs
                UNION ALL
                SELECT account, 0, delta, 0, NULL, NULL, NULL FROM held
            ) l
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account
        RETURNING h.cash_account_id AS account
    )
    SELECT (SELECT array_agg(id ORDER BY id) FROM entered),
        (SELECT format('%s of %s cents from cash account %s to %s', kind, amount,
                source_id, target_id)
            FROM legs
            WHERE sort IN ('CLIENT', 'ISSUER') AND balance_after < 0
                OR sort = 'BANK' AND balance_after > 0
            ORDER BY id LIMIT 1),
        (SELECT count(*) FROM held
            WHERE account NOT IN (SELECT account FROM moved))
        INTO ids, wrong, held;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'No account has less than nothing after a payment: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF held > 0 THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- The events of orders tell of trades and fees.
    IF NOT kinds <@ ARRAY['TRADE', 'FEE'] THEN
        PERFORM cash_tell(array_agg(c.id))
        FROM unnest(kinds, sources, targets) AS p (kind, source, target)
        CROSS JOIN LATERAL (VALUES (p.source), (p.target)) AS c (id)
        WHERE p.kind NOT IN ('TRADE', 'FEE');
    END IF;
    RETURN ids;
END $$;
REVOKE ALL ON FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_invite(member uuid, partner uuid, mailbox text, granted text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('DESK', jsonb_build_object('partner', partner,
        'email', mailbox,
        'scopes', ARRAY(SELECT s FROM unnest(granted) AS s ORDER BY s COLLATE "C")),
        NULL, NULL, NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'An invitation to a desk always needs an approval by a second '
            'person.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    PERFORM FROM accounts_user u
        WHERE u.is_staff AND desk_mailbox(u.email) = desk_mailbox(mailbox);
    IF FOUND THEN
        RAISE EXCEPTION 'This approval is for an address of a member of staff, who cannot '
            'use the desk of a partner: %.', mailbox
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    IF NOT granted <@ ARRAY(SELECT s.name::text FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'This approval names a scope that is unknown: %.', granted
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    UPDATE accounts_deskmember m SET ended_at = clock_timestamp(), ended_by = 'expiry'
        WHERE m.partner_id = partner AND m.email = mailbox AND m.ended_at IS NULL
            AND m.enrolled_at IS NULL AND m.expires_at <= clock_timestamp();
    INSERT INTO accounts_deskmember (id, partner_id, email, scopes, request_id,
        invited_at, expires_at, ended_by, domain, sign_count)
    VALUES (member, partner, mailbox, granted, used, clock_timestamp(),
        clock_timestamp() + interval '7 days', '', '', 0);
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    VALUES (member, 'INVITED', mailbox, 0, clock_timestamp(), '');
END $$;
REVOKE ALL ON FUNCTION public.desk_invite(uuid, uuid, text, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.keys_narrow(key uuid, kept text[], until timestamp with time zone, revoked timestamp with time zone)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    partner uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_apikey k
        WHERE k.id = key AND NOT coalesce(kept <@ k.scopes::text[], TRUE);
    IF FOUND THEN
        RAISE EXCEPTION 'A key gets no further scope. Issue another.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    revoked := CASE WHEN revoked IS NOT NULL THEN clock_timestamp() END;
    UPDATE accounts_apikey k SET scopes = coalesce(kept, k.scopes::text[]),
        expires_at = least(k.expires_at, until),
        revoked_at = coalesce(k.revoked_at, revoked)
    WHERE k.id = key AND (coalesce(kept, k.scopes::text[]), least(k.expires_at, until),
            coalesce(k.revoked_at, revoked))
        IS DISTINCT FROM (k.scopes::text[], k.expires_at, k.revoked_at)
    RETURNING k.partner_id INTO partner;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['KEY_CHANGED'], NULL, NULL, NULL,
        NULL);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.keys_narrow(uuid, text[], timestamp with time zone, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_assert(key uuid, signer uuid, digests bytea[], authenticator_data bytea, client_data bytea, signature bytea)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
    told jsonb := convert_from(client_data, 'UTF8')::jsonb;
    counted bigint;
    made uuid := gen_random_uuid();
BEGIN
    SELECT * INTO k FROM accounts_passkey WHERE id = key FOR UPDATE;
    IF (k.person_id = signer AND k.listed_at IS NOT NULL AND k.revoked_at IS NULL)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Only a passkey of this person that counts may sign.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF told ->> 'type' IS DISTINCT FROM 'webauthn.get'
        OR told ->> 'challenge' IS DISTINCT FROM translate(rtrim(encode(sha256((
            SELECT string_agg(d, ''::bytea ORDER BY d) FROM unnest(digests) AS u (d))),
            'base64'), '='), '+/', '-_') THEN
        RAISE EXCEPTION 'The passkey has signed something else.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF length(authenticator_data) < 37 OR get_byte(authenticator_data, 32) & 5 <> 5 THEN
        RAISE EXCEPTION 'The device has not verified the person.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    counted := ('x' || encode(substr(authenticator_data, 34, 4), 'hex'))::bit(32)::bigint;
    IF counted <= k.sign_count AND (counted, k.sign_count) <> (0, 0) THEN
        RAISE EXCEPTION 'The counter of the passkey has not grown: there may be a copy.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey SET sign_count = counted WHERE id = key;
    INSERT INTO accounts_assertion (id, passkey_id, digests, authenticator_data,
        client_data, signature, made_at)
    VALUES (made, key, digests, authenticator_data, client_data, signature,
        clock_timestamp());
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_assert(uuid, uuid, bytea[], bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sign_in_reset(person uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('SIGN_IN', jsonb_build_object('person', person), NULL, NULL,
        NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'The reset of a sign-in always needs an approval by a second '
            'person.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    DELETE FROM accounts_recoverycode c WHERE c.person_id = person;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_reset(uuid) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_write(entries uuid[], accounts uuid[], partners uuid[], users uuid[], statuses text[], reasons text[], actors text[], by_staff boolean[], approvers text[], times timestamp with time zone[])
RETURNS SETOF accounts_account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    left_over bigint;
    closing accounts_accountstatuschange;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    -- Rows are timed after the transaction has its id.
    PERFORM pg_current_xact_id();
    WITH opened AS (
        INSERT INTO accounts_account (id, partner_id, user_id, status, changes,
            created_at, updated_at, recorded_at)
        SELECT o.account, o.partner, o.client, o.status, 0,
            coalesce(o.at, clock_timestamp()), coalesce(o.at, clock_timestamp()),
            clock_timestamp()
        FROM unnest(accounts, partners, users, statuses, times)
            AS o (account, partner, client, status, at)
        WHERE o.status = 'PENDING'
        RETURNING id
    ), named AS (
        INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
        SELECT o.number, 'CLIENT', o.id, cash_reference('1', o.number)
        FROM (SELECT id, nextval('public.accounts_cashaccount_id_seq') AS number
            FROM opened ORDER BY id) o
        RETURNING id
    )
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, 'CLIENT', 0, 0, 0, decode(repeat('00', 32), 'hex') FROM named;
    PERFORM accounts_count(array_agg('accounts'::text), array_agg(o.partner),
        array_agg(o.number))
    FROM (SELECT partner, count(*) AS number
        FROM unnest(partners, statuses) AS u (partner, status)
        WHERE status = 'PENDING' GROUP BY partner) o
    HAVING count(*) > 0;
    PERFORM FROM accounts_account
        WHERE id = ANY (accounts) ORDER BY id FOR NO KEY UPDATE;
    INSERT INTO accounts_accountstatuschange (id, account_id, number, previous_status,
        status, reason, actor, is_staff, approved_by, created_at, recorded_at)
    SELECT c.id, c.account, a.changes + row_number() OVER by_place,
        lag(c.status, 1, CASE WHEN a.changes > 0 THEN a.status::text END) OVER by_place,
        c.status, c.reason, c.actor, c.is_staff, c.approver,
        coalesce(c.at, greatest(a.updated_at, clock_timestamp())), clock_timestamp()
    FROM unnest(entries, accounts, statuses, reasons, actors, by_staff, approvers, times)
        WITH ORDINALITY
        AS c (id, account, status, reason, actor, is_staff, approver, at, place)
    LEFT JOIN accounts_account a ON a.id = c.account
    WINDOW by_place AS (PARTITION BY c.account ORDER BY c.place);
    SELECT format('account %s, change %s', e.account_id, e.number) INTO wrong
    FROM accounts_accountstatuschange e
    JOIN accounts_account a ON a.id = e.account_id
    LEFT JOIN accounts_accountstatuschange p
        ON p.account_id = e.account_id AND p.number = e.number - 1
    WHERE e.id = ANY (entries) AND (e.created_at < coalesce(p.created_at, a.updated_at)
        OR e.created_at >= clock_timestamp() + interval '1 minute')
    ORDER BY e.number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An account''s next change has a time that is not before the '
            'last one''s nor in the future: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s by %s', e.account_id, e.actor) INTO wrong
    FROM accounts_accountstatuschange e
    JOIN accounts_account a ON a.id = e.account_id
    JOIN accounts_partner p ON p.id = a.partner_id
    WHERE e.id = ANY (entries) AND NOT e.is_staff AND NOT (e.actor = p.login
        AND (e.previous_status IS NULL OR e.previous_status IN ('ACTIVE', 'SUSPENDED')))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A partner opens, suspends, reactivates and closes accounts of '
            'its own: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(c.actor, 'accounts.change_account')
        FROM (SELECT DISTINCT actor FROM unnest(actors, by_staff, statuses)
                AS u (actor, is_staff, status)
            WHERE is_staff AND status <> 'CLOSED') c;
    FOR closing IN
        SELECT * FROM accounts_accountstatuschange
        WHERE id = ANY (entries) AND is_staff AND status = 'CLOSED' ORDER BY account_id
    LOOP
        used := approvals_use('CLOSING', jsonb_build_object('account', closing.account_id,
            'number', closing.number, 'reason', closing.reason), NULL, NULL, NULL);
        IF used IS NULL THEN
            PERFORM accounts_staff_with(closing.actor, 'accounts.change_account');
            CONTINUE;
        END IF;
        PERFORM cash_judge_staff(closing.actor, used, '{}');
        PERFORM FROM accounts_approvaldecision d
            JOIN accounts_user u ON u.id = d.decided_by_id
            WHERE d.request_id = used AND u.email = closing.approved_by;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'The closing of an account names who approved it.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at, recorded_at = clock_timestamp()
        FROM (SELECT DISTINCT ON (account_id) * FROM accounts_accountstatuschange
              WHERE id = ANY (entries) ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_accountstatuschange e
        JOIN accounts_applicant p ON p.account_id = e.account_id
        JOIN accounts_account a ON a.id = p.account_id AND a.user_id = p.user_id
        WHERE e.id = ANY (entries)
            AND (e.previous_status, e.status) = ('PENDING', 'ACTIVE')
            AND u.id = p.user_id;
    FOR left_over IN
        SELECT h.balance FROM unnest(accounts, statuses) AS e (account, status)
        JOIN accounts_cashaccount c ON c.account_id = e.account
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE e.status = 'CLOSED' ORDER BY c.id FOR NO KEY UPDATE OF h
    LOOP
        IF left_over <> 0 THEN
            RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
                left_over USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a WHERE a.id = ANY (accounts)
    HAVING count(*) > 0;
    RETURN QUERY SELECT * FROM accounts_account WHERE id = ANY (accounts);
END $$;
REVOKE ALL ON FUNCTION public.accounts_write(uuid[], uuid[], uuid[], uuid[], text[], text[], text[], boolean[], text[], timestamp with time zone[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_check_rest(request uuid, decider uuid, approves boolean, moment timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person text; what_for text; until timestamptz;
BEGIN
    FOR person, what_for, until IN
        SELECT u.email, p.what_for, approvals_rests_until(u.id, moment)
        FROM accounts_approvalrequest r
        CROSS JOIN LATERAL (VALUES
            (CASE WHEN approves OR decider <> r.filed_by_id THEN decider END, 'decides'),
            (CASE WHEN approves THEN r.filed_by_id END, 'filed')) AS p (id, what_for)
        JOIN accounts_user u ON u.id = p.id
        WHERE r.id = request
    LOOP
        IF until IS NOT NULL AND what_for = 'decides' THEN
            RAISE EXCEPTION '% cannot decide a request before % UTC: someone else '
                'changed their access less than 24 hours earlier. See Changes of staff.',
                person, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
                USING ERRCODE = 'restrict_violation';
        ELSIF until IS NOT NULL THEN
            RAISE EXCEPTION 'This request cannot be approved before % UTC: someone else '
                'changed the access of %, who filed it, less than 24 hours earlier. '
                'See Changes of staff.',
                to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), person
                USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.approvals_check_rest(uuid, uuid, boolean, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_file_request(request uuid, wanted text, said jsonb, name text, why text, filer uuid, until timestamp with time zone)
RETURNS accounts_approvalrequest LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    filed accounts_approvalrequest;
BEGIN
    PERFORM accounts_read_committed();
    IF until <= moment OR until > moment + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(filer, 'file_' || wanted) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(wanted) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvalrequest
        (id, kind, title, content, reason, filed_by_id, filed_at, expires_at)
    VALUES (request, wanted, name, said, why, filer, moment, until)
    RETURNING * INTO filed;
    RETURN filed;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.approvals_use_each(wanted text, said jsonb, issuers uuid[], amounts numeric[], entry_token uuid, entry_number bigint)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
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
        IF approvals_alone(wanted, issuers, amounts) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted, left(said::text, 400) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    PERFORM approvals_check_rest(d.request_id, d.decided_by_id, TRUE, d.decided_at)
        FROM accounts_approvaldecision d WHERE d.request_id = used;
    RETURN used;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_each(text, jsonb, uuid[], numeric[], uuid, bigint) FROM PUBLIC;

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
    PERFORM accounts_read_committed();
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
    PERFORM accounts_read_committed();
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

CREATE OR REPLACE FUNCTION public.cash_book_statement(asker text, file_name text, file_digest text, closing bigint, line_references text[], texts text[], amounts bigint[], days date[], moved bigint[], withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    lines integer := cardinality(line_references);
    part integer;
    bank bigint;
    booked bigint;
    lies bigint;
    credited numeric;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    IF (lines = ALL (ARRAY[cardinality(texts), cardinality(amounts), cardinality(days),
            cardinality(moved), cardinality(withdrawals)])) IS NOT TRUE THEN
        RAISE EXCEPTION 'A line of a bank statement has a reference, a text, an amount, '
            'a date and an account.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id INTO STRICT bank FROM accounts_cashaccount c WHERE c.kind = 'BANK';
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
            WHERE c.id = ANY (moved))
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = bank OR h.cash_account_id = ANY (moved)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    INSERT INTO accounts_bankstatement
        (name, digest, closing_balance, booked_balance, booked_by, booked_at, made_in)
    VALUES (file_name, file_digest, closing, closing, asker, clock_timestamp(), 0)
    RETURNING id INTO booked;
    INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT l.reference, booked, l.text, l.amount, l.day
    FROM unnest(line_references, texts, amounts, days)
        AS l (reference, text, amount, day);
    -- A statement is judged whole; its payments are written in parts.
    FOR begun IN 1..lines BY 5000 LOOP
        part := least(5000, lines - begun + 1);
        PERFORM cash_post(clock_timestamp(), array_agg(CASE WHEN l.amount > 0
                THEN 'DEPOSIT' ELSE 'WITHDRAWAL' END ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN bank ELSE l.moved END
                ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN l.moved ELSE bank END
                ORDER BY l.place),
            array_agg(abs(l.amount) ORDER BY l.place),
            array_fill(asker, ARRAY[part]), array_fill(''::text, ARRAY[part]),
            line_references[begun:begun + 4999],
            array_fill(NULL::bigint, ARRAY[part]),
            array_fill(NULL::bigint, ARRAY[part]),
            withdrawals[begun:begun + 4999], '{}', '{}')
        FROM unnest(amounts[begun:begun + 4999], moved[begun:begun + 4999])
            WITH ORDINALITY AS l (amount, moved, place);
    END LOOP;
    SELECT -h.balance INTO lies FROM accounts_cashhead h
        WHERE h.cash_account_id = bank;
    IF lies IS DISTINCT FROM closing THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', closing, lies
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(l.amount), 0) INTO credited
    FROM unnest(amounts, moved) AS l (amount, moved)
    JOIN accounts_cashhead h ON h.cash_account_id = l.moved AND h.kind = 'CLIENT'
    WHERE l.amount > 0;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', file_name,
            'digest', file_digest, 'closing', closing::text, 'lines', (
                SELECT jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
                    l.day, l.moved) ORDER BY l.place)
                FROM unnest(line_references, texts, amounts, days, moved)
                    WITH ORDINALITY AS l (reference, text, amount, day, moved, place))),
            credited, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used,
        ARRAY['add_bankstatement', 'file_statement']);
    PERFORM cash_tell_unassigned(booked);
    RETURN booked;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_judge_staff(asker text, used uuid, rights text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person accounts_user;
    signed_in text;
BEGIN
    SELECT * INTO person FROM accounts_user u WHERE u.email = asker;
    IF used IS NOT NULL THEN
        PERFORM FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            WHERE r.id = used AND person.id IN (r.filed_by_id, d.decided_by_id);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'This is done in the name of the user that filed or decided '
                'its approval, and not of %.', asker USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN;
    END IF;
    IF (person.is_active AND person.is_staff AND (person.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts'
            WHERE p.codename = ANY (rights) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = person.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = person.id AND given.permission_id = p.id))))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'This is done by an active member of staff with the right to '
            'do it: %, and not %.', array_to_string(rights, ' or '), asker
            USING ERRCODE = 'restrict_violation';
    END IF;
    signed_in := approvals_person();
    IF signed_in NOT IN ('SQL', 'command', person.id::text) THEN
        RAISE EXCEPTION 'This is done in the name of the user that is signed in, and '
            'not of %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.cash_judge_staff(text, uuid, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_post(at timestamp with time zone, kinds text[], sources bigint[], targets bigint[], amounts bigint[], actors text[], reasons text[], line_references text[], reverses bigint[], assigns bigint[], withdrawals uuid[], held_accounts bigint[], held_deltas bigint[])
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    payments integer := cardinality(kinds);
    wrong text;
    ids bigint[];
    held bigint;
    moved bigint;
BEGIN
    IF (payments <= 5000 AND cardinality(held_accounts) <= 5000) IS NOT TRUE THEN
        RAISE EXCEPTION 'Payments are written 5,000 at a time, and not %.',
            greatest(payments, cardinality(held_accounts))
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF payments = 0 THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
        FROM (
            SELECT account, sum(delta)::bigint AS delta
            FROM unnest(held_accounts, held_deltas) AS u (account, delta)
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> (SELECT count(DISTINCT account)
                FROM unnest(held_accounts) AS u (account)) THEN
            RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN ARRAY[]::bigint[];
    END IF;
    IF (cash_post.at BETWEEN transaction_timestamp() AND clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Cash moves at a time that its writer took under the lock, and '
            'not at %.', cash_post.at USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('%s from cash account %s to %s', p.kind, p.source, p.target)
        INTO wrong
    FROM unnest(kinds, sources, targets, amounts, actors, reasons, line_references,
        reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind, source, target,
        amount, actor, reason, line, undone, assigned, withdrawal, place)
    LEFT JOIN accounts_cashhead s ON s.cash_account_id = p.source
    LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
    WHERE CASE p.kind
        WHEN 'TRADE' THEN s.kind = 'CLIENT' AND t.kind = 'CLIENT'
        WHEN 'DEPOSIT' THEN t.kind IN ('CLIENT', 'SUSPENSE')
            AND s.kind = CASE WHEN p.assigned IS NULL THEN 'BANK' ELSE 'SUSPENSE' END
        WHEN 'WITHDRAWAL' THEN t.kind = 'BANK'
            AND s.kind = CASE WHEN p.withdrawal IS NULL THEN 'SUSPENSE'
                ELSE 'CLIENT' END
        WHEN 'REVERSAL' THEN s.kind = 'CLIENT' AND t.kind IN ('CLIENT', 'SUSPENSE')
        -- There is no tariff.
        ELSE FALSE END IS NOT TRUE
    ORDER BY p.place LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status INTO wrong
    FROM unnest(targets) AS p (target)
    JOIN accounts_cashaccount c ON c.id = p.target
    JOIN accounts_account a ON a.id = c.account_id
    WHERE a.status NOT IN ('ACTIVE', 'SUSPENDED') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves to an account that is ACTIVE or SUSPENDED, and not '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'DEPOSIT' = ANY (kinds) OR 'WITHDRAWAL' = ANY (kinds) THEN
        SELECT coalesce(p.line, '') INTO wrong
        FROM unnest(kinds, sources, targets, amounts, line_references, assigns,
            withdrawals) WITH ORDINALITY AS p (kind, source, target, amount, line,
            assigned, withdrawal, place)
        LEFT JOIN accounts_bankline l ON l.reference = p.line
        LEFT JOIN accounts_cashaccount c ON c.id = p.target
        LEFT JOIN accounts_withdrawal w ON w.id = p.withdrawal
        WHERE (p.kind = 'WITHDRAWAL' OR p.kind = 'DEPOSIT' AND p.assigned IS NULL)
            AND (l.amount = CASE p.kind WHEN 'DEPOSIT' THEN p.amount
                    ELSE -p.amount END
                AND CASE
                    WHEN p.withdrawal IS NOT NULL
                        THEN cash_names(l.text, w.payment_reference)
                    WHEN c.kind = 'CLIENT' THEN cash_names(l.text, c.deposit_reference)
                    ELSE TRUE END) IS NOT TRUE
        ORDER BY p.place LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A bank line is booked with its amount, to or from whom '
                'its text names: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(withdrawals, NULL) <> '{}' THEN
        UPDATE accounts_withdrawal w SET status = 'PAID',
            updated_at = greatest(w.updated_at, clock_timestamp())
        FROM unnest(withdrawals, sources, amounts) AS p (withdrawal, source, amount)
        WHERE w.id = p.withdrawal AND w.status = 'APPROVED'
            AND w.cash_account_id = p.source AND w.amount = p.amount;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> cardinality(array_remove(withdrawals, NULL)) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(assigns, NULL) <> '{}' THEN
        SELECT p.assigned::text INTO wrong
        FROM (
            SELECT u.*, count(*) OVER (PARTITION BY u.assigned) AS times
            FROM unnest(kinds, sources, targets, amounts, assigns) AS u (kind, source,
                target, amount, assigned)
            WHERE u.assigned IS NOT NULL
        ) p
        LEFT JOIN accounts_cashtransaction d ON d.id = p.assigned
        LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
        WHERE (p.times = 1 AND t.kind = 'CLIENT' AND d.kind = 'DEPOSIT'
            AND d.assigns_id IS NULL AND d.target_id = p.source
            AND d.amount = p.amount AND NOT EXISTS (
                SELECT FROM accounts_cashtransaction o
                WHERE o.assigns_id = p.assigned AND NOT EXISTS (
                    SELECT FROM accounts_cashtransaction r WHERE r.reverses_id = o.id))
            ) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A receipt is assigned once, whole, from suspense to a '
                'client: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF 'REVERSAL' = ANY (kinds) THEN
        SELECT p.undone::text INTO wrong
        FROM unnest(kinds, sources, targets, amounts, reverses) AS p (kind, source,
            target, amount, undone)
        LEFT JOIN accounts_cashtransaction u ON u.id = p.undone
        WHERE p.kind = 'REVERSAL' AND ((u.kind = 'TRADE' OR u.assigns_id IS NOT NULL)
            AND u.amount = p.amount AND u.source_id = p.target
            AND u.target_id = p.source) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A reversal gives back what a trade or an assignment '
                'moved: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH entered AS (
        INSERT INTO accounts_cashtransaction (kind, amount, source_id, target_id, at,
            actor, reason, reference, reverses_id, assigns_id, withdrawal_id)
        SELECT p.kind, p.amount, p.source, p.target, greatest(cash_post.at, (
                SELECT max(h.last_at) FROM accounts_cashhead h
                WHERE h.cash_account_id = ANY (sources || targets))),
            p.actor, p.reason, p.line, p.undone, p.assigned, p.withdrawal
        FROM unnest(kinds, amounts, sources, targets, actors, reasons,
            line_references, reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind,
            amount, source, target, actor, reason, line, undone, assigned, withdrawal,
            place)
        ORDER BY p.place
        RETURNING *
    ), legs AS (
        SELECT n.*, sha256(n.salt || convert_to(cash_entry_detail(n.actor, n.assigns_id,
            n.reference, n.reason, n.reverses_id, n.id, n.withdrawal_id), 'UTF8'))
            AS private_digest
        FROM (
            SELECT e.*, l.cash_account, l.delta, h.kind AS sort, c.account_id AS owner,
                CASE
                    WHEN e.withdrawal_id IS NOT NULL THEN (
                        SELECT w.reference FROM accounts_withdrawal w
                        WHERE w.id = e.withdrawal_id)
                    WHEN e.assigns_id IS NOT NULL THEN (
                        SELECT a.reference FROM accounts_cashtransaction a
                        WHERE a.id = e.assigns_id)
                    ELSE e.reference END AS said_reference,
                uuid_send(gen_random_uuid()) AS salt,
                h.last_number + row_number() OVER by_account AS number,
                (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after
            FROM entered e
            CROSS JOIN LATERAL (VALUES (e.source_id, -e.amount), (e.target_id, e.amount))
                AS l (cash_account, delta)
            JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account
            JOIN accounts_cashaccount c ON c.id = l.cash_account
            WINDOW by_account AS (PARTITION BY l.cash_account ORDER BY e.id)
            OFFSET 0
        ) n
    ), posted AS (
        INSERT INTO accounts_cashposting (cash_account_id, number, transaction_id,
            delta, balance_after, salt, private_digest)
        SELECT cash_account, number, id, delta, balance_after, salt, private_digest
        FROM legs
    ), held AS (
        SELECT account, delta FROM unnest(held_accounts, held_deltas)
            AS u (account, delta)
        UNION ALL
        -- A paid withdrawal frees what it has reserved.
        SELECT source_id, -amount FROM entered WHERE withdrawal_id IS NOT NULL
    ), moved AS (
        UPDATE accounts_cashhead h SET balance = h.balance + d.delta,
            reserved = h.reserved + d.held, last_number = h.last_number + d.legs,
            last_at = coalesce(d.at, h.last_at),
            entry_digest = CASE WHEN d.legs = 0 THEN h.entry_digest
                ELSE cash_chain(h.entry_digest, d.lines) END
        FROM (
            SELECT account, sum(delta)::bigint AS delta, sum(held)::bigint AS held,
                sum(leg) AS legs, max(at) AS at,
                array_agg(line ORDER BY number) FILTER (WHERE leg = 1) AS lines
            FROM (
                SELECT cash_account AS account, delta, 0 AS held, 1 AS leg, at, number,
                    cash_entry_line(owner, sort, number, kind, delta, balance_after, at,
                        said_reference, private_digest) AS line
                FROM legs
                UNION ALL
                SELECT account, 0, delta, 0, NULL, NULL, NULL FROM held
            ) l
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account
        RETURNING h.cash_account_id AS account
    )
    SELECT (SELECT array_agg(id ORDER BY id) FROM entered),
        (SELECT format('%s of %s cents from cash account %s to %s', kind, amount,
                source_id, target_id)
            FROM legs
            WHERE sort = 'CLIENT' AND balance_after < 0
                OR sort = 'BANK' AND balance_after > 0
            ORDER BY id LIMIT 1),
        (SELECT count(*) FROM held
            WHERE account NOT IN (SELECT account FROM moved))
        INTO ids, wrong, held;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'No account has less than nothing after a payment: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF held > 0 THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'TRADE' <> ANY (kinds) THEN
        PERFORM cash_tell(array_agg(c.id))
        FROM unnest(kinds, sources, targets) AS p (kind, source, target)
        CROSS JOIN LATERAL (VALUES (p.source), (p.target)) AS c (id)
        WHERE p.kind <> 'TRADE';
    END IF;
    RETURN ids;
END $$;
REVOKE ALL ON FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_invite(member uuid, partner uuid, mailbox text, granted text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('DESK', jsonb_build_object('partner', partner,
        'email', mailbox,
        'scopes', ARRAY(SELECT s FROM unnest(granted) AS s ORDER BY s COLLATE "C")),
        NULL, NULL, NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'An invitation to a desk always needs an approval by a second '
            'person.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_user u
        WHERE u.is_staff AND desk_mailbox(u.email) = desk_mailbox(mailbox);
    IF FOUND THEN
        RAISE EXCEPTION 'This approval is for an address of a member of staff, who cannot '
            'use the desk of a partner: %.', mailbox USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT granted <@ ARRAY(SELECT s.name::text FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'This approval names a scope that is unknown: %.', granted
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_deskmember m SET ended_at = clock_timestamp(), ended_by = 'expiry'
        WHERE m.partner_id = partner AND m.email = mailbox AND m.ended_at IS NULL
            AND m.enrolled_at IS NULL AND m.expires_at <= clock_timestamp();
    INSERT INTO accounts_deskmember (id, partner_id, email, scopes, request_id,
        invited_at, expires_at, ended_by, domain, sign_count)
    VALUES (member, partner, mailbox, granted, used, clock_timestamp(),
        clock_timestamp() + interval '7 days', '', '', 0);
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    VALUES (member, 'INVITED', mailbox, 0, clock_timestamp(), '');
END $$;
REVOKE ALL ON FUNCTION public.desk_invite(uuid, uuid, text, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.keys_narrow(key uuid, kept text[], until timestamp with time zone, revoked timestamp with time zone)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    partner uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_apikey k
        WHERE k.id = key AND NOT coalesce(kept <@ k.scopes::text[], TRUE);
    IF FOUND THEN
        RAISE EXCEPTION 'A key gets no further scope. Issue another.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_apikey k SET scopes = coalesce(kept, k.scopes::text[]),
        expires_at = least(k.expires_at, until),
        revoked_at = coalesce(k.revoked_at, revoked)
    WHERE k.id = key AND (coalesce(kept, k.scopes::text[]), least(k.expires_at, until),
            coalesce(k.revoked_at, revoked))
        IS DISTINCT FROM (k.scopes::text[], k.expires_at, k.revoked_at)
    RETURNING k.partner_id INTO partner;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['KEY_CHANGED'], NULL, NULL, NULL,
        NULL);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.keys_narrow(uuid, text[], timestamp with time zone, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_assert(key uuid, signer uuid, digests bytea[], authenticator_data bytea, client_data bytea, signature bytea)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
    told jsonb := convert_from(client_data, 'UTF8')::jsonb;
    counted bigint;
    made uuid := gen_random_uuid();
BEGIN
    SELECT * INTO k FROM accounts_passkey WHERE id = key FOR UPDATE;
    IF NOT FOUND OR k.person_id <> signer OR k.listed_at IS NULL
        OR k.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'Only a passkey of this person that counts may sign.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF told ->> 'type' IS DISTINCT FROM 'webauthn.get'
        OR told ->> 'challenge' IS DISTINCT FROM translate(rtrim(encode(sha256((
            SELECT string_agg(d, ''::bytea ORDER BY d) FROM unnest(digests) AS u (d))),
            'base64'), '='), '+/', '-_') THEN
        RAISE EXCEPTION 'The passkey has signed something else.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF length(authenticator_data) < 37 OR get_byte(authenticator_data, 32) & 5 <> 5 THEN
        RAISE EXCEPTION 'The device has not verified the person.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    counted := ('x' || encode(substr(authenticator_data, 34, 4), 'hex'))::bit(32)::bigint;
    IF counted <= k.sign_count AND (counted, k.sign_count) <> (0, 0) THEN
        RAISE EXCEPTION 'The counter of the passkey has not grown: there may be a copy.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey SET sign_count = counted WHERE id = key;
    INSERT INTO accounts_assertion (id, passkey_id, digests, authenticator_data,
        client_data, signature, made_at)
    VALUES (made, key, digests, authenticator_data, client_data, signature,
        clock_timestamp());
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_assert(uuid, uuid, bytea[], bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sign_in_reset(person uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('SIGN_IN', jsonb_build_object('person', person), NULL, NULL,
        NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'The reset of a sign-in always needs an approval by a second '
            'person.' USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM accounts_recoverycode c WHERE c.person_id = person;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_reset(uuid) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0086_lists_of_few"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
