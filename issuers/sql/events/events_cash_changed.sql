-- Tells partners about cash that moved otherwise than by a trade.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_cash_changed AFTER INSERT
    ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_cash_changed();
