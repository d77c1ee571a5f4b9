-- Marks a request as superseded, with the reason, unless it has an outcome.
-- called by: application
-- locks: accounts_approvalrequest (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.approvals_overtake(request uuid, why text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_approvalrequest r WHERE r.id = request FOR UPDATE;
    INSERT INTO accounts_approvaloutcome (request_id, is_executed, detail)
    SELECT request, FALSE, left(why, 500) WHERE NOT EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = request);
END $$;
REVOKE ALL ON FUNCTION public.approvals_overtake(uuid, text) FROM PUBLIC;
