-- Opens the head of a new token's ledger, empty and not open.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.register_open_ledger()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    INSERT INTO issuers_tokenledgerhead
        (token_id, last_seq, last_price, supply, held, holder_count, is_open)
    VALUES (NEW.id, 0, 0, 0, 0, 0, FALSE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_open_ledger() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_open_ledger AFTER INSERT ON public.issuers_token
    FOR EACH ROW EXECUTE FUNCTION public.register_open_ledger();
