-- Tells the account's partner about a requested or moved withdrawal.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_withdrawal_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered w
        JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_withdrawal_changed AFTER INSERT
    ON public.accounts_withdrawal REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    EXECUTE FUNCTION public.events_withdrawal_changed();

CREATE OR REPLACE TRIGGER events_withdrawal_changed_again AFTER UPDATE
    ON public.accounts_withdrawal REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    EXECUTE FUNCTION public.events_withdrawal_changed();
