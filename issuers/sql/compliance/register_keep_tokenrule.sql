-- A rule begins now, replaces one of its token and kind that has ended, and is ended
-- once, by a named person.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_keep_tokenrule()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'register_keep_tokenrule guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = NEW.token_id FOR UPDATE;
    IF TG_OP = 'INSERT' AND NEW.replaces_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM issuers_tokenrule r WHERE r.id = NEW.replaces_id
            AND r.token_id = NEW.token_id AND r.kind = NEW.kind
            AND r.ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'A rule replaces one of its token and kind, which has ended.'
    USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'A rule begins now, and names who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'A rule is ended once, by a named person, and does not change: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_tokenrule() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE
    ON public.issuers_tokenrule FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_keep_tokenrule();
