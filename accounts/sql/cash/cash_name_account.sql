-- Gives a client's cash account its deposit reference (ISO 11649).
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.cash_name_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashaccount'::regclass THEN
        RAISE EXCEPTION 'cash_name_account guards accounts_cashaccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.deposit_reference := CASE NEW.kind WHEN 'CLIENT'
        THEN cash_reference('1', NEW.id) END;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_name_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_name_account BEFORE INSERT
    ON public.accounts_cashaccount FOR EACH ROW
    EXECUTE FUNCTION public.cash_name_account();
