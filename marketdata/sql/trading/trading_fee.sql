-- The fee of an order that has traded, tax included, in cents: the sum of the values of
-- its fills, each times its rate in basis points, within the minimum and the maximum.
-- called by: trading_charge, trading_undo
CREATE OR REPLACE FUNCTION public.trading_fee(
    weighted numeric, minimum bigint, maximum bigint, vat integer
)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    net numeric := least(maximum, greatest(minimum, div(2 * weighted + 10000, 20000)));
BEGIN
    RETURN net + div(2 * net * vat + 10000, 20000);
END $$;
REVOKE ALL ON FUNCTION public.trading_fee(numeric, bigint, bigint, integer) FROM PUBLIC;
