-- The part of a fee that is not value added tax, in cents.
-- called by: trading_charge, trading_correct, trading_undo
CREATE OR REPLACE FUNCTION public.trading_fee_net(total numeric, vat integer)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RETURN div(20000 * total + 10000 + vat, 20000 + 2 * vat);
END $$;
REVOKE ALL ON FUNCTION public.trading_fee_net(numeric, integer) FROM PUBLIC;
