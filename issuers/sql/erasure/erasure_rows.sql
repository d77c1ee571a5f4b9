-- The rows that name a person, by the place and its key. `kept` has the days for which
-- the rows of a place are kept; `ends` is when a row's retention ends, and null where
-- the row would be erased now.
-- called by: application
CREATE OR REPLACE FUNCTION public.erasure_rows(person uuid, kept jsonb)
RETURNS TABLE(place text, key text, ends timestamp with time zone)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    p record;
    pattern constant text := erasure_pattern(person);
BEGIN
    FOR p IN SELECT * FROM erasure_places() LOOP
        RETURN QUERY EXECUTE format(
            'SELECT %L, ROW(%s)::text, CASE WHEN %s + $2 > clock_timestamp()'
            ' THEN %s + $2 END FROM %I t WHERE %s OR concat_ws(chr(10), NULL%s) ~* $1',
            p.name, p.key, p.dated, p.dated, p.name, p.own,
            (SELECT string_agg(', t.' || c, '') FROM unnest(p.texts || p.documents) c))
        USING pattern, make_interval(days => coalesce((kept ->> p.name)::int, 0)),
            person;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.erasure_rows(uuid, jsonb) FROM PUBLIC;
