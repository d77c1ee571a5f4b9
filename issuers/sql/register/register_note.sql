-- Returns the numbers of issuers' ledgers at an instant, locked so that nothing at or
-- before it can still appear.
-- called by: application
-- locks: issuers_issuer (FOR KEY SHARE), issuers_tokenledgerhead (FOR SHARE), names of
--     holders (advisory, shared)
CREATE OR REPLACE FUNCTION public.register_note(
    issuers uuid[], asked timestamp with time zone, settled timestamp with time zone DEFAULT
    NULL::timestamp with time zone
)
RETURNS TABLE(noted_at timestamp with time zone, issuer_place bigint, noted_token uuid,
    noted_seq bigint, noted_last_seq bigint, noted_supply numeric, noted_held numeric,
    noted_holders bigint, noted_last_holders bigint, noted_price bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    -- A session that only reads cannot wait for writers, and answers for what is settled.
    IF current_setting('transaction_read_only')::boolean THEN
        asked := least(asked, settled);
    END IF;
    -- Every writer up to then has committed.
    IF (asked <= settled) IS NOT TRUE THEN
    PERFORM accounts_read_committed();
    -- Waits for tokens in the making, and for the writers who may still enter
    -- something at or before the instant. Whoever writes later takes a later time.
    PERFORM FROM issuers_issuer WHERE id = ANY (issuers) ORDER BY id FOR KEY SHARE;
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id IN (SELECT id FROM issuers_token WHERE issuer_id = ANY (issuers))
          AND (greatest(h.last_effective_at, h.last_price_at) > asked) IS NOT TRUE
        ORDER BY h.token_id FOR SHARE;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('names of holders', 0));
    END IF;
    noted_at := least(asked, clock_timestamp());
    RETURN QUERY
        SELECT noted_at, i.place, t.id, coalesce(s.seq, 0), h.last_seq,
            coalesce(s.supply_after, 0), coalesce(s.held_after, 0),
            coalesce(s.holders_after, 0), h.holder_count, coalesce(p.price_cents, 0)
        FROM unnest(issuers) WITH ORDINALITY AS i (id, place)
        LEFT JOIN issuers_token t ON t.issuer_id = i.id AND t.created_at <= noted_at
        LEFT JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        LEFT JOIN LATERAL (
            SELECT x.seq, x.supply_after, x.held_after, x.holders_after
            FROM issuers_ledgertransaction x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.seq DESC LIMIT 1
        ) s ON TRUE
        LEFT JOIN LATERAL (
            SELECT x.price_cents FROM issuers_tokenprice x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.number DESC LIMIT 1
        ) p ON TRUE
        ORDER BY i.place, t.created_at, t.id;
END $$;
REVOKE ALL ON FUNCTION public.register_note(uuid[], timestamp with time zone, timestamp
    with time zone) FROM PUBLIC;
