-- The part of an entry that only its issuer reads, as canonical JSON (RFC 8785).
-- called by: anyone, register_enter, register_entry_lines
CREATE OR REPLACE FUNCTION public.register_entry_detail(
    actor text, legacy uuid, reason text, recorded_at timestamp with time zone
)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.concat('{"actor":', pg_catalog.to_json(actor),
        ',"legacyShareholder":',
        coalesce('"' OPERATOR(pg_catalog.||) legacy::pg_catalog.text
            OPERATOR(pg_catalog.||) '"', 'null'),
        ',"reason":', pg_catalog.to_json(reason), ',"recordedAt":"',
        public.register_api_time(recorded_at), '"}')
$$;
