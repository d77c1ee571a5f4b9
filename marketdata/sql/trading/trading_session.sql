-- The first opening at or after an instant, the first closing after it, and whether a
-- session is open then. One that closes no later than it opens lasts until the next day;
-- none opens on a holiday.
-- called by: trading_change_phase, trading_set_parameters
CREATE OR REPLACE FUNCTION public.trading_session(
    opens time without time zone, closes time without time zone, weekdays boolean,
    holidays date[], at timestamp with time zone
)
RETURNS TABLE(opens_at timestamp with time zone, closes_at timestamp with time zone,
    is_open boolean) LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT min(s.begins) FILTER (WHERE s.begins >= at),
        min(s.ends) FILTER (WHERE s.ends > at),
        coalesce(bool_or(s.begins <= at AND at < s.ends), FALSE)
    -- Holidays and the weekends between them are fewer days than these.
    FROM (SELECT (at AT TIME ZONE market_time_zone())::date + n AS day
          FROM generate_series(-1, 10 + 2 * cardinality(holidays)) AS n) d
    CROSS JOIN LATERAL (SELECT
        (d.day + opens) AT TIME ZONE market_time_zone() AS begins,
        (d.day + (closes <= opens)::integer + closes) AT TIME ZONE market_time_zone()
            AS ends) s
    WHERE NOT (weekdays AND extract(isodow FROM d.day) > 5)
        AND d.day <> ALL (holidays)
$$;
REVOKE ALL ON FUNCTION public.trading_session(time without time zone, time without time
    zone, boolean, date[], timestamp with time zone) FROM PUBLIC;
