-- Whether a statement comes from a session, and not from a writer, which runs as the
-- owner of the tables and so may fill one that no session fills. A trigger asks it, as
-- a part of its condition: it has no setting of its own, and is no call.
-- called by: anyone, register_keep_delivered
CREATE OR REPLACE FUNCTION public.accounts_written_directly()
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT NOT pg_catalog.has_table_privilege('public.accounts_cashhead', 'INSERT')
$$;
