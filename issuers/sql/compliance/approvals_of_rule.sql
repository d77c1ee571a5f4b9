-- A new, replaced or ended rule of a token uses an approval where policy asks for one
-- and names the person who approved it.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_of_rule()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'approvals_of_rule guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.replaces_id = NEW.id) THEN
            PERFORM approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
                'kind', NEW.kind, 'parameters', NULL, 'replaces', NEW.id), NULL, NULL,
                NULL);
        END IF;
        RETURN NULL;
    END IF;
    used := approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
        'kind', NEW.kind, 'parameters', NEW.parameters, 'replaces', NEW.replaces_id,
        'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'A rule names who approved it.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_rule() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_rule ON public.issuers_tokenrule;
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE
    ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_rule();
