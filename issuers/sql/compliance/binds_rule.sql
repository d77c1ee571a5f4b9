-- Ends the rule of a token and kind that is in force, and makes one of `parameters`
-- unless they are NULL, with the approval that policy asks for.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.binds_rule(
    id uuid, actor text, token uuid, kind text, parameters jsonb, reason text
)
RETURNS SETOF issuers_tokenrule LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    present uuid;
    approver text;
    at timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    IF parameters IS NOT NULL THEN
        PERFORM binds_check_rule(kind, parameters);
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
    SELECT r.id INTO present FROM issuers_tokenrule r
        WHERE r.token_id = token AND r.kind = binds_rule.kind AND r.ended_at IS NULL;
    IF parameters IS NULL AND present IS NULL THEN
        RAISE EXCEPTION 'There is no rule % to end.', kind
            USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'RULE', jsonb_build_object('token', token,
        'kind', kind, 'parameters', parameters, 'replaces', present)
        || CASE WHEN parameters IS NULL THEN '{}'
            ELSE jsonb_build_object('reason', reason) END);
    at := clock_timestamp();
    UPDATE issuers_tokenrule r SET ended_at = at, ended_by = actor
        WHERE r.id = present;
    IF parameters IS NOT NULL THEN
        RETURN QUERY INSERT INTO issuers_tokenrule (id, token_id, kind, parameters,
            reason, replaces_id, created_by, approved_by, created_at)
        VALUES (id, token, kind, parameters, reason, present, actor, approver, at)
        RETURNING *;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_rule(uuid, text, uuid, text, jsonb, text) FROM
    PUBLIC;
