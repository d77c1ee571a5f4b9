"""Contract: what removes events counts them no more, and needs no trigger for it."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.issuers_event IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    WITH removed AS (
        DELETE FROM issuers_event WHERE partner_id = head.partner_id
            AND sequence > head.pruned_sequence AND sequence <= until
        RETURNING type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END AS issuer_id,
            CASE WHEN type IN ('MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END AS token_id
    ), counted AS (
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT type, issuer_id, token_id, count(*) AS number FROM removed
            GROUP BY 1, 2, 3) g
        WHERE c.partner_id = head.partner_id AND c.type = g.type
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id
    )
    SELECT count(*) INTO deleted FROM removed;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;

DROP TRIGGER events_count_less ON public.issuers_event;

DROP FUNCTION public.events_count();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.issuers_event IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    DELETE FROM issuers_event WHERE partner_id = head.partner_id
        AND sequence > head.pruned_sequence AND sequence <= until;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_count()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_event'::regclass THEN
        RAISE EXCEPTION 'events_count guards issuers_event, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_eventcount c SET number = c.number - g.number
    FROM (SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type IN ('MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED')
            THEN token_id END AS token_id,
        count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
    WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
        AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
        AND c.token_id IS NOT DISTINCT FROM g.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_count() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_count_less AFTER DELETE ON public.issuers_event REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.events_count();
ALTER TABLE public.issuers_event ENABLE ALWAYS TRIGGER events_count_less;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0080_holding_trees"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
