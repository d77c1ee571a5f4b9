-- Decides requests by code, or takes them back; see approvals_decide_each.
-- called by: application
CREATE OR REPLACE FUNCTION public.approvals_decide_requests(
    requests uuid[], decider uuid, approves boolean, why text
)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    RETURN approvals_decide_each(requests, decider, approves, why, NULL);
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text) FROM
    PUBLIC;
