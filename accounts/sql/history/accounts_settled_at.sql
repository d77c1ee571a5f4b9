-- Up to which instant nothing that is still uncommitted can appear. The second form
-- answers on a standby for what the caller knows of the primary.
-- called by: anyone
CREATE OR REPLACE FUNCTION public.accounts_settled_at()
RETURNS timestamp with time zone LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    taken timestamptz := clock_timestamp();
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN accounts_settled_at(NULL, FALSE);
    END IF;
    PERFORM pg_stat_clear_snapshot();
    RETURN (
        SELECT least(taken, (
            SELECT min(least(p.prepared - interval '1 day', pg_postmaster_start_time()))
            FROM pg_prepared_xacts p WHERE p.database = current_database()
        ), min(CASE WHEN w.is_known OR o.pid IS NOT NULL
            THEN coalesce(w.xact_start, o.began) ELSE pg_postmaster_start_time() END))
        FROM (SELECT a.pid, a.xact_start, a.backend_start IS NOT NULL AS is_known
        FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
            AND a.backend_xid IS NOT NULL) AS w LEFT JOIN accounts_own_writers() o ON o.pid = w.pid);
END $$;
CREATE OR REPLACE FUNCTION public.accounts_settled_at(
    known timestamp with time zone, has_ended boolean
)
RETURNS timestamp with time zone LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    replayed timestamptz;
BEGIN
    IF NOT pg_is_in_recovery() THEN
        RETURN accounts_settled_at();
    END IF;
    replayed := coalesce(pg_last_xact_replay_timestamp(),
        (SELECT checkpoint_time FROM pg_control_checkpoint()));
    IF has_ended AND NOT EXISTS (SELECT FROM pg_stat_wal_receiver) THEN
        RETURN replayed;
    END IF;
    RETURN coalesce(known, replayed);
END $$;
