-- The numbers of a ledger's head never go back, and an open ledger stays open.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_head()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenledgerhead'::regclass THEN
        RAISE EXCEPTION 'register_keep_head guards issuers_tokenledgerhead, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'The ledger of token % stands at entry % and price %: it never '
        'goes back, and once it is open it is never closed.', OLD.token_id,
        OLD.last_seq, OLD.last_price USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_keep_head() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_head BEFORE UPDATE
    ON public.issuers_tokenledgerhead FOR EACH ROW
    WHEN (old.is_open AND NOT new.is_open OR new.last_seq < old.last_seq OR
        new.last_price < old.last_price OR new.token_id <> old.token_id)
    EXECUTE FUNCTION public.register_keep_head();
