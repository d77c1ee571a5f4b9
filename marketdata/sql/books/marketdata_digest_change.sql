-- The digest of one change of a book; the head sums them.
-- called by: anyone, marketdata_record
CREATE OR REPLACE FUNCTION public.marketdata_digest_change(
    sequence bigint, side smallint, price bigint, quantity bigint, ends boolean, at
    timestamp with time zone
)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT register_digest(concat_ws(' ', 'change', sequence, side, price, quantity,
        ends, extract(epoch FROM at)))
$$;
