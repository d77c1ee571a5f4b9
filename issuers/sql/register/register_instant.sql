-- The latest instant, up to the one asked for, at which tables of issuers can no longer
-- change; waits for their writers, takes no lock.
-- called by: anyone
-- raises: lock_not_available
CREATE OR REPLACE FUNCTION public.register_instant(
    issuers uuid[], asked timestamp with time zone, settled timestamp with time zone
)
RETURNS timestamp with time zone LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    asked_at timestamptz := clock_timestamp();
    instant timestamptz := least(asked, asked_at);
    marks oid[];
    still text[];
    writers text[];
    limited interval := nullif(current_setting('lock_timeout'), '0')::interval;
BEGIN
    -- A session that only reads cannot wait for writers, and answers for what is settled.
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN least(asked, settled);
    END IF;
    IF asked <= settled THEN
        RETURN asked;
    END IF;
    PERFORM accounts_read_committed();
    marks := ARRAY(
        SELECT ((hashtext(i::text))::bigint & 4294967295)::oid FROM unnest(issuers) AS i
        UNION ALL SELECT ((hashtext(t.id::text))::bigint & 4294967295)::oid FROM issuers_token t
        WHERE t.issuer_id = ANY (issuers)
        UNION ALL SELECT 0::oid);
    LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT array_agg(l.virtualtransaction)
                FILTER (WHERE a.wait_event IS DISTINCT FROM 'SyncRep'),
            least(instant, min(a.xact_start) FILTER (WHERE a.wait_event = 'SyncRep'))
        INTO still, instant
        FROM pg_locks l LEFT JOIN LATERAL pg_stat_get_activity(l.pid) a ON TRUE
        WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_backend_pid()
            AND l.database = (
                SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            AND (l.objsubid = 2 AND l.classid = ((hashtext('writers of the register'))::bigint & 4294967295)::oid
                    AND l.objid = ANY (marks)
                OR l.objsubid = 1 AND l.classid = ((hashtextextended('names of holders', 0) >> 32)::bigint & 4294967295)::oid
                    AND l.objid = ((hashtextextended('names of holders', 0))::bigint & 4294967295)::oid AND l.mode = 'ExclusiveLock')
            AND (writers IS NULL OR l.virtualtransaction = ANY (writers));
        IF still IS NULL THEN
            RETURN instant;
        END IF;
        writers := still;
        IF clock_timestamp() > asked_at + limited THEN
            RAISE EXCEPTION 'The register is being written to, and did not come free.'
                USING ERRCODE = 'lock_not_available';
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END $$;
