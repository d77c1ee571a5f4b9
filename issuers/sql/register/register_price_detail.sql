-- The part of a price that only its issuer reads, as canonical JSON (RFC 8785).
-- called by: anyone, register_enter, register_price_lines
CREATE OR REPLACE FUNCTION public.register_price_detail(
    recorded_by text, recorded_at timestamp with time zone
)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.concat('{"recordedAt":"', public.register_api_time(recorded_at),
        '","recordedBy":', pg_catalog.to_json(recorded_by), '}')
$$;
