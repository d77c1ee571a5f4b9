"""Functions write accounts, keys, deliveries and members of exports."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_follow_history()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
    left_over bigint;
BEGIN
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
    SELECT format('account %s by %s', e.account_id, e.actor) INTO wrong
    FROM entered e
    JOIN accounts_account a ON a.id = e.account_id
    JOIN accounts_partner p ON p.id = a.partner_id
    WHERE NOT e.is_staff AND NOT (e.actor = p.login
        AND (e.previous_status IS NULL OR e.previous_status IN ('ACTIVE', 'SUSPENDED')))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A partner opens, suspends, reactivates and closes accounts of '
            'its own: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(e.actor, 'accounts.change_account')
        FROM (SELECT DISTINCT actor FROM entered
            WHERE is_staff AND status <> 'CLOSED') e;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at, recorded_at = clock_timestamp()
        FROM (SELECT DISTINCT ON (account_id) * FROM entered
              ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM entered e JOIN accounts_applicant p ON p.account_id = e.account_id
        JOIN accounts_account a ON a.id = p.account_id AND a.user_id = p.user_id
        WHERE (e.previous_status, e.status) = ('PENDING', 'ACTIVE')
            AND u.id = p.user_id;
    FOR left_over IN
        SELECT h.balance FROM entered e
        JOIN accounts_cashaccount c ON c.account_id = e.account_id
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE e.status = 'CLOSED' ORDER BY c.id FOR NO KEY UPDATE OF h
    LOOP
        IF left_over <> 0 THEN
            RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
                left_over USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_history() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_join(account uuid, known uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
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
        RAISE EXCEPTION 'An account is joined to a user of the same type that has the '
            'email or the LEI that the partner gave.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM pg_current_xact_id();
    UPDATE accounts_account SET user_id = known, recorded_at = clock_timestamp()
        WHERE id = account;
END $$;
REVOKE ALL ON FUNCTION public.accounts_join(uuid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_state_client(account uuid, own_reference text, email text, lei text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM accounts_read_committed();
    INSERT INTO accounts_applicant
        (account_id, partner_id, user_id, reference, email, lei)
    SELECT account, a.partner_id, a.user_id, own_reference, email, lei
    FROM (VALUES (account)) AS s (id)
    LEFT JOIN accounts_account a ON a.id = s.id AND a.status = 'PENDING';
END $$;
REVOKE ALL ON FUNCTION public.accounts_state_client(uuid, text, text, text) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.desk_issue_key(member uuid, counted bigint, asked_at timestamp with time zone, key uuid, digest bytea, pepper bigint, ending text, wanted text[], until timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    m accounts_deskmember;
    moment timestamptz := clock_timestamp();
BEGIN
    PERFORM accounts_read_committed();
    PERFORM desk_use(member, counted, asked_at);
    SELECT * INTO m FROM accounts_deskmember WHERE id = member;
    PERFORM FROM accounts_partner p WHERE p.id = m.partner_id FOR NO KEY UPDATE;
    IF cardinality(wanted) = 0 OR NOT wanted <@ m.scopes::text[] THEN
        RAISE EXCEPTION 'A key has scopes, and only those that were approved for the '
            'member that issues it: %.', wanted USING ERRCODE = 'restrict_violation';
    END IF;
    IF until IS NULL OR until <= moment OR until > moment + interval '366 days' THEN
        RAISE EXCEPTION 'A key expires within 366 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (SELECT count(*) FROM accounts_deskkey d
            JOIN accounts_deskmember o ON o.id = d.member_id
            JOIN accounts_apikey k ON k.id = d.key_id
            WHERE o.partner_id = m.partner_id AND k.revoked_at IS NULL
                AND k.expires_at > moment) >= 20 THEN
        RAISE EXCEPTION 'The desk has issued 20 active keys; revoke one first.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM keys_enter(key, m.partner_id, digest, pepper, ending, wanted, until);
    INSERT INTO accounts_deskkey (key_id, member_id) VALUES (key, member);
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT member, 'KEY', o.email, 0, moment, '' FROM accounts_deskmember o
        WHERE o.partner_id = m.partner_id AND o.ended_at IS NULL
            AND o.enrolled_at IS NOT NULL;
END $$;
REVOKE ALL ON FUNCTION public.desk_issue_key(uuid, bigint, timestamp with time zone, uuid, bytea, bigint, text, text[], timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.keys_enter(key uuid, partner uuid, digest bytea, pepper bigint, ending text, wanted text[], until timestamp with time zone)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF NOT wanted <@ ARRAY(SELECT s.name::text FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
            'manage.py migrate writes the scopes of a new release.', wanted
            USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO accounts_apikey (id, partner_id, secret_digest, pepper_id, last_four,
        scopes, created_at, expires_at)
    VALUES (key, partner, digest, pepper, ending, wanted, clock_timestamp(), until);
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['KEY_CHANGED'], NULL, NULL, NULL,
        NULL);
END $$;
REVOKE ALL ON FUNCTION public.keys_enter(uuid, uuid, bytea, bigint, text, text[], timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.keys_issue(key uuid, partner uuid, digest bytea, pepper bigint, ending text, wanted text[], until timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM keys_enter(key, partner, digest, pepper, ending, wanted, until);
    PERFORM approvals_use('KEY', jsonb_build_object('partner', partner,
        'scopes', ARRAY(SELECT s FROM unnest(wanted) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM until))), NULL, NULL, NULL);
END $$;
REVOKE ALL ON FUNCTION public.keys_issue(uuid, uuid, bytea, bigint, text, text[], timestamp with time zone) FROM PUBLIC;

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
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_follow_history()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
    left_over bigint;
BEGIN
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
    SELECT format('account %s by %s', e.account_id, e.actor) INTO wrong
    FROM entered e
    JOIN accounts_account a ON a.id = e.account_id
    JOIN accounts_partner p ON p.id = a.partner_id
    WHERE NOT e.is_staff AND NOT (e.actor = p.login
        AND (e.previous_status IS NULL OR e.previous_status IN ('ACTIVE', 'SUSPENDED')))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A partner opens, suspends, reactivates and closes accounts of '
            'its own: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(e.actor, 'accounts.change_account')
        FROM (SELECT DISTINCT actor FROM entered
            WHERE is_staff AND status <> 'CLOSED') e;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at
        FROM (SELECT DISTINCT ON (account_id) * FROM entered
              ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM entered e JOIN accounts_applicant p ON p.account_id = e.account_id
        JOIN accounts_account a ON a.id = p.account_id AND a.user_id = p.user_id
        WHERE (e.previous_status, e.status) = ('PENDING', 'ACTIVE')
            AND u.id = p.user_id;
    FOR left_over IN
        SELECT h.balance FROM entered e
        JOIN accounts_cashaccount c ON c.account_id = e.account_id
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE e.status = 'CLOSED' ORDER BY c.id FOR NO KEY UPDATE OF h
    LOOP
        IF left_over <> 0 THEN
            RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
                left_over USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_history() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_join(account uuid, known uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
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
        RAISE EXCEPTION 'An account is joined to a user of the same type that has the '
            'email or the LEI that the partner gave.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_account SET user_id = known WHERE id = account;
END $$;
REVOKE ALL ON FUNCTION public.accounts_join(uuid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_issue_key(member uuid, counted bigint, asked_at timestamp with time zone, key uuid, digest bytea, pepper bigint, ending text, wanted text[], until timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    m accounts_deskmember;
    moment timestamptz := clock_timestamp();
BEGIN
    PERFORM accounts_read_committed();
    PERFORM desk_use(member, counted, asked_at);
    SELECT * INTO m FROM accounts_deskmember WHERE id = member;
    PERFORM FROM accounts_partner p WHERE p.id = m.partner_id FOR NO KEY UPDATE;
    IF cardinality(wanted) = 0 OR NOT wanted <@ m.scopes::text[] THEN
        RAISE EXCEPTION 'A key has scopes, and only those that were approved for the '
            'member that issues it: %.', wanted USING ERRCODE = 'restrict_violation';
    END IF;
    IF until IS NULL OR until <= moment OR until > moment + interval '366 days' THEN
        RAISE EXCEPTION 'A key expires within 366 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (SELECT count(*) FROM accounts_deskkey d
            JOIN accounts_deskmember o ON o.id = d.member_id
            JOIN accounts_apikey k ON k.id = d.key_id
            WHERE o.partner_id = m.partner_id AND k.revoked_at IS NULL
                AND k.expires_at > moment) >= 20 THEN
        RAISE EXCEPTION 'The desk has issued 20 active keys; revoke one first.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_apikey (id, partner_id, secret_digest, pepper_id, last_four,
        scopes, created_at, expires_at)
    VALUES (key, m.partner_id, digest, pepper, ending, wanted, moment, until);
    INSERT INTO accounts_deskkey (key_id, member_id) VALUES (key, member);
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT member, 'KEY', o.email, 0, moment, '' FROM accounts_deskmember o
        WHERE o.partner_id = m.partner_id AND o.ended_at IS NULL
            AND o.enrolled_at IS NOT NULL;
END $$;
REVOKE ALL ON FUNCTION public.desk_issue_key(uuid, bigint, timestamp with time zone, uuid, bytea, bigint, text, text[], timestamp with time zone) FROM PUBLIC;

DROP FUNCTION public.accounts_state_client(uuid, text, text, text);

DROP FUNCTION public.accounts_write(uuid[], uuid[], uuid[], uuid[], text[], text[], text[], boolean[], text[], timestamp with time zone[]);

DROP FUNCTION public.keys_enter(uuid, uuid, bytea, bigint, text, text[], timestamp with time zone);

DROP FUNCTION public.keys_issue(uuid, uuid, bytea, bigint, text, text[], timestamp with time zone);

DROP FUNCTION public.keys_narrow(uuid, text[], timestamp with time zone, timestamp with time zone);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0074_limits_of_orders_are_validated"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
