-- Whether a statement comes from a session, and not from a writer, which runs as the
-- owner of the tables. Triggers that guard what the release before inserts ask it.
-- called by: anyone
CREATE OR REPLACE FUNCTION public.accounts_written_directly()
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT current_user <> pg_get_userbyid(c.relowner) FROM pg_class c
        WHERE c.oid = 'public.accounts_cashhead'::regclass
$$;
