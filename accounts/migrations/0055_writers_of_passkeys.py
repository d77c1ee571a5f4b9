"""Writers of passkeys."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_decide_each(requests uuid[], decider uuid, approves boolean, why text, signed uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz;
    kinds text[];
    is_own boolean;
    ended uuid;
BEGIN
    SELECT array_agg(DISTINCT kind), bool_or(filed_by_id = decider)
        INTO kinds, is_own
    FROM (SELECT r.kind, r.filed_by_id FROM accounts_approvalrequest r
        WHERE r.id = ANY (requests) ORDER BY r.id FOR UPDATE) AS held;
    IF (SELECT count(*) FROM accounts_approvalrequest r WHERE r.id = ANY (requests))
        IS DISTINCT FROM cardinality(requests) OR kinds IS NULL THEN
        RAISE EXCEPTION 'A decision names requests that exist, each once.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF is_own AND NOT approves THEN
        PERFORM FROM accounts_user u
            WHERE u.id = decider AND u.is_active AND u.is_staff;
        IF NOT FOUND OR EXISTS (SELECT FROM accounts_approvalrequest r
            WHERE r.id = ANY (requests) AND r.filed_by_id <> decider) THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF is_own OR EXISTS (SELECT FROM unnest(kinds) AS k (kind)
        WHERE NOT approvals_may(decider, 'decide_' || k.kind)) THEN
        RAISE EXCEPTION 'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF signed IS NULL AND NOT coalesce(is_own, FALSE)
        AND EXISTS (SELECT FROM accounts_passkey k WHERE k.listed_at IS NOT NULL)
        AND EXISTS (SELECT FROM unnest(kinds) AS k (kind)
            LEFT JOIN accounts_approvalpolicy p ON p.kind = k.kind
            WHERE p.allows_code IS DISTINCT FROM TRUE) THEN
        RAISE EXCEPTION 'A decision of this kind is signed with a passkey.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    moment := clock_timestamp();
    SELECT r.id INTO ended FROM accounts_approvalrequest r
    WHERE r.id = ANY (requests) AND (r.expires_at <= moment OR EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id))
    ORDER BY r.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Request % has expired or was superseded.', ended USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_check_rest(asked, decider, approves, moment)
        FROM unnest(requests) AS u (asked);
    INSERT INTO accounts_approvaldecision
        (request_id, is_approved, reason, decided_by_id, decided_at, assertion_id)
    SELECT asked, approves, why, decider, moment, signed FROM unnest(requests) AS u (asked);
    RETURN moment;
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_each(uuid[], uuid, boolean, text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_decide_requests(requests uuid[], decider uuid, approves boolean, why text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN approvals_decide_each(requests, decider, approves, why, NULL);
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_decide_signed(requests uuid[], decider uuid, approves boolean, why text, key uuid, authenticator_data bytea, client_data bytea, signature bytea)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    digests bytea[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_approvalrequest r WHERE r.id = ANY (requests)
        ORDER BY r.id FOR UPDATE;
    SELECT array_agg(d.digest ORDER BY d.digest) INTO digests
    FROM unnest(requests) AS u (asked)
    CROSS JOIN LATERAL approvals_digest(asked, decider, approves, why) AS d (digest);
    RETURN approvals_decide_each(requests, decider, approves, why,
        passkeys_assert(key, decider, digests, authenticator_data, client_data,
            signature));
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_signed(uuid[], uuid, boolean, text, uuid, bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_digest(request uuid, decider uuid, approves boolean, why text)
RETURNS bytea LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT sha256(convert_to(concat_ws(chr(10), 'decision', r.id, r.kind,
            r.filed_by_id, r.content::text,
            CASE WHEN approves THEN 'APPROVED' ELSE 'REJECTED' END, decider, why), 'UTF8'))
        FROM accounts_approvalrequest r WHERE r.id = request);
END $$;
REVOKE ALL ON FUNCTION public.approvals_digest(uuid, uuid, boolean, text) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.passkeys_digest(key uuid)
RETURNS bytea LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT sha256(convert_to(concat_ws(chr(10), 'passkey', k.id, k.person_id,
            encode(k.credential, 'hex'), encode(k.public_key, 'hex'), k.domain), 'UTF8'))
        FROM accounts_passkey k WHERE k.id = key);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_digest(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_enrol(key uuid, whose uuid, label text, credential bytea, point bytea, bound_to text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_user u WHERE u.id = whose AND u.is_active AND u.is_staff
        FOR NO KEY UPDATE;
    IF NOT FOUND OR length(point) <> 65 OR get_byte(point, 0) <> 4 OR (
        SELECT count(*) FROM accounts_passkey k
        WHERE k.person_id = whose AND k.revoked_at IS NULL) >= 10 THEN
        RAISE EXCEPTION 'An active member of staff has up to ten passkeys, of the curve '
            'P-256.' USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_passkey (id, person_id, name, credential, public_key, domain)
    VALUES (key, whose, label, credential, point, bound_to);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_enrol(uuid, uuid, text, bytea, bytea, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_list(keys uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE accounts_passkey SET listed_at = clock_timestamp() WHERE id IN (
        SELECT k.id FROM accounts_passkey k
        WHERE k.id = ANY (keys) AND k.vouched_at IS NOT NULL AND k.listed_at IS NULL
        ORDER BY k.id FOR UPDATE);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_list(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_revoke(key uuid, revoker uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE accounts_passkey k SET revoked_at = clock_timestamp()
    WHERE k.id = key AND k.revoked_at IS NULL AND (k.person_id = revoker
        OR EXISTS (SELECT FROM approvals_deciders() d WHERE d.id = revoker));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Its person, or someone that decides requests, ends a passkey.'
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_revoke(uuid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_vouch(newer uuid, key uuid, signer uuid, authenticator_data bytea, client_data bytea, signature bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_passkey p WHERE p.id IN (newer, key) ORDER BY p.id FOR UPDATE;
    SELECT * INTO k FROM accounts_passkey WHERE id = newer;
    IF NOT FOUND OR k.vouched_at IS NOT NULL OR k.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'This passkey waits for no signature.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF signer <> k.person_id AND (NOT EXISTS (SELECT FROM approvals_deciders() d
            WHERE d.id = signer) OR EXISTS (SELECT FROM accounts_passkeyvoucher v
            JOIN accounts_assertion a ON a.id = v.assertion_id
            JOIN accounts_passkey p ON p.id = a.passkey_id
            WHERE v.passkey_id = newer AND p.person_id = signer)) THEN
        RAISE EXCEPTION 'A passkey of someone else is signed by two that decide requests.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_passkeyvoucher (passkey_id, assertion_id)
    VALUES (newer, passkeys_assert(key, signer, ARRAY[passkeys_digest(newer)],
        authenticator_data, client_data, signature));
    UPDATE accounts_passkey SET vouched_at = clock_timestamp() WHERE id = newer
        AND (signer = k.person_id OR 2 <= (
            SELECT count(DISTINCT p.person_id) FROM accounts_passkeyvoucher v
            JOIN accounts_assertion a ON a.id = v.assertion_id
            JOIN accounts_passkey p ON p.id = a.passkey_id
            WHERE v.passkey_id = newer));
END $$;
REVOKE ALL ON FUNCTION public.passkeys_vouch(uuid, uuid, uuid, bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_assertion FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OF id, person_id, credential, public_key, domain, created_at OR TRUNCATE ON public.accounts_passkey FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_passkeyvoucher FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_decide_requests(requests uuid[], decider uuid, approves boolean, why text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz;
    kinds text[];
    is_own boolean;
    ended uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(DISTINCT kind), bool_or(filed_by_id = decider)
        INTO kinds, is_own
    FROM (SELECT r.kind, r.filed_by_id FROM accounts_approvalrequest r
        WHERE r.id = ANY (requests) ORDER BY r.id FOR UPDATE) AS held;
    IF (SELECT count(*) FROM accounts_approvalrequest r WHERE r.id = ANY (requests))
        IS DISTINCT FROM cardinality(requests) OR kinds IS NULL THEN
        RAISE EXCEPTION 'A decision names requests that exist, each once.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF is_own AND NOT approves THEN
        PERFORM FROM accounts_user u
            WHERE u.id = decider AND u.is_active AND u.is_staff;
        IF NOT FOUND OR EXISTS (SELECT FROM accounts_approvalrequest r
            WHERE r.id = ANY (requests) AND r.filed_by_id <> decider) THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF is_own OR EXISTS (SELECT FROM unnest(kinds) AS k (kind)
        WHERE NOT approvals_may(decider, 'decide_' || k.kind)) THEN
        RAISE EXCEPTION 'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    moment := clock_timestamp();
    SELECT r.id INTO ended FROM accounts_approvalrequest r
    WHERE r.id = ANY (requests) AND (r.expires_at <= moment OR EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id))
    ORDER BY r.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Request % has expired or was superseded.', ended USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_check_rest(asked, decider, approves, moment)
        FROM unnest(requests) AS u (asked);
    INSERT INTO accounts_approvaldecision
        (request_id, is_approved, reason, decided_by_id, decided_at)
    SELECT asked, approves, why, decider, moment FROM unnest(requests) AS u (asked);
    RETURN moment;
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text) FROM PUBLIC;

DROP TRIGGER accounts_refuse_change ON public.accounts_assertion;

DROP TRIGGER accounts_refuse_change ON public.accounts_passkey;

DROP TRIGGER accounts_refuse_change ON public.accounts_passkeyvoucher;

DROP FUNCTION public.approvals_decide_each(uuid[], uuid, boolean, text, uuid);

DROP FUNCTION public.approvals_decide_signed(uuid[], uuid, boolean, text, uuid, bytea, bytea, bytea);

DROP FUNCTION public.approvals_digest(uuid, uuid, boolean, text);

DROP FUNCTION public.passkeys_assert(uuid, uuid, bytea[], bytea, bytea, bytea);

DROP FUNCTION public.passkeys_digest(uuid);

DROP FUNCTION public.passkeys_enrol(uuid, uuid, text, bytea, bytea, text);

DROP FUNCTION public.passkeys_list(uuid[]);

DROP FUNCTION public.passkeys_revoke(uuid, uuid);

DROP FUNCTION public.passkeys_vouch(uuid, uuid, uuid, bytea, bytea, bytea);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0054_signed_kinds"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
