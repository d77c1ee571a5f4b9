-- A time as the API answers it: RFC 3339 in UTC, the fraction without zeros at its end.
-- called by: anyone, cash_entry_line, erasure_erase, register_entry_detail,
--     register_entry_lines, register_price_detail, register_price_lines
CREATE OR REPLACE FUNCTION public.register_api_time(at timestamp with time zone)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.rtrim(pg_catalog.rtrim(pg_catalog.to_char(
        at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.')
        OPERATOR(pg_catalog.||) 'Z'
$$;
