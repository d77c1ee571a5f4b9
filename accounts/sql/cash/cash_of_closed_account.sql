-- An account with cash is not closed.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_of_closed_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    left_over bigint;
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'cash_of_closed_account guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT h.balance INTO left_over
    FROM accounts_cashaccount c JOIN accounts_cashhead h ON h.cash_account_id = c.id
    WHERE c.account_id = NEW.account_id FOR NO KEY UPDATE OF h;
    IF left_over <> 0 THEN
        RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
            left_over USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_of_closed_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_of_closed_account AFTER INSERT
    ON public.accounts_accountstatuschange FOR EACH ROW WHEN (new.status = 'CLOSED')
    EXECUTE FUNCTION public.cash_of_closed_account();
