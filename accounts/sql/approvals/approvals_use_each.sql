-- Uses the transaction's named approval of exactly this content and returns its id;
-- NULL where the person may act alone.
-- called by: approvals_use, delivery_release
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_use_each(
    wanted text, said jsonb, issuers uuid[], amounts numeric[], entry_token uuid,
    entry_number bigint
)
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
REVOKE ALL ON FUNCTION public.approvals_use_each(text, jsonb, uuid[], numeric[], uuid,
    bigint) FROM PUBLIC;
