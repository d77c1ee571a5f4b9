-- The digest of one trade of a tape; the head sums them.
-- called by: anyone, marketdata_record
CREATE OR REPLACE FUNCTION public.marketdata_digest_trade(
    sequence bigint, price bigint, quantity bigint, at timestamp with time zone
)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT register_digest(concat_ws(' ', 'trade', sequence, price, quantity,
        extract(epoch FROM at)))
$$;
