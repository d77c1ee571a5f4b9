-- Derives postings, balances, supply, holders, delivered legacy lines and the chain
-- from the next entries; judges numbers, times, kinds of accounts and authorised units.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
    marked bigint;
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'register_follow_transactions guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    WITH numbered AS (
        SELECT e.*, h.supply, h.held, h.holder_count, t.authorized_units,
            t.issuer_id AS token_issuer_id,
            e.seq = h.last_seq + row_number() OVER by_seq
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_effective_at, t.created_at)) OVER by_seq
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AND CASE e.kind
                WHEN 'MINT' THEN e.source_id IS NULL
                WHEN 'BURN' THEN e.target_id IS NULL
                WHEN 'LEGACY_DELIVERY' THEN e.target_id IS NOT NULL
                WHEN 'REVERSAL' THEN EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = e.token_id AND u.seq = e.reverses
                        AND u.seq < e.seq AND u.kind <> 'REVERSAL'
                        AND u.amount = e.amount
                        AND u.source_id IS NOT DISTINCT FROM e.target_id
                        AND u.target_id IS NOT DISTINCT FROM e.source_id)
                ELSE e.source_id IS NOT NULL AND e.target_id IS NOT NULL END
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_seq AS (PARTITION BY e.token_id ORDER BY e.seq)
    ), accounts AS (
        SELECT n.*, l.leg, l.account_id, l.delta, a.user_id, a.kind = 'HOLDER' AS holds,
            coalesce(b.balance_after, 0) + sum(l.delta) OVER by_account AS after,
            n.follows AND CASE
                WHEN n.kind IN ('TRANSFER', 'FORCED_TRANSFER', 'TRADE') THEN a.kind = 'HOLDER'
                WHEN n.kind IN ('ALLOCATE', 'LEGACY_DELIVERY')
                    THEN a.kind = CASE leg WHEN 1 THEN 'TREASURY' ELSE 'HOLDER' END
                WHEN n.kind = 'RETURN'
                    THEN a.kind = CASE leg WHEN 1 THEN 'HOLDER' ELSE 'TREASURY' END
                ELSE n.kind IN ('MINT', 'BURN', 'REVERSAL') AND a.kind IS NOT NULL END
            AND (a.kind = 'HOLDER' OR a.issuer_id = n.token_issuer_id) AS allowed
        FROM numbered n
        CROSS JOIN LATERAL (
            VALUES (1, n.source_id, -n.amount), (2, n.target_id, n.amount)
        ) AS l (leg, account_id, delta)
        LEFT JOIN LATERAL (
            SELECT kind, user_id, issuer_id FROM issuers_ledgeraccount
            WHERE id = l.account_id LIMIT 1
        ) a ON TRUE
        LEFT JOIN LATERAL (
            SELECT p.balance_after FROM issuers_ledgerposting p
            WHERE p.token_id = n.token_id AND p.account_id = l.account_id
            ORDER BY p.seq DESC LIMIT 1
        ) b ON TRUE
        WHERE l.account_id IS NOT NULL
        WINDOW by_account AS (PARTITION BY n.token_id, l.account_id ORDER BY n.seq)
    ), legs AS MATERIALIZED (
        -- Both legs of an entry are peers: a sum up to one holds the other, too.
        SELECT token_id, seq, leg, account_id, user_id, delta, after,
            allowed
            AND supply_after = supply + sum(delta) OVER by_seq
            AND held_after = held + coalesce(sum(delta) FILTER (WHERE holds) OVER by_seq, 0)
            AND holders_after = holder_count + coalesce(sum(
                (after > 0)::int - (after - delta > 0)::int)
                FILTER (WHERE holds) OVER by_seq, 0)
            AND (source_id IS NOT NULL OR supply_after <= authorized_units) IS NOT FALSE
            AS follows
        FROM accounts
        WINDOW by_seq AS (PARTITION BY token_id ORDER BY seq)
    ), posted AS (
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT token_id, seq, leg, account_id, delta, after FROM legs
    ), balanced AS (
        INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (token_id, account_id)
            token_id, account_id, user_id, after, seq
        FROM legs ORDER BY token_id, account_id, seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq
    )
    SELECT format('token %s, entry %s', token_id, seq) INTO wrong
    FROM legs WHERE follows IS NOT TRUE ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The ledger''s next entry must have the next number, the time '
            'that its writer took under the lock, accounts of its kind, and the '
            'supply, held units and holders that follow: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_follow_periods(array_agg(token_id), array_agg(seq)) FROM entered;
    PERFORM register_judge_entries(e.effective_at, array_agg(e.token_id),
        array_agg(e.seq))
    FROM entered e
    JOIN issuers_token t ON t.id = e.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
        AND i.recorded_in IS DISTINCT FROM (SELECT register_transaction(0))
    GROUP BY e.effective_at;
    IF EXISTS (SELECT FROM entered WHERE legacy_shareholder_id IS NOT NULL) THEN
        UPDATE issuers_legacyshareholder s
            SET status = 'DELIVERED', delivered_at = e.effective_at,
                delivered_by = e.actor, ledger_seq = e.seq
            FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.target_id
            WHERE s.id = e.legacy_shareholder_id AND s.status = 'PENDING'
                AND s.token_id = e.token_id AND s.user_id = a.user_id
                AND s.number_of_shares = e.amount AND s.issuer_id = (
                    SELECT issuer_id FROM issuers_token WHERE id = e.token_id);
        GET DIAGNOSTICS marked = ROW_COUNT;
        IF marked <> (SELECT count(legacy_shareholder_id) FROM entered) THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_seq = l.seq, last_effective_at = l.effective_at,
            supply = l.supply_after, held = l.held_after,
            holder_count = l.holders_after,
            entry_digest = register_chain_entries(
                h.token_id, h.last_seq, h.entry_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, seq DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_follow_transactions AFTER INSERT
    ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_follow_transactions();
