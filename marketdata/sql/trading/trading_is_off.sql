-- Whether an order's limit is off the ticks or outside the collar around the reference
-- price, or its open units are off the lot.
-- called by: trading_announce, trading_end_off, trading_judge_endings
CREATE OR REPLACE FUNCTION public.trading_is_off(
    price bigint, units bigint, tick bigint, floors bigint[], steps bigint[], lot bigint,
    collar integer, reference bigint
)
RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT price % coalesce(steps[width_bucket(price, floors)], tick) <> 0
        OR units % lot <> 0
        OR coalesce(abs(price - reference) > reference * collar / 10000, FALSE)
$$;
REVOKE ALL ON FUNCTION public.trading_is_off(bigint, bigint, bigint, bigint[], bigint[],
    bigint, integer, bigint) FROM PUBLIC;
