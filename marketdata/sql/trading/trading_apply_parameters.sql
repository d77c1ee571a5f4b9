-- Copies the parameters in force at an instant to a market, and returns it. Its book is
-- locked. Orders are judged by the copy, which they read with the market.
-- called by: trading_change_phase, trading_set_parameters
CREATE OR REPLACE FUNCTION public.trading_apply_parameters(
    of_token uuid, at timestamp with time zone
)
RETURNS trading_market LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    market trading_market;
BEGIN
    UPDATE trading_market m SET session_opens = p.session_opens,
        session_closes = p.session_closes, weekdays_only = p.weekdays_only,
        holidays = p.holidays, tick_cents = p.tick_cents, tick_floors = p.tick_floors,
        tick_steps = p.tick_steps, lot_units = p.lot_units, collar_bps = p.collar_bps,
        dynamic_band_bps = p.dynamic_band_bps, model = p.model, fixings = p.fixings,
        at_last_minutes = p.at_last_minutes, most_value = p.most_value,
        most_units = p.most_units
    FROM (SELECT * FROM trading_marketparameters x
        WHERE x.token_id = of_token AND x.valid_from <= at
        ORDER BY x.valid_from DESC, x.id DESC LIMIT 1) p
    WHERE m.token_id = of_token
    RETURNING m.* INTO market;
    RETURN market;
END $$;
REVOKE ALL ON FUNCTION public.trading_apply_parameters(uuid, timestamp with time zone)
    FROM PUBLIC;
