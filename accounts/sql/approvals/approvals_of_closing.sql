-- The closing of an account uses an approval where policy asks for one and names the
-- person who approved it. It is done in the name of a person that filed or decided the
-- request, else of a member of staff with the right.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_of_closing()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    used uuid;
BEGIN
    used := approvals_use('CLOSING', jsonb_build_object('account', NEW.account_id,
        'number', NEW.number, 'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NULL THEN
        PERFORM accounts_staff_with(NEW.actor, 'accounts.change_account');
    ELSE
        PERFORM cash_judge_staff(NEW.actor, used, '{}');
    END IF;
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'The closing of an account names who approved it.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_closing() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_closing ON public.accounts_accountstatuschange;
CREATE CONSTRAINT TRIGGER approvals_of_closing AFTER INSERT
    ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.is_staff AND new.status = 'CLOSED' AND public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_closing();
