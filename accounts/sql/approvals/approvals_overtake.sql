-- Marks a request as superseded, with the reason, unless it has an outcome.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_approvalrequest (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.approvals_overtake(request uuid, why text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_approvalrequest r WHERE r.id = request FOR UPDATE;
    INSERT INTO accounts_approvaloutcome (request_id, is_executed, detail)
    SELECT request, FALSE, left(why, 500) WHERE NOT EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = request);
END $$;
REVOKE ALL ON FUNCTION public.approvals_overtake(uuid, text) FROM PUBLIC;
