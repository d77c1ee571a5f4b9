-- A bank statement gets lines only in the transaction that made it.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.cash_receive_lines()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'accounts_bankline'::regclass THEN
        RAISE EXCEPTION 'cash_receive_lines guards accounts_bankline, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT l.reference INTO wrong
    FROM entered l JOIN accounts_bankstatement s ON s.id = l.statement_id
    WHERE s.made_in IS DISTINCT FROM register_transaction(2) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A bank statement gets its lines when it is booked, and no '
            'further ones: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_receive_lines() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_receive_lines AFTER INSERT ON public.accounts_bankline
    REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_receive_lines();
