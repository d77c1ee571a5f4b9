-- Adds changes of list lengths to their totals, in the order of their keys. `last`: no
-- writer of the transaction comes after this one but that of its events. Then they are
-- added now, with those that the transaction noted before, and the totals stay locked
-- until the commit. Else they are noted, and the commit adds them up.
-- called by: accounts_fold_totals, accounts_write, delivery_note_makers,
--     issuers_count_legacy, trading_write
CREATE OR REPLACE FUNCTION public.accounts_count(
    lists text[], keys uuid[], changes bigint[], last boolean DEFAULT false
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    IF NOT last THEN
        INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
        SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
        FROM unnest(lists, keys, changes) AS x (list, key, change) ORDER BY 2, 3
        ON CONFLICT (transaction, list, key) DO UPDATE
            SET change = c.change + excluded.change;
        RETURN;
    END IF;
    WITH noted AS (
        DELETE FROM accounts_totalchange
        WHERE transaction = pg_current_xact_id()::text::bigint
        RETURNING list, key, change
    ), summed AS MATERIALIZED (
        SELECT list, key, sum(change)::bigint AS change FROM (
            SELECT list, key, change FROM noted
            UNION ALL
            SELECT * FROM unnest(lists, keys, changes)
        ) x GROUP BY list, key HAVING sum(change) <> 0
    )
    -- A total that falls is there already; the number beside its key is never inserted.
    INSERT INTO accounts_total AS t (list, key, number)
    SELECT list, key, greatest(change, 0) FROM summed
    WHERE change > 0 OR EXISTS (SELECT FROM accounts_total o
        WHERE (o.list, o.key) = (summed.list, summed.key))
    ORDER BY list, key
    ON CONFLICT (list, key) DO UPDATE SET number = t.number + (
        SELECT s.change FROM summed s
        WHERE (s.list, s.key) = (excluded.list, excluded.key));
END $$;
REVOKE ALL ON FUNCTION public.accounts_count(text[], uuid[], bigint[], boolean)
    FROM PUBLIC;
