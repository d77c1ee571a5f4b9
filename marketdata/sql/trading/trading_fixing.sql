-- The first instant after one, and not after another, at which a fixing is due by its
-- times of day; NULL: none.
-- called by: trading_call, trading_change_phase, trading_settle
CREATE OR REPLACE FUNCTION public.trading_fixing(
    fixings time without time zone[], after timestamp with time zone,
    until timestamp with time zone
)
RETURNS timestamp with time zone LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT min(f.at)
    FROM generate_series(0, (until AT TIME ZONE market_time_zone())::date
        - (after AT TIME ZONE market_time_zone())::date) AS n
    CROSS JOIN unnest(fixings) AS t (fixing)
    CROSS JOIN LATERAL (SELECT ((after AT TIME ZONE market_time_zone())::date + n
        + t.fixing) AT TIME ZONE market_time_zone() AS at) f
    WHERE f.at > after AND f.at <= until
$$;
REVOKE ALL ON FUNCTION public.trading_fixing(time without time zone[], timestamp with
    time zone, timestamp with time zone) FROM PUBLIC;
