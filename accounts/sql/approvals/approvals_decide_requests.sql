-- Decides requests by code, or takes them back; see approvals_decide_each.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_decide_requests(
    requests uuid[], decider uuid, approves boolean, why text
)
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
REVOKE ALL ON FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text) FROM
    PUBLIC;
