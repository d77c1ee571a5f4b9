-- Returns what a writer of ledgers needs to know: each head, and as JSON its accounts
-- among the pairs of `of_tokens` and `accounts`: kind, issuer, name, units, reserved
-- units, and what binds them. With `holds`, after it has locked heads and accounts; it
-- waits at most a second for a last time that lies ahead. Without, it locks and writes
-- nothing.
-- called by: application
-- locks: issuers_ledgeraccount (FOR SHARE), issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_read(
    tokens uuid[], of_tokens uuid[], accounts bigint[], holds boolean
)
RETURNS TABLE(token_id uuid, symbol text, issuer_id uuid, created_at timestamp with time
    zone, authorized_units numeric, last_seq bigint, last_price bigint, supply numeric,
    held numeric, holder_count bigint, price_cents bigint, is_open boolean, last_at
    timestamp with time zone, clock timestamp with time zone, states text)
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
    binds boolean;
BEGIN
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM register_mark(tokens);
        PERFORM FROM issuers_tokenledgerhead h
            WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
        SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
        FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (tokens);
        WHILE last > clock_timestamp()
            AND last <= clock_timestamp() + interval '1 second'
        LOOP
            PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
        END LOOP;
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (accounts) AND a.kind = 'HOLDER'
            ORDER BY a.id FOR SHARE;
    END IF;
    taken := clock_timestamp();
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    binds := accounts <> '{}' AND (
        EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = ANY (of_tokens)
            AND (r.ended_at IS NULL OR r.ended_at > taken))
        OR EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at > taken));
    RETURN QUERY
    SELECT h.token_id, t.symbol::text, t.issuer_id, t.created_at, t.authorized_units,
        h.last_seq, h.last_price, h.supply, h.held, h.holder_count, h.price_cents,
        h.is_open, greatest(h.last_effective_at, h.last_price_at), taken,
        CASE WHEN accounts <> '{}' THEN (
            SELECT json_agg(json_build_array(a.id, a.kind, a.issuer_id,
                coalesce(holder.name, 'the treasury of ' || issuer.trading_name, ''),
                coalesce(b.balance, 0), coalesce(b.reserved, 0), s.standing))::text
            FROM unnest(of_tokens, accounts) AS w (token, account)
            -- LATERAL looks each account up: where statistics are older than a large
            -- import, the planner would compare each account with all.
            JOIN LATERAL (
                SELECT * FROM issuers_ledgeraccount x WHERE x.id = w.account LIMIT 1
            ) a ON TRUE
            LEFT JOIN LATERAL (
                SELECT x.trading_name FROM issuers_issuer x
                WHERE x.id = a.issuer_id LIMIT 1
            ) issuer ON TRUE
            LEFT JOIN LATERAL (
                SELECT x.name FROM accounts_userholder x
                WHERE x.id = a.holder_id LIMIT 1
            ) holder ON TRUE
            LEFT JOIN LATERAL (
                SELECT x.balance, x.reserved FROM issuers_holderbalance x
                WHERE x.token_id = w.token AND x.account_id = w.account LIMIT 1
            ) b ON TRUE
            LEFT JOIN LATERAL (
                SELECT json_build_array(y.is_paused, y.sending::text,
                    y.receiving::text, y.locked, y.locked_until, y.most_units,
                    y.most_bps, y.most_holders) AS standing
                FROM (
                    SELECT WHERE binds AND (
                        EXISTS (SELECT FROM issuers_tokenrule r
                            WHERE r.token_id = w.token
                                AND (r.ended_at IS NULL OR r.ended_at > taken))
                        OR EXISTS (SELECT FROM issuers_restriction r
                            WHERE r.ledger_account_id = w.account
                                AND (r.ended_at IS NULL OR r.ended_at > taken)))
                    OFFSET 0
                ) AS is_bound
                CROSS JOIN LATERAL
                    register_standing(w.token, ARRAY[w.account], taken, FALSE) y
            ) s ON TRUE
            WHERE w.token = h.token_id
        ) END
    FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
    WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;
REVOKE ALL ON FUNCTION public.register_read(uuid[], uuid[], bigint[], boolean) FROM
    PUBLIC;
