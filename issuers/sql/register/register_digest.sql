-- The first 64 bits of the MD5 of a text, as a signed number.
-- called by: anyone, marketdata_digest_change, marketdata_digest_trade
CREATE OR REPLACE FUNCTION public.register_digest(said text)
RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT ('x' || left(md5(said), 16))::bit(64)::bigint::numeric
$$;
