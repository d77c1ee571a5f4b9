-- Opens the book of a token that goes to the secondary market.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.marketdata_open_book()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    INSERT INTO marketdata_orderbookhead
        (token_id, last_sequence, last_trade, last_snapshot)
    VALUES (NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_open_book() FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_open_book AFTER INSERT OR UPDATE OF market_type
    ON public.issuers_token FOR EACH ROW WHEN (new.market_type = 'SECONDARY_MARKET')
    EXECUTE FUNCTION public.marketdata_open_book();
