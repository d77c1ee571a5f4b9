-- What a passkey signs of a decision: the SHA-256 of its lines.
-- called by: application, approvals_decide_signed
CREATE OR REPLACE FUNCTION public.approvals_digest(
    request uuid, decider uuid, approves boolean, why text
)
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
