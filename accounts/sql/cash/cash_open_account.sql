-- Opens a cash account with each account, with its deposit reference (ISO 11649) and its
-- empty head.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.cash_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    WITH named AS (
        INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
        SELECT o.number, 'CLIENT', o.id, cash_reference('1', o.number)
        FROM (SELECT id, nextval('public.accounts_cashaccount_id_seq') AS number
            FROM opened ORDER BY id) o
        RETURNING id
    )
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, 'CLIENT', 0, 0, 0, decode(repeat('00', 32), 'hex') FROM named;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_open_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_open_account AFTER INSERT ON public.accounts_account
    REFERENCING NEW TABLE AS opened FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_open_account();
