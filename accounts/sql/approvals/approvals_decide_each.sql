-- Approves or rejects requests that wait, all or none, as an active member of staff
-- with the right to decide their kinds, other than the person who filed them; that
-- person may take them back. Once a passkey counts, a decision without an assertion is
-- refused where the policy allows no code. Answers when.
-- called by: approvals_decide_requests, approvals_decide_signed
-- raises: restrict_violation
-- locks: accounts_approvalrequest (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.approvals_decide_each(
    requests uuid[], decider uuid, approves boolean, why text, signed uuid
)
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
REVOKE ALL ON FUNCTION public.approvals_decide_each(uuid[], uuid, boolean, text, uuid)
    FROM PUBLIC;
