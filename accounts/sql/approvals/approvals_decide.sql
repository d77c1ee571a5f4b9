-- Accepts a decision of an active member of staff with the right to decide its kind,
-- other than the person who filed it, before the request expires; that person may take
-- it back.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_approvalrequest (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.approvals_decide()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    r accounts_approvalrequest;
BEGIN
    IF TG_RELID <> 'accounts_approvaldecision'::regclass THEN
        RAISE EXCEPTION 'approvals_decide guards accounts_approvaldecision, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT * INTO STRICT r FROM accounts_approvalrequest
        WHERE id = NEW.request_id FOR UPDATE;
    IF NEW.decided_by_id = r.filed_by_id AND NOT NEW.is_approved THEN
        PERFORM FROM accounts_user u
            WHERE u.id = NEW.decided_by_id AND u.is_active AND u.is_staff;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF NEW.decided_by_id = r.filed_by_id
        OR NOT approvals_may(NEW.decided_by_id, 'decide_' || r.kind) THEN
        RAISE EXCEPTION 'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.decided_at := clock_timestamp();
    IF r.expires_at <= NEW.decided_at OR EXISTS (
        SELECT FROM accounts_approvaloutcome WHERE request_id = r.id) THEN
        RAISE EXCEPTION 'Request % has expired or was superseded.', r.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide() FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_decide BEFORE INSERT
    ON public.accounts_approvaldecision FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_decide();
