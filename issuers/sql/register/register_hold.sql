-- Locks the heads of ledgers, takes the time of the next entries, and returns what a
-- writer needs to know. Waits at most a second for a last time that lies ahead.
-- called by: release before
-- raises: restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_hold(tokens uuid[])
RETURNS TABLE(token_id uuid, symbol text, issuer_id uuid, created_at timestamp with time
    zone, authorized_units numeric, last_seq bigint, last_price bigint, supply numeric,
    held numeric, holder_count bigint, price_cents bigint, is_open boolean, last_at
    timestamp with time zone, clock timestamp with time zone)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    last timestamptz;
    taken timestamptz;
BEGIN
    PERFORM register_mark(tokens);
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (tokens);
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    taken := clock_timestamp();
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = (SELECT register_transaction(0)),
            hold_at = CASE WHEN greatest(h.last_effective_at, h.last_price_at) > taken
                THEN NULL ELSE taken END
        WHERE h.token_id = ANY (tokens);
    RETURN QUERY
        SELECT h.token_id, t.symbol::text, t.issuer_id, t.created_at,
            t.authorized_units, h.last_seq, h.last_price, h.supply, h.held,
            h.holder_count, h.price_cents, h.is_open,
            greatest(h.last_effective_at, h.last_price_at), taken
        FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;
REVOKE ALL ON FUNCTION public.register_hold(uuid[]) FROM PUBLIC;
