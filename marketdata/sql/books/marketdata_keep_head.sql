-- The numbers of a book's head never go back.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.marketdata_keep_head()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'The log of token % stands at change % and trade %, and never goes '
        'back.', OLD.token_id, OLD.last_sequence, OLD.last_trade
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.marketdata_keep_head() FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_keep_head BEFORE UPDATE
    ON public.marketdata_orderbookhead FOR EACH ROW
    WHEN (new.last_sequence < old.last_sequence OR new.last_trade < old.last_trade OR
        new.last_snapshot < old.last_snapshot OR new.last_at < old.last_at OR
        new.token_id <> old.token_id)
    EXECUTE FUNCTION public.marketdata_keep_head();
