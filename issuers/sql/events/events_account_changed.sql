-- Tells the account's partner that its status changed.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_account_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'events_account_changed guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_account_changed AFTER INSERT
    ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_account_changed();
