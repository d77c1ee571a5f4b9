-- A restriction begins now, binds a holder's account, and is ended once, by a named
-- person.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: issuers_ledgeraccount (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.register_keep_restriction()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF TG_RELID <> 'issuers_restriction'::regclass THEN
        RAISE EXCEPTION 'register_keep_restriction guards issuers_restriction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id AND a.kind = 'HOLDER') THEN
        RAISE EXCEPTION 'Account % is no holder''s.', NEW.ledger_account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'A restriction begins now, and names who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'A restriction is ended once, by a named person, and does not change: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_restriction() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE
    ON public.issuers_restriction FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_keep_restriction();
