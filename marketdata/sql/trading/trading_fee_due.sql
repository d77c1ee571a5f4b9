-- The fee of an order by its tariff, tax included, in cents: of the values of its fills,
-- of which it made the market for `maker`, and of a rest of this value at the higher
-- rate. Without any of them there is none.
-- called by: trading_charge, trading_correct, trading_undo
CREATE OR REPLACE FUNCTION public.trading_fee_due(
    tariff trading_tariff, maker numeric, taker numeric, rest numeric
)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    weighted numeric := maker * tariff.maker_bps + taker * tariff.taker_bps
        + rest * greatest(tariff.maker_bps, tariff.taker_bps);
    net numeric := least(tariff.maximum, greatest(tariff.minimum,
        div(2 * weighted + 10000, 20000)));
BEGIN
    IF maker + taker + rest = 0 THEN
        RETURN 0;
    END IF;
    RETURN net + div(2 * net * tariff.vat_bps + 10000, 20000);
END $$;
REVOKE ALL ON FUNCTION public.trading_fee_due(trading_tariff, numeric, numeric,
    numeric) FROM PUBLIC;
