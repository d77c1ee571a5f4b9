-- Holds a user and its ledger account before its profile changes.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: accounts_user (FOR NO KEY UPDATE), issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.register_hold_investor()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'register_hold_investor guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = NEW.user_id FOR NO KEY UPDATE;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_hold_investor() FROM PUBLIC;

CREATE OR REPLACE TRIGGER account_is_held_first BEFORE INSERT
    ON public.accounts_investorchange FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_hold_investor();
