"""Contract: one trigger of a table judges what two or three did."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '71 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_cashaccount, public.accounts_rowchange, public.accounts_user, public.django_admin_log IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_describe()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    SELECT partner_id, user_id INTO NEW.partner_id, NEW.user_id
        FROM accounts_account WHERE id = NEW.account_id AND status = 'PENDING';
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_describe() FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.accounts_follow_staff(line accounts_rowchange)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    whom uuid; is_own boolean;
BEGIN
    PERFORM accounts_read_committed();
    CASE line.table_name
    WHEN 'accounts_user' THEN
        whom := line.row_id;
        SELECT line.who = CASE WHEN line.before ? 'email' THEN line.before ->> 'email'
            ELSE u.email END INTO is_own
            FROM accounts_user u WHERE u.id = whom;
        PERFORM accounts_note_staff(whom, t.happened, t.more, line.id,
            line.before ->> 'email')
        FROM (VALUES
            ('MADE', '', (line.after ->> 'is_staff')::boolean),
            ('SUPERUSER', '', (line.after ->> 'is_superuser')::boolean),
            ('REACTIVATED', '', line.operation = 'UPDATE'
                AND (line.after ->> 'is_active')::boolean),
            ('PASSWORD', '', line.operation = 'UPDATE' AND line.after ? 'password'
                AND is_own IS NOT TRUE),
            ('LOGIN', concat_ws(' → ', line.before ->> 'email', line.after ->> 'email'),
                line.operation = 'UPDATE' AND line.after ? 'email'
                AND is_own IS NOT TRUE),
            ('IDENTITY', line.before ->> 'id',
                line.operation = 'UPDATE' AND line.after ? 'id')
        ) AS t (happened, more, is_so) WHERE t.is_so;
    WHEN 'accounts_user_groups' THEN
        IF line.row_id = coalesce(line.after ->> 'user_id', line.row_id) THEN
            PERFORM accounts_note_staff(line.row_id::uuid, 'GROUP', (
                SELECT g.name FROM auth_group g
                WHERE g.id = (line.after ->> 'group_id')::integer), line.id, NULL);
        END IF;
    WHEN 'accounts_user_user_permissions' THEN
        IF line.row_id = coalesce(line.after ->> 'user_id', line.row_id) THEN
            PERFORM accounts_note_staff(line.row_id::uuid, 'RIGHT', (
                SELECT p.codename FROM auth_permission p
                WHERE p.id = (line.after ->> 'permission_id')::integer), line.id, NULL);
        END IF;
    WHEN 'auth_group_permissions' THEN
        -- A release gives the roles their rights; only the owner migrates.
        IF line.row_id = coalesce(line.after ->> 'group_id', line.row_id) AND NOT (
            line.source = 'migrate' AND pg_has_role(session_user, (
                SELECT relowner FROM pg_class WHERE oid = 'accounts_rowchange'::regclass), 'MEMBER')) THEN
            PERFORM accounts_note_staff(m.user_id, 'GROUP_RIGHT', (
                SELECT g.name || ': ' || p.codename FROM auth_group g, auth_permission p
                WHERE g.id = m.group_id
                    AND p.id = (line.after ->> 'permission_id')::integer), line.id, NULL)
            FROM accounts_user_groups m WHERE m.group_id = line.row_id::integer;
        END IF;
    WHEN 'otp_totp_totpdevice' THEN
        whom := line.row_id;
        PERFORM FROM accounts_user u WHERE u.id = whom AND u.email = line.who;
        IF NOT FOUND THEN
            PERFORM accounts_note_staff(whom, 'DEVICE', CASE line.operation
                WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE 'changed' END, line.id, NULL);
        END IF;
    END CASE;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_staff(accounts_rowchange) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_keys()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        IF NOT NEW.scopes <@ ARRAY(SELECT s.name FROM accounts_keyscope s) THEN
            RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
                'manage.py migrate writes the scopes of a new release.', NEW.scopes
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.id <> OLD.id OR NEW.partner_id <> OLD.partner_id
        OR NOT NEW.scopes <@ OLD.scopes
        OR NEW.secret_digest <> OLD.secret_digest
            AND NEW.pepper_id IS NOT DISTINCT FROM OLD.pepper_id
        OR OLD.revoked_at IS NOT NULL
            AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at
        OR coalesce(NEW.expires_at, 'infinity') > OLD.expires_at THEN
        RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
            'end, no other partner and, but for another pepper, no other secret, and is '
            'not revived. Issue another.',
            OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.secret_digest <> OLD.secret_digest
            OR NEW.pepper_id IS DISTINCT FROM OLD.pepper_id)
        AND current_user <> (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
            WHERE c.oid = TG_RELID) THEN
        RAISE EXCEPTION 'Key % keeps its digest: accounts_move_keys gives it another '
            'for what opens the one that it has.', OLD.last_four
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_names()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('names of holders', 0));
    INSERT INTO accounts_userholdername (holder_id, name, replaced_at)
    SELECT OLD.id, OLD.name, greatest(clock_timestamp(), max(n.replaced_at))
    FROM accounts_userholdername n WHERE n.holder_id = OLD.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_names() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_superusers()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF NEW.is_superuser AND OLD.is_superuser IS NOT TRUE AND NOT pg_has_role(
            (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' AND (NEW.status <> 'PENDING' OR NEW.changes <> 0
        OR NEW.status_reason IS NOT NULL) THEN
        RAISE EXCEPTION 'An account begins as PENDING, and its history leads on.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.recorded_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_open_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_read_committed()
RETURNS void LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed since, '
            'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
GRANT EXECUTE ON FUNCTION public.accounts_read_committed() TO PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_time_change()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_time_change() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    WITH named AS (
        INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
        SELECT o.number, 'CLIENT', o.id, cash_reference('1', o.number)
        FROM (SELECT id, nextval('public.accounts_cashaccount_id_seq') AS number
            FROM opened ORDER BY id) o
        RETURNING id
    )
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, 'CLIENT', 0, 0, 0, decode(repeat('00', 32), 'hex') FROM named;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_open_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.history_record()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    became jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    key_column text := coalesce(TG_ARGV[2], 'id');
    left_out text[] := string_to_array(TG_ARGV[0], ' ');
    secret text[] := string_to_array(TG_ARGV[1], ' ');
    row_keys text[] := ARRAY(SELECT DISTINCT CASE WHEN key_column = ANY (secret)
            THEN left(encode(sha256(convert_to(k, 'UTF8')), 'hex'), 40) ELSE k END
        FROM unnest(ARRAY[was ->> key_column, became ->> key_column]) k
        WHERE k IS NOT NULL);
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
    row_key text;
    line accounts_rowchange;
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
    FOREACH row_key IN ARRAY row_keys LOOP
        INSERT INTO accounts_rowchange
            (at, table_name, row_id, operation, before, after, who, source, request_id)
        VALUES (clock_timestamp(), TG_TABLE_NAME, row_key, TG_OP, was, became,
            left(coalesce(author ->> 'who', session_user), 254),
            left(coalesce(author ->> 'from', 'SQL'), 200),
            left(coalesce(author ->> 'request', ''), 100))
        RETURNING * INTO line;
        IF TG_TABLE_NAME = 'otp_totp_totpdevice' OR became IS NOT NULL
            AND TG_TABLE_NAME IN ('accounts_user_groups',
                'accounts_user_user_permissions', 'auth_group_permissions')
            OR TG_TABLE_NAME = 'accounts_user' AND became ?| ARRAY['is_staff',
                'is_superuser', 'is_active', 'password', 'email', 'id'] THEN
            PERFORM accounts_follow_staff(line);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.history_record() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.staff_log_stays()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'What staff did stays on the log, and so does user %. Clear '
            'is_active on the user instead.', OLD.user_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.action_time := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.staff_log_stays() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE INSERT OR UPDATE ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_keys();

CREATE OR REPLACE TRIGGER accounts_keep_superusers BEFORE INSERT OR UPDATE ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT OR UPDATE ON public.accounts_account FOR EACH ROW EXECUTE FUNCTION public.accounts_open_account();

CREATE OR REPLACE TRIGGER staff_log_stays BEFORE INSERT OR DELETE ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.staff_log_stays();

DROP TRIGGER update_time ON public.accounts_account;

DROP TRIGGER accounts_accept_applicant ON public.accounts_accountstatuschange;

DROP TRIGGER cash_of_closed_account ON public.accounts_accountstatuschange;

DROP TRIGGER accounts_judge_scopes ON public.accounts_apikey;

DROP TRIGGER accounts_keep_secret ON public.accounts_apikey;

DROP TRIGGER cash_name_account ON public.accounts_cashaccount;

DROP TRIGGER cash_open_head ON public.accounts_cashaccount;

DROP TRIGGER accounts_follow_staff ON public.accounts_rowchange;

DROP TRIGGER staff_log_has_its_time ON public.django_admin_log;

DROP FUNCTION public.accounts_accept_applicant();

DROP FUNCTION public.accounts_follow_staff();

DROP FUNCTION public.accounts_judge_scopes();

DROP FUNCTION public.accounts_keep_secret();

DROP FUNCTION public.accounts_record_time();

DROP FUNCTION public.cash_name_account();

DROP FUNCTION public.cash_of_closed_account();

DROP FUNCTION public.cash_open_head();

DROP FUNCTION public.staff_log_has_its_time();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '71 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_cashaccount, public.accounts_rowchange, public.accounts_user, public.django_admin_log IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_describe()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    SELECT partner_id, user_id INTO NEW.partner_id, NEW.user_id
        FROM accounts_account WHERE id = NEW.account_id AND status = 'PENDING';
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_describe() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_follow_history()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
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
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_history() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_keys()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
        'end, no other partner and, but for another pepper, no other secret, and is '
        'not revived. Issue another.',
        OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_names()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('names of holders', 0));
    INSERT INTO accounts_userholdername (holder_id, name, replaced_at)
    SELECT OLD.id, OLD.name, greatest(clock_timestamp(), max(n.replaced_at))
    FROM accounts_userholdername n WHERE n.holder_id = OLD.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_names() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_superusers()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NEW.is_superuser AND OLD.is_superuser IS NOT TRUE AND NOT pg_has_role(
            (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NEW.status <> 'PENDING' OR NEW.changes <> 0 OR NEW.status_reason IS NOT NULL THEN
        RAISE EXCEPTION 'An account begins as PENDING, and its history leads on.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_open_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_time_change()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_time_change() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    INSERT INTO accounts_cashaccount (kind, account_id)
    SELECT 'CLIENT', id FROM opened ORDER BY id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_open_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.history_record()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    became jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    key_column text := coalesce(TG_ARGV[2], 'id');
    left_out text[] := string_to_array(TG_ARGV[0], ' ');
    secret text[] := string_to_array(TG_ARGV[1], ' ');
    row_keys text[] := ARRAY(SELECT DISTINCT CASE WHEN key_column = ANY (secret)
            THEN left(encode(sha256(convert_to(k, 'UTF8')), 'hex'), 40) ELSE k END
        FROM unnest(ARRAY[was ->> key_column, became ->> key_column]) k
        WHERE k IS NOT NULL);
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
    SELECT clock_timestamp(), TG_TABLE_NAME, k, TG_OP, was, became,
        left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200),
        left(coalesce(author ->> 'request', ''), 100)
    FROM unnest(row_keys) k;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.history_record() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.staff_log_stays()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'What staff did stays on the log, and so does user %. Clear '
        'is_active on the user instead.', OLD.user_id
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.staff_log_stays() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_accept_applicant()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE p.account_id = NEW.account_id AND a.user_id = p.user_id
            AND u.id = p.user_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_accept_applicant() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_follow_staff()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    whom uuid; is_own boolean;
BEGIN
    CASE NEW.table_name
    WHEN 'accounts_user' THEN
        whom := NEW.row_id;
        SELECT NEW.who = CASE WHEN NEW.before ? 'email' THEN NEW.before ->> 'email'
            ELSE u.email END INTO is_own
            FROM accounts_user u WHERE u.id = whom;
        PERFORM accounts_note_staff(whom, t.happened, t.more, NEW.id,
            NEW.before ->> 'email')
        FROM (VALUES
            ('MADE', '', (NEW.after ->> 'is_staff')::boolean),
            ('SUPERUSER', '', (NEW.after ->> 'is_superuser')::boolean),
            ('REACTIVATED', '', NEW.operation = 'UPDATE'
                AND (NEW.after ->> 'is_active')::boolean),
            ('PASSWORD', '', NEW.operation = 'UPDATE' AND NEW.after ? 'password'
                AND is_own IS NOT TRUE),
            ('LOGIN', concat_ws(' → ', NEW.before ->> 'email', NEW.after ->> 'email'),
                NEW.operation = 'UPDATE' AND NEW.after ? 'email'
                AND is_own IS NOT TRUE),
            ('IDENTITY', NEW.before ->> 'id',
                NEW.operation = 'UPDATE' AND NEW.after ? 'id')
        ) AS t (happened, more, is_so) WHERE t.is_so;
    WHEN 'accounts_user_groups' THEN
        IF NEW.row_id = coalesce(NEW.after ->> 'user_id', NEW.row_id) THEN
            PERFORM accounts_note_staff(NEW.row_id::uuid, 'GROUP', (
                SELECT g.name FROM auth_group g
                WHERE g.id = (NEW.after ->> 'group_id')::integer), NEW.id, NULL);
        END IF;
    WHEN 'accounts_user_user_permissions' THEN
        IF NEW.row_id = coalesce(NEW.after ->> 'user_id', NEW.row_id) THEN
            PERFORM accounts_note_staff(NEW.row_id::uuid, 'RIGHT', (
                SELECT p.codename FROM auth_permission p
                WHERE p.id = (NEW.after ->> 'permission_id')::integer), NEW.id, NULL);
        END IF;
    WHEN 'auth_group_permissions' THEN
        -- A release gives the roles their rights; only the owner migrates.
        IF NEW.row_id = coalesce(NEW.after ->> 'group_id', NEW.row_id) AND NOT (
            NEW.source = 'migrate' AND pg_has_role(session_user, (
                SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')) THEN
            PERFORM accounts_note_staff(m.user_id, 'GROUP_RIGHT', (
                SELECT g.name || ': ' || p.codename FROM auth_group g, auth_permission p
                WHERE g.id = m.group_id
                    AND p.id = (NEW.after ->> 'permission_id')::integer), NEW.id, NULL)
            FROM accounts_user_groups m WHERE m.group_id = NEW.row_id::integer;
        END IF;
    WHEN 'otp_totp_totpdevice' THEN
        whom := NEW.row_id;
        PERFORM FROM accounts_user u WHERE u.id = whom AND u.email = NEW.who;
        IF NOT FOUND THEN
            PERFORM accounts_note_staff(whom, 'DEVICE', CASE NEW.operation
                WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE 'changed' END, NEW.id, NULL);
        END IF;
    END CASE;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_staff() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_judge_scopes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NOT NEW.scopes <@ ARRAY(SELECT s.name FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
            'manage.py migrate writes the scopes of a new release.', NEW.scopes
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_judge_scopes() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_secret()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF current_user <> (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
            WHERE c.oid = TG_RELID) THEN
        RAISE EXCEPTION 'Key % keeps its digest: accounts_move_keys gives it another '
            'for what opens the one that it has.', OLD.last_four
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_secret() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_record_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.recorded_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_record_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_name_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    NEW.deposit_reference := CASE NEW.kind WHEN 'CLIENT'
        THEN cash_reference('1', NEW.id) END;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_name_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_of_closed_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    left_over bigint;
BEGIN
    SELECT h.balance INTO left_over
    FROM accounts_cashaccount c JOIN accounts_cashhead h ON h.cash_account_id = c.id
    WHERE c.account_id = NEW.account_id FOR NO KEY UPDATE OF h;
    IF left_over <> 0 THEN
        RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
            left_over USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_of_closed_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_open_head()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, kind, 0, 0, 0, decode(repeat('00', 32), 'hex') FROM opened ORDER BY id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_open_head() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.staff_log_has_its_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    NEW.action_time := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.staff_log_has_its_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (new.id <> old.id OR new.partner_id <> old.partner_id OR NOT new.scopes <@ old.scopes OR new.secret_digest <> old.secret_digest AND NOT new.pepper_id IS DISTINCT FROM old.pepper_id OR old.revoked_at IS NOT NULL AND new.revoked_at IS DISTINCT FROM old.revoked_at OR old.expires_at IS NOT NULL AND COALESCE(new.expires_at, 'infinity'::timestamp with time zone) > old.expires_at) EXECUTE FUNCTION public.accounts_keep_keys();

CREATE OR REPLACE TRIGGER accounts_keep_superusers BEFORE INSERT OR UPDATE OF is_superuser ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT ON public.accounts_account FOR EACH ROW EXECUTE FUNCTION public.accounts_open_account();

CREATE OR REPLACE TRIGGER staff_log_stays BEFORE DELETE ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.staff_log_stays();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.accounts_account FOR EACH ROW EXECUTE FUNCTION public.accounts_record_time();

CREATE OR REPLACE TRIGGER accounts_accept_applicant AFTER INSERT ON public.accounts_accountstatuschange FOR EACH ROW WHEN (new.previous_status = 'PENDING' AND new.status = 'ACTIVE') EXECUTE FUNCTION public.accounts_accept_applicant();

CREATE OR REPLACE TRIGGER cash_of_closed_account AFTER INSERT ON public.accounts_accountstatuschange FOR EACH ROW WHEN (new.status = 'CLOSED') EXECUTE FUNCTION public.cash_of_closed_account();

CREATE OR REPLACE TRIGGER accounts_judge_scopes BEFORE INSERT ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.accounts_judge_scopes();

CREATE OR REPLACE TRIGGER accounts_keep_secret BEFORE UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (new.secret_digest <> old.secret_digest OR new.pepper_id IS DISTINCT FROM old.pepper_id) EXECUTE FUNCTION public.accounts_keep_secret();

CREATE OR REPLACE TRIGGER cash_name_account BEFORE INSERT ON public.accounts_cashaccount FOR EACH ROW EXECUTE FUNCTION public.cash_name_account();

CREATE OR REPLACE TRIGGER cash_open_head AFTER INSERT ON public.accounts_cashaccount REFERENCING NEW TABLE AS opened FOR EACH STATEMENT EXECUTE FUNCTION public.cash_open_head();

CREATE OR REPLACE TRIGGER accounts_follow_staff AFTER INSERT ON public.accounts_rowchange FOR EACH ROW WHEN (new.table_name = 'otp_totp_totpdevice' OR new.after IS NOT NULL AND ((new.table_name = ANY (ARRAY['accounts_user_groups', 'accounts_user_user_permissions', 'auth_group_permissions'])) OR new.table_name = 'accounts_user' AND new.after ?| ARRAY['is_staff', 'is_superuser', 'is_active', 'password', 'email', 'id'])) EXECUTE FUNCTION public.accounts_follow_staff();

CREATE OR REPLACE TRIGGER staff_log_has_its_time BEFORE INSERT ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.staff_log_has_its_time();

DROP FUNCTION public.accounts_follow_staff(accounts_rowchange);

DROP FUNCTION public.accounts_read_committed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0068_no_table_checks"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
