-- Writes the next entries, prices and reservations of ledgers, and what follows from
-- them: numbers, postings, balances, holding periods, delivered legacy lines, chains
-- and one change of each head. Tells partners about them, but not about trades, which
-- have their own events. `judges`: the rules of tokens and holders apply. The setting
-- partnerapi.reason is the code of the entries' reasons, which makes lines of version 3.
-- `entry_times` and `price_times` are for a history; elsewhere all have the time `at`.
-- The heads are locked. Returns the entries, then the prices, as they were given.
-- called by: register_history, register_post, trading_settle
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_enter(
    at timestamp with time zone, judges boolean, entry_tokens uuid[], kinds text[],
    sources bigint[], targets bigint[], amounts numeric[], reasons text[],
    actors text[], legacy uuid[], reverses bigint[],
    entry_times timestamp with time zone[], price_tokens uuid[], price_cents bigint[],
    price_sources text[], price_actors text[], price_times timestamp with time zone[],
    held_tokens uuid[], held_accounts bigint[], held_deltas numeric[]
)
RETURNS TABLE(token_id uuid, number bigint, is_price boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    missing bigint;
    crosses boolean;
    seqs bigint[]; supplies numeric[]; helds numeric[]; holders bigint[];
    leg_tokens uuid[]; leg_seqs bigint[]; legs smallint[]; leg_accounts bigint[];
    leg_deltas numeric[]; leg_afters numeric[];
    source_marks bigint[]; target_marks bigint[]; befores bytea[];
    price_numbers bigint[];
    code constant text := nullif(current_setting('partnerapi.reason', TRUE), '');
BEGIN
    IF cardinality(entry_tokens) > 5000 OR cardinality(price_tokens) > 5000
        OR cardinality(held_tokens) > 10000 THEN
        RAISE EXCEPTION 'A call writes at most 5,000 entries and 5,000 prices.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF entry_tokens <> '{}' THEN
        SELECT array_agg(l.seq) FILTER (WHERE l.is_first),
            array_agg(l.supply_after) FILTER (WHERE l.is_first),
            array_agg(l.held_after) FILTER (WHERE l.is_first),
            array_agg(l.holders_after) FILTER (WHERE l.is_first),
            array_agg(CASE l.leg WHEN 1 THEN l.mark END) FILTER (WHERE l.is_first),
            array_agg(CASE l.leg WHEN 2 THEN l.mark END) FILTER (WHERE l.is_last),
            array_agg(l.digest_before) FILTER (WHERE l.is_first),
            array_agg(l.token), array_agg(l.seq), array_agg(l.leg),
            array_agg(l.account), array_agg(l.delta), array_agg(l.after),
            bool_or(l.holds AND (l.after > 0) <> (l.after - l.delta > 0)),
            min(l.broken || ': token ' || l.token || ', entry ' || l.seq)
                FILTER (WHERE l.broken IS NOT NULL)
        INTO seqs, supplies, helds, holders, source_marks, target_marks, befores,
            leg_tokens, leg_seqs, legs, leg_accounts,
            leg_deltas, leg_afters, crosses, wrong
        FROM (
            SELECT n.*, CASE
                WHEN n.account_kind IS NULL THEN 'There is no such ledger account'
                WHEN n.is_of_kind IS NOT TRUE THEN
                    'An entry moves units between accounts of its kind'
                WHEN NOT n.is_own THEN 'A treasury is of the token''s issuer'
                WHEN n.made AND n.supply_after > n.authorized_units THEN
                    'A token has no more units than are authorized'
                WHEN n.is_late IS NOT FALSE THEN
                    'The time of an entry is not before the last one of its token'
                WHEN n.reverses IS NOT NULL AND NOT EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = n.token AND u.seq = n.reverses
                        AND u.kind <> 'REVERSAL' AND u.amount = n.amount
                        AND u.source_id IS NOT DISTINCT FROM n.target
                        AND u.target_id IS NOT DISTINCT FROM n.source) THEN
                    'A reversal moves back all units of an entry'
                END AS broken,
                CASE WHEN n.version_1_entries IS NULL AND n.seq = n.last_seq + 1
                    THEN n.entry_digest END AS digest_before
            FROM (
                -- Both legs of an entry are peers: a sum up to one holds the other.
                SELECT b.*,
                    b.last_seq + dense_rank() OVER by_place AS seq,
                    b.supply + sum(b.delta) OVER by_place AS supply_after,
                    b.held + coalesce(sum(b.delta) FILTER (WHERE b.holds)
                        OVER by_place, 0) AS held_after,
                    b.holder_count + coalesce(sum((b.after > 0)::integer
                        - (b.after - b.delta > 0)::integer) FILTER (WHERE b.holds)
                        OVER by_place, 0) AS holders_after,
                    b.entered_at < lag(b.entered_at, 1, b.last_at) OVER by_place
                        OR b.entered_at IS NULL AS is_late
                FROM (
                    SELECT e.place, e.token, e.source, e.target, e.amount, e.reverses,
                        coalesce(e.entered_at, at) AS entered_at,
                        e.source IS NULL AS made,
                        l.leg, l.account, l.delta,
                        l.leg = 1 OR e.source IS NULL AS is_first,
                        l.leg = 2 OR e.target IS NULL AS is_last,
                        a.kind AS account_kind, a.kind = 'HOLDER' AS holds,
                        a.kind = 'HOLDER' OR a.issuer_id = t.issuer_id AS is_own,
                        a.kind = ANY (CASE l.leg WHEN 1 THEN k.sources
                                ELSE k.targets END)
                            AND (e.source IS NOT NULL
                                OR array_position(k.sources, NULL) > 0)
                            AND (e.target IS NOT NULL
                                OR array_position(k.targets, NULL) > 0) AS is_of_kind,
                        coalesce(b.balance, 0)
                            + sum(l.delta) OVER by_account AS after,
                        -- The account's entry before: its number, or, where it is one
                        -- of these, its place below zero.
                        coalesce(-lag(e.place) OVER by_account, b.last_seq, 0) AS mark,
                        h.last_seq, h.supply, h.held, h.holder_count,
                        h.version_1_entries, h.entry_digest, t.authorized_units,
                        greatest(h.last_effective_at, h.last_price_at, t.created_at)
                            AS last_at
                    FROM unnest(entry_tokens, kinds, sources, targets,
                        amounts::numeric(20, 0)[], reverses, entry_times)
                        WITH ORDINALITY AS e (token, kind, source, target, amount,
                            reverses, entered_at, place)
                    CROSS JOIN LATERAL (VALUES (1::smallint, e.source, -e.amount),
                        (2::smallint, e.target, e.amount)) AS l (leg, account, delta)
                    JOIN issuers_tokenledgerhead h ON h.token_id = e.token
                    JOIN issuers_token t ON t.id = e.token
                    LEFT JOIN LATERAL (
                        SELECT x.sources, x.targets
                        FROM issuers_entrykind x WHERE x.name = e.kind LIMIT 1
                    ) k ON TRUE
                    LEFT JOIN LATERAL (
                        SELECT x.kind, x.issuer_id
                        FROM issuers_ledgeraccount x WHERE x.id = l.account LIMIT 1
                    ) a ON TRUE
                    LEFT JOIN LATERAL (
                        SELECT x.balance, x.last_seq FROM issuers_holderbalance x
                        WHERE x.token_id = e.token AND x.account_id = l.account LIMIT 1
                    ) b ON TRUE
                    WHERE l.account IS NOT NULL
                    WINDOW by_account AS (
                        PARTITION BY e.token, l.account ORDER BY e.place, l.leg)
                ) b
                WINDOW by_place AS (PARTITION BY b.token ORDER BY b.place)
            ) n
            ORDER BY n.place, n.leg
        ) l;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION '%.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
        IF cardinality(seqs) IS DISTINCT FROM cardinality(entry_tokens) THEN
            RAISE EXCEPTION 'An entry is of a token that there is, and units come or go.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_ledgertransaction (token_id, seq, kind, source_id,
            target_id, amount, effective_at, recorded_at, supply_after, held_after,
            holders_after, actor, reason, reason_code, legacy_shareholder_id, reverses,
            source_before, target_before, previous_digest, salt, private_digest)
        SELECT e.token, e.seq, e.kind, e.source, e.target, e.amount,
            coalesce(e.entered_at, at), statement_timestamp(), e.supply, e.held,
            e.holders, e.actor, e.reason,
            CASE WHEN e.kind NOT IN ('TRADE', 'LEGACY_DELIVERY') THEN code END, e.line,
            e.reverses,
            CASE WHEN e.source_mark < 0 THEN seqs[-e.source_mark]
                ELSE e.source_mark END,
            CASE WHEN e.target_mark < 0 THEN seqs[-e.target_mark]
                ELSE e.target_mark END,
            e.before, e.salt, sha256(e.salt || convert_to(register_entry_detail(
                e.actor, e.line, e.reason, statement_timestamp()), 'UTF8'))
        FROM (
            SELECT u.*, uuid_send(gen_random_uuid()) AS salt
            FROM unnest(entry_tokens, seqs, kinds, sources, targets, amounts,
                entry_times, supplies, helds, holders, actors, reasons, legacy, reverses,
                source_marks, target_marks, befores)
                AS u (token, seq, kind, source, target, amount, entered_at, supply,
                    held, holders, actor, reason, line, reverses, source_mark,
                    target_mark, before)
            OFFSET 0
        ) e;
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT * FROM unnest(
            leg_tokens, leg_seqs, legs, leg_accounts, leg_deltas, leg_afters);
    END IF;
    IF entry_tokens <> '{}' OR held_tokens <> '{}' THEN
        WITH moved AS MATERIALIZED (
            SELECT w.token, w.account, sum(w.delta) AS delta, sum(w.held) AS held,
                max(w.seq) AS seq
            FROM (
                SELECT l.token, l.account, l.delta, 0::numeric AS held, l.seq
                FROM unnest(leg_tokens, leg_accounts, leg_deltas, leg_seqs)
                    AS l (token, account, delta, seq)
                UNION ALL
                SELECT r.token, r.account, 0, r.held, NULL
                FROM unnest(held_tokens, held_accounts,
                    held_deltas::numeric(20, 0)[]) AS r (token, account, held)
            ) w
            GROUP BY w.token, w.account
        ), changed AS (
            UPDATE issuers_holderbalance b
                SET balance = b.balance + m.delta, reserved = b.reserved + m.held,
                    last_seq = coalesce(m.seq, b.last_seq)
                FROM moved m
                WHERE b.token_id = m.token AND b.account_id = m.account
                RETURNING 1
        ), opened AS (
            INSERT INTO issuers_holderbalance
                (token_id, account_id, user_id, balance, last_seq, reserved)
            SELECT m.token, m.account, a.user_id, m.delta, m.seq, m.held
            FROM moved m JOIN issuers_ledgeraccount a ON a.id = m.account
            WHERE m.seq IS NOT NULL AND NOT EXISTS (
                SELECT FROM issuers_holderbalance b
                WHERE b.token_id = m.token AND b.account_id = m.account)
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM moved) - (SELECT count(*) FROM changed)
            - (SELECT count(*) FROM opened) INTO missing;
        IF missing <> 0 THEN
            RAISE EXCEPTION 'Units are reserved of a holder who has some.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF crosses THEN
        PERFORM register_follow_periods(entry_tokens, seqs);
    END IF;
    IF judges AND entry_tokens <> '{}' THEN
        PERFORM register_judge_entries(at, entry_tokens, seqs);
    END IF;
    IF array_remove(legacy, NULL) <> '{}' THEN
        WITH marked AS (
            UPDATE issuers_legacyshareholder s
                SET status = 'DELIVERED', delivered_at = coalesce(e.entered_at, at),
                    delivered_by = e.actor, ledger_seq = e.seq
                FROM unnest(legacy, entry_tokens, seqs, targets,
                        amounts::numeric(20, 0)[], actors, entry_times)
                        AS e (line, token, seq, target, amount, actor, entered_at)
                    JOIN issuers_ledgeraccount a ON a.id = e.target
                    JOIN issuers_token t ON t.id = e.token
                WHERE s.id = e.line AND s.status = 'PENDING' AND s.token_id = e.token
                    AND s.user_id = a.user_id AND s.number_of_shares = e.amount
                    AND s.issuer_id = t.issuer_id
                RETURNING 1
        )
        SELECT cardinality(array_remove(legacy, NULL)) - count(*) INTO missing
        FROM marked;
        IF missing <> 0 THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF price_tokens <> '{}' THEN
        WITH numbered AS MATERIALIZED (
            SELECT p.place, p.token, p.cents, p.source, p.actor,
                coalesce(p.priced_at, at) AS priced_at,
                h.last_price + row_number() OVER by_place AS number,
                h.last_price, h.version_1_prices, h.price_digest,
                uuid_send(gen_random_uuid()) AS salt,
                coalesce(p.priced_at, at) < lag(coalesce(p.priced_at, at), 1,
                    greatest(h.last_effective_at, h.last_price_at, t.created_at))
                    OVER by_place AS is_late
            FROM unnest(price_tokens, price_cents, price_sources, price_actors,
                price_times) WITH ORDINALITY
                AS p (token, cents, source, actor, priced_at, place)
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token
            JOIN issuers_token t ON t.id = p.token
            WINDOW by_place AS (PARTITION BY p.token ORDER BY p.place)
        ), priced AS (
            INSERT INTO issuers_tokenprice
                (token_id, number, price_cents, source, effective_at, recorded_at,
                recorded_by, previous_digest, salt, private_digest)
            SELECT n.token, n.number, n.cents, n.source, n.priced_at,
                statement_timestamp(), n.actor,
                CASE WHEN n.version_1_prices IS NULL AND n.number = n.last_price + 1
                    THEN n.price_digest END,
                n.salt, sha256(n.salt || convert_to(
                    register_price_detail(n.actor, statement_timestamp()), 'UTF8'))
            FROM numbered n ORDER BY n.place
        )
        SELECT array_agg(n.number), min('token ' || n.token || ', price ' || n.number)
            FILTER (WHERE n.is_late IS NOT FALSE)
        INTO price_numbers, wrong
        FROM (SELECT * FROM numbered ORDER BY place) n;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION 'The time of a price is not before the last one of its '
                'token: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
        IF cardinality(price_numbers) IS DISTINCT FROM cardinality(price_tokens) THEN
            RAISE EXCEPTION 'A price is of a token that there is.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET is_open = TRUE,
            last_seq = coalesce(l.seq, h.last_seq),
            last_effective_at = coalesce(l.entered_at, h.last_effective_at),
            supply = coalesce(l.supply, h.supply), held = coalesce(l.held, h.held),
            holder_count = coalesce(l.holders, h.holder_count),
            last_price = coalesce(l.number, h.last_price),
            last_price_at = coalesce(l.priced_at, h.last_price_at),
            price_cents = coalesce(l.cents, h.price_cents),
            -- What is written from now on has lines of version 2.
            version_1_entries = CASE WHEN l.seq IS NULL THEN h.version_1_entries
                ELSE coalesce(h.version_1_entries, h.last_seq) END,
            version_1_prices = CASE WHEN l.number IS NULL THEN h.version_1_prices
                ELSE coalesce(h.version_1_prices, h.last_price) END,
            entry_digest = CASE WHEN l.seq IS NULL THEN h.entry_digest
                ELSE register_chain_entries(h.token_id, h.last_seq, h.entry_digest) END,
            price_digest = CASE WHEN l.number IS NULL THEN h.price_digest
                ELSE register_chain_prices(h.token_id, h.last_price, h.price_digest) END
        FROM (
            -- A token has one row of each part at most.
            SELECT u.token, max(u.seq) AS seq, max(u.entered_at) AS entered_at,
                max(u.supply) AS supply, max(u.held) AS held,
                max(u.holders) AS holders, max(u.number) AS number,
                max(u.priced_at) AS priced_at, max(u.cents) AS cents
            FROM (
                (SELECT DISTINCT ON (e.token) e.token, e.seq,
                    coalesce(e.entered_at, at) AS entered_at, e.supply, e.held,
                    e.holders, NULL::bigint AS number,
                    NULL::timestamptz AS priced_at, NULL::bigint AS cents
                 FROM unnest(entry_tokens, seqs, entry_times, supplies, helds, holders)
                    AS e (token, seq, entered_at, supply, held, holders)
                 ORDER BY e.token, e.seq DESC)
                UNION ALL
                (SELECT DISTINCT ON (p.token) p.token, NULL, NULL, NULL, NULL, NULL,
                    p.number, coalesce(p.priced_at, at), p.cents
                 FROM unnest(price_tokens, price_numbers, price_times, price_cents)
                    AS p (token, number, priced_at, cents)
                 ORDER BY p.token, p.number DESC)
            ) u
            GROUP BY u.token
        ) l
        WHERE h.token_id = l.token;
    IF 'TRADE' <> ANY (kinds) OR 'TRADE' <> ANY (price_sources) THEN
        PERFORM events_write(array_agg(n.audience), NULL, array_agg(n.kind),
            array_agg(n.subject), array_agg(n.issuer), array_agg(n.token), NULL,
            array_agg(n.seq))
        FROM (
            SELECT u.* FROM (
                SELECT 1 AS part, NULL::bigint AS line_seq, 'GRANTED' AS audience,
                    'REGISTER_CHANGED' AS kind, t.id AS subject, t.issuer_id AS issuer,
                    t.id AS token, max(e.seq) AS seq
                FROM unnest(entry_tokens, kinds, seqs) AS e (token, kind, seq)
                JOIN issuers_token t ON t.id = e.token
                WHERE e.kind <> 'TRADE' GROUP BY t.id
                UNION ALL
                SELECT 2, e.seq, 'GRANTED', 'LEGACY_SHARES_DELIVERED', e.line,
                    t.issuer_id, t.id, e.seq
                FROM unnest(entry_tokens, legacy, seqs) AS e (token, line, seq)
                JOIN issuers_token t ON t.id = e.token
                WHERE e.line IS NOT NULL
                UNION ALL
                SELECT 3, NULL, CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
                        ELSE 'GRANTED' END, 'TOKEN_PRICE_CHANGED', t.id, t.issuer_id,
                    t.id, NULL
                FROM issuers_token t
                WHERE t.id IN (SELECT p.token
                    FROM unnest(price_tokens, price_sources) AS p (token, source)
                    WHERE p.source <> 'TRADE')
            ) u
            ORDER BY u.part, u.line_seq, u.token
        ) n;
    END IF;
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[],
    text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp
    with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[],
    uuid[], bigint[], numeric[]) FROM PUBLIC;
