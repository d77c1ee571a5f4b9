"""Contract: functions alone write accounts, keys, deliveries and exports."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '71 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_applicant, public.issuers_deliveryjob, public.issuers_deliverystep, public.partnerapi_exportmember IN ACCESS EXCLUSIVE MODE;

-- From here on functions alone write these tables, but for columns that say what became
-- of a row.
DO $revoke$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT DISTINCT c.oid::regclass AS of, a.grantee::regrole AS role, w.kept
        FROM (VALUES
            ('accounts_account', NULL),
            ('accounts_accountstatuschange', NULL),
            ('accounts_apikey', 'last_used_at'),
            ('accounts_applicant', NULL),
            ('issuers_deliveryjob', 'position, delivered, skipped, refused, finished_at,'
                ' handed_over_at, resumed_by, tried_at, held'),
            ('issuers_deliverystep', 'refusals, skipped_ids'),
            ('partnerapi_exportmember', NULL)) AS w (name, kept)
        JOIN pg_class c ON c.relnamespace = 'public'::regnamespace AND c.relname = w.name
        CROSS JOIN aclexplode(c.relacl) a
        WHERE a.grantee NOT IN (0, c.relowner)
            AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s FROM %s', given.of,
            given.role);
        IF given.kept IS NOT NULL THEN
            EXECUTE format('GRANT UPDATE (%s) ON %s TO %s', given.kept, given.of,
                given.role);
        END IF;
    END LOOP;
END $revoke$;

DROP TRIGGER accounts_begin_history ON public.accounts_account;

DROP TRIGGER accounts_count_accounts ON public.accounts_account;

DROP TRIGGER accounts_open_account ON public.accounts_account;

DROP TRIGGER cash_open_account ON public.accounts_account;

DROP TRIGGER accounts_follow_history ON public.accounts_accountstatuschange;

DROP TRIGGER accounts_time_change ON public.accounts_accountstatuschange;

DROP TRIGGER approvals_of_closing ON public.accounts_accountstatuschange;

DROP TRIGGER events_account_changed ON public.accounts_accountstatuschange;

DROP TRIGGER accounts_keep_keys ON public.accounts_apikey;

DROP TRIGGER approvals_of_key ON public.accounts_apikey;

DROP TRIGGER events_key_changed ON public.accounts_apikey;

DROP TRIGGER accounts_describe ON public.accounts_applicant;

DROP TRIGGER approvals_of_delivery ON public.issuers_deliveryjob;

DROP TRIGGER delivery_stays ON public.issuers_deliverystep;

DROP TRIGGER partnerapi_follow_members ON public.partnerapi_exportmember;

DROP FUNCTION public.accounts_begin_history();

DROP FUNCTION public.accounts_count_accounts();

DROP FUNCTION public.accounts_describe();

DROP FUNCTION public.accounts_follow_history();

DROP FUNCTION public.accounts_keep_keys();

DROP FUNCTION public.accounts_open_account();

DROP FUNCTION public.accounts_time_change();

DROP FUNCTION public.approvals_of_closing();

DROP FUNCTION public.approvals_of_delivery();

DROP FUNCTION public.approvals_of_key();

DROP FUNCTION public.cash_open_account();

DROP FUNCTION public.delivery_stays();

DROP FUNCTION public.events_account_changed();

DROP FUNCTION public.events_key_changed();

DROP FUNCTION public.partnerapi_follow_members();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '71 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_applicant, public.issuers_deliveryjob, public.issuers_deliverystep, public.partnerapi_exportmember IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_begin_history()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM accounts_accountstatuschange WHERE account_id = NEW.id) THEN
        RAISE EXCEPTION 'Account % has no history; it begins with its opening.', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_begin_history() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
        array_agg(number))
    FROM (SELECT partner_id, count(*) AS number FROM changed GROUP BY partner_id) c
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.approvals_of_closing()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    used uuid;
BEGIN
    used := approvals_use('CLOSING', jsonb_build_object('account', NEW.account_id,
        'number', NEW.number, 'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NULL THEN
        PERFORM accounts_staff_with(NEW.actor, 'accounts.change_account');
    ELSE
        PERFORM cash_judge_staff(NEW.actor, used, '{}');
    END IF;
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'The closing of an account names who approved it.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_closing() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_delivery()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    lines bigint;
    shares numeric;
    issuers uuid[];
    amounts numeric[];
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' AND NEW.released_at IS NULL
        OR ROW (NEW.released_at, NEW.source, NEW.created_by) IS NOT DISTINCT FROM
            ROW (OLD.released_at, OLD.source, OLD.created_by) THEN
        RETURN NEW;
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
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = NEW.id
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        issuers, amounts, NULL, NULL);
    NEW.released_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_delivery() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_key()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM FROM accounts_deskkey d JOIN accounts_deskmember m ON m.id = d.member_id
        WHERE d.key_id = NEW.id AND m.partner_id = NEW.partner_id
            AND NEW.scopes::text[] <@ m.scopes::text[] AND NEW.expires_at IS NOT NULL;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('KEY', jsonb_build_object('partner', NEW.partner_id,
        'scopes', ARRAY(SELECT s FROM unnest(NEW.scopes) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM NEW.expires_at))), NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_key() FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.delivery_stays()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM issuers_deliveryjob WHERE id = NEW.job_id FOR UPDATE;
        IF NOT EXISTS (SELECT FROM issuers_deliveryjob
            WHERE id = NEW.job_id AND released_at IS NULL) THEN
            RAISE EXCEPTION 'Delivery % was released; it gets no further lines.',
                NEW.job_id USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.job_id, NEW.position, NEW.shareholder_ids, NEW.units, NEW.token_ids,
            NEW.user_ids) IS DISTINCT FROM (OLD.job_id, OLD.position,
            OLD.shareholder_ids, OLD.units, OLD.token_ids, OLD.user_ids) THEN
        RAISE EXCEPTION 'The lines of a delivery stay as they were frozen.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_stays() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_account_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_key_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.scopes, NEW.expires_at, NEW.revoked_at)
            IS NOT DISTINCT FROM (OLD.scopes, OLD.expires_at, OLD.revoked_at) THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(NULL, ARRAY[coalesce(NEW.partner_id, OLD.partner_id)],
        ARRAY['KEY_CHANGED'], NULL, NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.partnerapi_follow_members()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
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
REVOKE ALL ON FUNCTION public.partnerapi_follow_members() FROM PUBLIC;

DROP TRIGGER IF EXISTS accounts_begin_history ON public.accounts_account;
CREATE CONSTRAINT TRIGGER accounts_begin_history AFTER INSERT ON public.accounts_account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_begin_history();

CREATE OR REPLACE TRIGGER accounts_count_accounts AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_count_accounts();
ALTER TABLE public.accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts;

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT OR UPDATE ON public.accounts_account FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_open_account();

CREATE OR REPLACE TRIGGER cash_open_account AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS opened FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_open_account();

CREATE OR REPLACE TRIGGER accounts_follow_history AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_follow_history();

CREATE OR REPLACE TRIGGER accounts_time_change BEFORE INSERT ON public.accounts_accountstatuschange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_time_change();

DROP TRIGGER IF EXISTS approvals_of_closing ON public.accounts_accountstatuschange;
CREATE CONSTRAINT TRIGGER approvals_of_closing AFTER INSERT ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.is_staff AND new.status = 'CLOSED' AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_closing();

CREATE OR REPLACE TRIGGER events_account_changed AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.events_account_changed();

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE INSERT OR UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_keep_keys();

DROP TRIGGER IF EXISTS approvals_of_key ON public.accounts_apikey;
CREATE CONSTRAINT TRIGGER approvals_of_key AFTER INSERT ON public.accounts_apikey DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_key();

CREATE OR REPLACE TRIGGER events_key_changed AFTER INSERT OR DELETE OR UPDATE OF scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.events_key_changed();

CREATE OR REPLACE TRIGGER accounts_describe BEFORE INSERT ON public.accounts_applicant FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_describe();

CREATE OR REPLACE TRIGGER approvals_of_delivery BEFORE INSERT OR UPDATE ON public.issuers_deliveryjob FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_delivery();

CREATE OR REPLACE TRIGGER delivery_stays BEFORE INSERT OR UPDATE ON public.issuers_deliverystep FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.delivery_stays();

CREATE OR REPLACE TRIGGER partnerapi_follow_members BEFORE INSERT ON public.partnerapi_exportmember FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.partnerapi_follow_members();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0038_guards_of_release_before"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
