-- Reserves the cents of withdrawals that are REQUESTED or APPROVED and frees those of
-- others.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.cash_reserve_withdrawals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_reserve_withdrawals guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_reserve_cash(array_agg(cash_account_id), array_agg(amount))
            FROM became HAVING count(*) > 0;
        RETURN NULL;
    END IF;
    PERFORM accounts_reserve_cash(array_agg(w.cash_account_id), array_agg(w.delta))
    FROM (
        SELECT cash_account_id, amount AS delta FROM became WHERE status IN ('REQUESTED', 'APPROVED')
        UNION ALL
        SELECT cash_account_id, -amount FROM was WHERE status IN ('REQUESTED', 'APPROVED')
    ) w HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_reserve_withdrawals() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal
    REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE OR REPLACE TRIGGER cash_reserve_requested AFTER INSERT
    ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_reserve_withdrawals();
