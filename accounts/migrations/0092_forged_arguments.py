"""Forged arguments."""

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
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0091_filed_or_decided"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
