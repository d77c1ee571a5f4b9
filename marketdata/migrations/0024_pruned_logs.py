"""What prunes a log refuses to leave a gap in it."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.marketdata_prune(token uuid, snapshots_before bigint, first_change bigint, last_change bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    covers bigint;
    deleted bigint;
    gone bigint;
BEGIN
    SELECT max(o.sequence) INTO covers FROM marketdata_booksnapshot o
    WHERE o.token_id = token AND o.at < clock_timestamp() - interval '24 hours'
        AND o.sequence <= (
            SELECT n.sequence FROM marketdata_booksnapshot n
            WHERE n.token_id = token ORDER BY n.sequence DESC OFFSET 1 LIMIT 1);
    IF (greatest(snapshots_before, last_change) <= covers) IS NOT TRUE THEN
        RAISE EXCEPTION 'Of the log of token % goes what is older than 24 hours and '
            'stands in a snapshot: up to change %.', token, coalesce(covers, 0)
            USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM marketdata_booksnapshot
        WHERE token_id = token AND sequence < snapshots_before;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    -- Without the lower bound each step would pass again over all dead entries of the
    -- index that the steps before it have left.
    DELETE FROM marketdata_bookchange WHERE token_id = token
        AND sequence >= first_change AND sequence <= last_change;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 0 AND (EXISTS (SELECT FROM marketdata_booksnapshot
            WHERE token_id = token AND sequence < last_change)
        OR EXISTS (SELECT FROM marketdata_bookchange
            WHERE token_id = token AND sequence < first_change)) THEN
        RAISE EXCEPTION 'Of the log of token % only the beginning goes, as far as '
            'every snapshot covers it.', token USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN deleted + gone;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_prune(uuid, bigint, bigint, bigint) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.marketdata_prune(token uuid, snapshots_before bigint, first_change bigint, last_change bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    covers bigint;
    deleted bigint;
    gone bigint;
BEGIN
    SELECT max(o.sequence) INTO covers FROM marketdata_booksnapshot o
    WHERE o.token_id = token AND o.at < clock_timestamp() - interval '24 hours'
        AND o.sequence <= (
            SELECT n.sequence FROM marketdata_booksnapshot n
            WHERE n.token_id = token ORDER BY n.sequence DESC OFFSET 1 LIMIT 1);
    IF (greatest(snapshots_before, last_change) <= covers) IS NOT TRUE THEN
        RAISE EXCEPTION 'Of the log of token % goes what is older than 24 hours and '
            'stands in a snapshot: up to change %.', token, coalesce(covers, 0)
            USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM marketdata_booksnapshot
        WHERE token_id = token AND sequence < snapshots_before;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    -- Without the lower bound each step would pass again over all dead entries of the
    -- index that the steps before it have left.
    DELETE FROM marketdata_bookchange WHERE token_id = token
        AND sequence >= first_change AND sequence <= last_change;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN deleted + gone;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_prune(uuid, bigint, bigint, bigint) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0023_triggers_tell_no_more"),
        ("issuers", "0081_pruned_events"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
