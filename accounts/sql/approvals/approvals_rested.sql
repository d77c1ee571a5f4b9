-- Applies the 24 hours after a change of access to a decision. At the commit again: a
-- statement that changes the access and calls the writer is noted at its end.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.approvals_rested()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM approvals_check_rest(NEW.request_id, NEW.decided_by_id, NEW.is_approved,
        clock_timestamp());
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_rested() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_rested_at_the_commit ON public.accounts_approvaldecision;
CREATE CONSTRAINT TRIGGER approvals_rested_at_the_commit AFTER INSERT
    ON public.accounts_approvaldecision DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.approvals_rested();
