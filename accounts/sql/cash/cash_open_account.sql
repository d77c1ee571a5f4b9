-- Opens a cash account with each account.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.cash_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'cash_open_account guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO accounts_cashaccount (kind, account_id)
    SELECT 'CLIENT', id FROM opened ORDER BY id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_open_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_open_account AFTER INSERT ON public.accounts_account
    REFERENCING NEW TABLE AS opened FOR EACH STATEMENT
    EXECUTE FUNCTION public.cash_open_account();
