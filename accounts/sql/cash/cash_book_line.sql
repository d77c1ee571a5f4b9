-- A bank line is committed together with the transaction that books it.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.cash_book_line()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_bankline'::regclass THEN
        RAISE EXCEPTION 'cash_book_line guards accounts_bankline, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE reference = NEW.reference) THEN
        RAISE EXCEPTION 'A bank line is booked as it is recorded: %.', NEW.reference
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_line() FROM PUBLIC;

DROP TRIGGER IF EXISTS cash_book_line ON public.accounts_bankline;
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_book_line();
