-- A withdrawal begins as REQUESTED, from an ACTIVE account; the database gives it
-- reference and time.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_account (FOR SHARE)
CREATE OR REPLACE FUNCTION public.cash_request_withdrawal()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    standing text;
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_request_withdrawal guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT a.status INTO standing
    FROM accounts_cashaccount c JOIN accounts_account a ON a.id = c.account_id
    WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
    IF standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status <> 'REQUESTED' OR NEW.request_id IS NOT NULL
        OR NEW.status_reason <> '' THEN
        RAISE EXCEPTION 'A withdrawal begins as REQUESTED.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.payment_reference := cash_reference('2',
        ('x' || right(NEW.id::text, 12))::bit(48)::bigint);
    NEW.created_at := clock_timestamp();
    NEW.updated_at := NEW.created_at;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_request_withdrawal() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_request_withdrawal BEFORE INSERT
    ON public.accounts_withdrawal FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_request_withdrawal();
