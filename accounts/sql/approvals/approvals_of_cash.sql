-- An assignment of suspense cash, or its reversal, uses an approval where policy asks
-- for one; trades' reversals have their own.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_cash()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM accounts_cashtransaction
            WHERE id = NEW.reverses_id AND kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('ASSIGNMENT', jsonb_build_object('assigns', NEW.assigns_id,
        'reverses', NEW.reverses_id, 'to', NEW.target_id, 'cents', NEW.amount::text,
        'reason', NEW.reason), NEW.amount, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_cash() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT
    ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((new.assigns_id IS NOT NULL OR new.reverses_id IS NOT NULL)
        AND public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_cash();
