-- Tells the partners of the investor's open accounts that the profile changed.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_investor_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('INVESTOR_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_investor_changed AFTER INSERT
    ON public.accounts_investorchange REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_investor_changed();
