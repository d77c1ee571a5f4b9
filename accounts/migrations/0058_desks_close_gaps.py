"""Desks close gaps."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.accounts_apikey IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.approvals_of_key()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'approvals_of_key guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
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

CREATE OR REPLACE FUNCTION public.desk_enrol(member uuid, credential bytea, point bytea, bound_to text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    partner uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF length(point) <> 65 OR get_byte(point, 0) <> 4 THEN
        RAISE EXCEPTION 'A passkey is of the curve P-256.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_deskmember m SET credential = desk_enrol.credential,
        public_key = point, domain = bound_to, enrolled_at = moment,
        usable_from = moment + interval '24 hours'
    WHERE m.id = member AND m.enrolled_at IS NULL AND m.ended_at IS NULL
        AND m.expires_at > moment AND NOT EXISTS (
            SELECT FROM accounts_user u WHERE u.is_staff
                AND desk_mailbox(u.email) = desk_mailbox(m.email))
    RETURNING m.partner_id INTO partner;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The invitation was used, has expired, or was withdrawn.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT member, 'ENROLLED', told.email, 0, moment, '' FROM (
        SELECT m.email FROM accounts_deskmember m
            WHERE m.partner_id = partner AND m.ended_at IS NULL
        UNION SELECT u.email FROM accounts_deskmember m
            JOIN accounts_approvalrequest r ON r.id = m.request_id
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            JOIN accounts_user u ON u.id IN (r.filed_by_id, d.decided_by_id)
            WHERE m.id = member
    ) AS told WHERE told.email <> '';
    RETURN moment + interval '24 hours';
END $$;
REVOKE ALL ON FUNCTION public.desk_enrol(uuid, bytea, bytea, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_invite(member uuid, partner uuid, mailbox text, granted text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
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

CREATE OR REPLACE FUNCTION public.desk_mailbox(address text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT regexp_replace(translate(lower(address), '"\', ''), '\+[^@]*@', '@')
$$;
GRANT EXECUTE ON FUNCTION public.desk_mailbox(text) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_may(member uuid)
RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM accounts_deskmember m
        JOIN accounts_partner p ON p.id = m.partner_id AND p.is_active
        WHERE m.id = member AND m.ended_at IS NULL AND m.usable_from <= clock_timestamp()
            AND NOT EXISTS (SELECT FROM accounts_user u
                WHERE u.is_staff AND desk_mailbox(u.email) = desk_mailbox(m.email)));
END $$;
REVOKE ALL ON FUNCTION public.desk_may(uuid) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (new.id <> old.id OR new.partner_id <> old.partner_id OR NOT new.scopes <@ old.scopes OR new.secret_digest <> old.secret_digest AND NOT new.pepper_id IS DISTINCT FROM old.pepper_id OR old.revoked_at IS NOT NULL AND new.revoked_at IS DISTINCT FROM old.revoked_at OR old.expires_at IS NOT NULL AND COALESCE(new.expires_at, 'infinity'::timestamp with time zone) > old.expires_at) EXECUTE FUNCTION public.accounts_keep_keys();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.accounts_apikey IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.approvals_of_key()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'approvals_of_key guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_deskkey d WHERE d.key_id = NEW.id;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('KEY', jsonb_build_object('partner', NEW.partner_id,
        'scopes', ARRAY(SELECT s FROM unnest(NEW.scopes) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM NEW.expires_at))), NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_key() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_enrol(member uuid, credential bytea, point bytea, bound_to text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    partner uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF length(point) <> 65 OR get_byte(point, 0) <> 4 THEN
        RAISE EXCEPTION 'A passkey is of the curve P-256.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_deskmember m SET credential = desk_enrol.credential,
        public_key = point, domain = bound_to, enrolled_at = moment,
        usable_from = moment + interval '24 hours'
    WHERE m.id = member AND m.enrolled_at IS NULL AND m.ended_at IS NULL
        AND m.expires_at > moment AND NOT EXISTS (
            SELECT FROM accounts_user u WHERE u.is_staff AND lower(u.email) = m.email)
    RETURNING m.partner_id INTO partner;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The invitation was used, has expired, or was withdrawn.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT member, 'ENROLLED', told.email, 0, moment, '' FROM (
        SELECT m.email FROM accounts_deskmember m
            WHERE m.partner_id = partner AND m.ended_at IS NULL
        UNION SELECT u.email FROM accounts_deskmember m
            JOIN accounts_approvalrequest r ON r.id = m.request_id
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            JOIN accounts_user u ON u.id IN (r.filed_by_id, d.decided_by_id)
            WHERE m.id = member
    ) AS told WHERE told.email <> '';
    RETURN moment + interval '24 hours';
END $$;
REVOKE ALL ON FUNCTION public.desk_enrol(uuid, bytea, bytea, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.desk_invite(member uuid, partner uuid, mailbox text, granted text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('DESK', jsonb_build_object('partner', partner,
        'email', mailbox,
        'scopes', ARRAY(SELECT s FROM unnest(granted) AS s ORDER BY s COLLATE "C")),
        NULL, NULL, NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'An invitation to a desk always needs an approval by a second '
            'person.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_user u WHERE u.is_staff AND lower(u.email) = mailbox;
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

CREATE OR REPLACE FUNCTION public.desk_may(member uuid)
RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM accounts_deskmember m
        JOIN accounts_partner p ON p.id = m.partner_id AND p.is_active
        WHERE m.id = member AND m.ended_at IS NULL AND m.usable_from <= clock_timestamp()
            AND NOT EXISTS (SELECT FROM accounts_user u
                WHERE u.is_staff AND lower(u.email) = m.email));
END $$;
REVOKE ALL ON FUNCTION public.desk_may(uuid) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (new.partner_id <> old.partner_id OR NOT new.scopes <@ old.scopes OR new.secret_digest <> old.secret_digest AND NOT new.pepper_id IS DISTINCT FROM old.pepper_id OR old.revoked_at IS NOT NULL AND new.revoked_at IS DISTINCT FROM old.revoked_at OR old.expires_at IS NOT NULL AND COALESCE(new.expires_at, 'infinity'::timestamp with time zone) > old.expires_at) EXECUTE FUNCTION public.accounts_keep_keys();

DROP FUNCTION public.desk_mailbox(text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0057_triggers_tell_no_more"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
