-- Returns the sessions of this database that have written in a transaction that still
-- runs, as far as the caller may see them.
-- called by: application, accounts_settled_at
CREATE OR REPLACE FUNCTION public.accounts_own_writers()
RETURNS TABLE(pid integer, began timestamp with time zone)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT w.pid, w.xact_start FROM (SELECT a.pid, a.xact_start, a.backend_start IS NOT NULL AS is_known
        FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
            AND a.backend_xid IS NOT NULL) AS w WHERE w.is_known;
END $$;
REVOKE ALL ON FUNCTION public.accounts_own_writers() FROM PUBLIC;
