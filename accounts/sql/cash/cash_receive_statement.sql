-- Times a bank statement under the lock of the bank's head; its closing balance is the
-- one that the books show.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_receive_statement()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_bankstatement'::regclass THEN
        RAISE EXCEPTION 'cash_receive_statement guards accounts_bankstatement, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead h WHERE h.kind = 'BANK' FOR NO KEY UPDATE;
    NEW.booked_at := clock_timestamp();
    NEW.made_in := register_transaction(2);
    IF NEW.closing_balance IS DISTINCT FROM NEW.booked_balance THEN
        RAISE EXCEPTION 'The closing balance of a bank statement, % cents, must equal '
            'the balance of the bank in the books, % cents.', NEW.closing_balance,
            NEW.booked_balance USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_receive_statement() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_receive_statement BEFORE INSERT
    ON public.accounts_bankstatement FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_receive_statement();
