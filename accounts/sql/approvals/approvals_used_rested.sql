-- Applies the 24 hours after a change of access to the use of an approval.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_used_rested()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_approvaloutcome'::regclass THEN
        RAISE EXCEPTION 'approvals_used_rested guards accounts_approvaloutcome, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_check_rest(d.request_id, d.decided_by_id, TRUE, d.decided_at)
        FROM accounts_approvaldecision d WHERE d.request_id = NEW.request_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_used_rested() FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_used_rested AFTER INSERT
    ON public.accounts_approvaloutcome FOR EACH ROW WHEN (new.is_executed)
    EXECUTE FUNCTION public.approvals_used_rested();
