-- Opens the head of each cash account, empty.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.cash_open_head()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashaccount'::regclass THEN
        RAISE EXCEPTION 'cash_open_head guards accounts_cashaccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, kind, 0, 0, 0, decode(repeat('00', 32), 'hex') FROM opened ORDER BY id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_open_head() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_open_head AFTER INSERT ON public.accounts_cashaccount
    REFERENCING NEW TABLE AS opened FOR EACH STATEMENT
    EXECUTE FUNCTION public.cash_open_head();
