-- A ledger with history is open at the commit.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_open()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenledgerhead'::regclass THEN
        RAISE EXCEPTION 'register_keep_open guards issuers_tokenledgerhead, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_tokenledgerhead WHERE token_id = NEW.token_id
            AND NOT is_open AND last_seq + last_price > 0) THEN
        RAISE EXCEPTION 'The history of token % is written, and its ledger is not '
            'open: more could be written before what is answered.', NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_open() FROM PUBLIC;

DROP TRIGGER IF EXISTS register_keep_open ON public.issuers_tokenledgerhead;
CREATE CONSTRAINT TRIGGER register_keep_open AFTER UPDATE
    ON public.issuers_tokenledgerhead DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NOT new.is_open) EXECUTE FUNCTION public.register_keep_open();
