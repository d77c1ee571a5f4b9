"""What lacks an approval breaks a rule with a name, which Python reads."""

from django.db import migrations

FORWARD = r"""
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
        ("accounts", "0089_lists_of_few"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
