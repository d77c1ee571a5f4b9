"""Register writes."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.register_enter(at timestamp with time zone, judges boolean, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], actors text[], legacy uuid[], reverses bigint[], entry_times timestamp with time zone[], price_tokens uuid[], price_cents bigint[], price_sources text[], price_actors text[], price_times timestamp with time zone[], held_tokens uuid[], held_accounts bigint[], held_deltas numeric[])
RETURNS TABLE(token_id uuid, number bigint, is_price boolean) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    missing bigint;
    crosses boolean;
    seqs bigint[]; supplies numeric[]; helds numeric[]; holders bigint[];
    leg_tokens uuid[]; leg_seqs bigint[]; legs smallint[]; leg_accounts bigint[];
    leg_deltas numeric[]; leg_afters numeric[];
    price_numbers bigint[];
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
            array_agg(l.token), array_agg(l.seq), array_agg(l.leg),
            array_agg(l.account), array_agg(l.delta), array_agg(l.after),
            bool_or(l.holds AND (l.after > 0) <> (l.after - l.delta > 0)),
            min(l.broken || ': token ' || l.token || ', entry ' || l.seq)
                FILTER (WHERE l.broken IS NOT NULL)
        INTO seqs, supplies, helds, holders, leg_tokens, leg_seqs, legs, leg_accounts,
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
                END AS broken
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
                        h.last_seq, h.supply, h.held, h.holder_count,
                        t.authorized_units,
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
                        SELECT x.balance FROM issuers_holderbalance x
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
            target_id, amount, effective_at, supply_after, held_after, holders_after,
            actor, reason, legacy_shareholder_id, reverses)
        SELECT e.token, e.seq, e.kind, e.source, e.target, e.amount,
            coalesce(e.entered_at, at), e.supply, e.held, e.holders, e.actor, e.reason,
            e.line, e.reverses
        FROM unnest(entry_tokens, seqs, kinds, sources, targets, amounts, entry_times,
            supplies, helds, holders, actors, reasons, legacy, reverses)
            AS e (token, seq, kind, source, target, amount, entered_at, supply, held,
                holders, actor, reason, line, reverses);
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
                (token_id, number, price_cents, source, effective_at, recorded_by)
            SELECT n.token, n.number, n.cents, n.source, n.priced_at, n.actor
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
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_history(actor text, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], legacy uuid[], entry_times timestamp with time zone[], price_tokens uuid[], price_cents bigint[], price_sources text[], price_times timestamp with time zone[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    made_now constant bigint := register_transaction(0);
    tokens uuid[] := ARRAY(
        SELECT DISTINCT t FROM unnest(entry_tokens || price_tokens) AS t);
    wrong text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(tokens);
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT t.symbol INTO wrong
    FROM issuers_tokenledgerhead h
    JOIN issuers_token t ON t.id = h.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
    WHERE h.token_id = ANY (tokens) AND (i.recorded_in IS DISTINCT FROM made_now
        OR (h.is_open OR h.last_seq > 0 OR h.last_price > 0)
            AND (h.hold_transaction, h.hold_at)
                IS DISTINCT FROM (made_now, 'epoch'::timestamptz))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A past is written for a token that is new in this transaction, '
            'with its issuer: not for %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'TRADE' = ANY (kinds) OR 'REVERSAL' = ANY (kinds) THEN
        RAISE EXCEPTION 'A past has no trades and no reversals.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM unnest(entry_times || price_times) AS w (entered_at)
            WHERE (w.entered_at <= clock_timestamp()) IS NOT TRUE)
        OR cardinality(entry_times) <> cardinality(entry_tokens)
        OR cardinality(price_times) <> cardinality(price_tokens) THEN
        RAISE EXCEPTION 'A past has times, and none of them is to come.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- Further calls of this transaction go on with it.
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = made_now, hold_at = 'epoch'
        WHERE h.token_id = ANY (tokens) AND NOT h.is_open;
    PERFORM register_enter(clock_timestamp(), FALSE, entry_tokens, kinds, sources,
        targets, amounts, reasons,
        array_fill(actor, ARRAY[cardinality(entry_tokens)]), legacy,
        array_fill(NULL::bigint, ARRAY[cardinality(entry_tokens)]), entry_times,
        price_tokens, price_cents, price_sources,
        array_fill(actor, ARRAY[cardinality(price_tokens)]), price_times, '{}', '{}',
        '{}');
END $$;
REVOKE ALL ON FUNCTION public.register_history(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], timestamp with time zone[], uuid[], bigint[], text[], timestamp with time zone[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge(of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp with time zone, past boolean, source_balance numeric, source_reserved numeric, target_balance numeric, supply_after numeric, holders_before bigint, holders_after bigint, newcomer uuid DEFAULT NULL::uuid)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    of_kind issuers_entrykind;
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO of_kind FROM issuers_entrykind k WHERE k.name = kind;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no kind of entry %.', kind
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN of_kind.is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE of_kind.is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE of_kind.is_paused AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE of_kind.is_given OR of_kind.is_forced AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE of_kind.is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE of_kind.is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;
GRANT EXECUTE ON FUNCTION public.register_judge(uuid, text, bigint, bigint, numeric, timestamp with time zone, boolean, numeric, numeric, numeric, numeric, bigint, bigint, uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge_entries(at timestamp with time zone, entry_tokens uuid[], seqs bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = ANY (entry_tokens)
            AND (r.ended_at IS NULL OR r.ended_at > at))
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at > at) THEN
        RETURN;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                s.balance_after AS source_after, g.balance_after AS target_after
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = w.token
            LEFT JOIN issuers_ledgerposting s
                ON s.token_id = w.token AND s.seq = w.seq AND s.leg = 1
            LEFT JOIN issuers_ledgerposting g
                ON g.token_id = w.token AND g.seq = w.seq AND g.leg = 2
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id
                    AND (r.ended_at IS NULL OR r.ended_at > at))
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at > at))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            at, FALSE, e.source_after + e.amount, 0, e.target_after - e.amount,
            e.supply_after, e.holders_before, e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, b.balance, b.reserved
        FROM (
            SELECT x.token_id, x.source_id AS account_id
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_entrykind k ON k.name = x.kind
            WHERE x.source_id IS NOT NULL
            GROUP BY x.token_id, x.source_id
            HAVING bool_and(k.is_taken)
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.register_judge_entries(timestamp with time zone, uuid[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_open_accounts(users uuid[], issuers uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- The lock keeps a profile from going to another user meanwhile.
    INSERT INTO issuers_ledgeraccount (kind, holder_id, user_id)
    SELECT 'HOLDER', h.id, h.user_id FROM accounts_userholder h
    WHERE h.user_id = ANY (users) ORDER BY h.user_id FOR KEY SHARE
    ON CONFLICT DO NOTHING;
    INSERT INTO issuers_ledgeraccount (kind, issuer_id)
    SELECT 'TREASURY', i.id FROM issuers_issuer i
    WHERE i.id = ANY (issuers) ORDER BY i.id
    ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.register_open_accounts(uuid[], uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_read(tokens uuid[], of_tokens uuid[], accounts bigint[], holds boolean)
RETURNS TABLE(token_id uuid, symbol text, issuer_id uuid, created_at timestamp with time zone, authorized_units numeric, last_seq bigint, last_price bigint, supply numeric, held numeric, holder_count bigint, price_cents bigint, is_open boolean, last_at timestamp with time zone, clock timestamp with time zone, states text) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    last timestamptz;
    taken timestamptz;
    binds boolean;
BEGIN
    IF holds THEN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'This is done in a transaction that is READ '
                'COMMITTED: the snapshot of another does not show what was committed '
                'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
        END IF;
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
REVOKE ALL ON FUNCTION public.register_read(uuid[], uuid[], bigint[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_write(actor text, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], legacy uuid[], reverses bigint[], price_tokens uuid[], price_cents bigint[], price_sources text[], step bigint)
RETURNS TABLE(token_id uuid, number bigint, is_price boolean, entered_at timestamp with time zone) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    made_now constant bigint := register_transaction(0);
    person constant text := approvals_person();
    carried constant uuid[] := string_to_array(
        nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[];
    taken timestamptz;
    last timestamptz;
    wrong text;
    tokens uuid[]; numbers bigint[]; priced boolean[];
    asked text[];
    used uuid[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'TRADE' = ANY (kinds) OR 'TRADE' = ANY (price_sources) THEN
        RAISE EXCEPTION 'Only a market enters trades and their prices.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- A reader of an instant waits for those marked before its lock is asked for.
    PERFORM register_mark(ARRAY(
        SELECT DISTINCT t FROM unnest(entry_tokens || price_tokens) AS t));
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (entry_tokens || price_tokens)
        ORDER BY h.token_id FOR UPDATE;
    SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (entry_tokens || price_tokens);
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    taken := clock_timestamp();
    IF array_remove(reverses, NULL) <> '{}' AND EXISTS (
        SELECT FROM unnest(entry_tokens, reverses) AS e (token, undone)
        JOIN issuers_ledgertransaction t
            ON t.token_id = e.token AND t.seq = e.undone AND t.kind = 'TRADE') THEN
        RAISE EXCEPTION 'Only market bust reverses a trade, with its payment.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(p.token_id), array_agg(p.number), array_agg(p.is_price)
    INTO tokens, numbers, priced
    FROM register_post(taken, entry_tokens, kinds, sources, targets, amounts, reasons,
        array_fill(actor, ARRAY[cardinality(entry_tokens)]), legacy, reverses,
        price_tokens, price_cents, price_sources,
        array_fill(actor, ARRAY[cardinality(price_tokens)]), '{}', '{}', '{}') p;
    IF array_remove(legacy, NULL) <> '{}' THEN
        SELECT format('line %s', e.line) INTO wrong
        FROM unnest(legacy, entry_tokens, sources, targets, amounts)
            AS e (line, token, source, target, amount)
        JOIN issuers_token t ON t.id = e.token
        JOIN issuers_issuer i ON i.id = t.issuer_id
            AND i.recorded_in IS DISTINCT FROM made_now
        JOIN issuers_ledgeraccount a ON a.id = e.target
        WHERE e.line IS NOT NULL AND NOT EXISTS (
            SELECT FROM issuers_deliverystep s
            JOIN issuers_deliveryjob j ON j.id = s.job_id AND j.released_at IS NOT NULL
            CROSS JOIN LATERAL (
                SELECT array_position(s.shareholder_ids, e.line) AS place) l
            WHERE s.id = step AND s.units[l.place] = e.amount
                AND s.token_ids[l.place] = e.token AND s.user_ids[l.place] = a.user_id
                AND (j.source = 'MINT') = (e.source IS NULL))
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'Legacy shares are delivered as a released delivery has frozen '
                'them: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    -- What needs the right of a member of staff, and by policy a second person.
    SELECT array_agg(DISTINCT a.kind) INTO asked FROM (
        SELECT k.approval AS kind, e.token FROM unnest(kinds, entry_tokens)
            AS e (kind, token)
        JOIN issuers_entrykind k ON k.name = e.kind
        UNION ALL SELECT 'PRICE', p.token FROM unnest(price_tokens) AS p (token)
    ) a
    JOIN issuers_token t ON t.id = a.token
    JOIN issuers_issuer i ON i.id = t.issuer_id
    WHERE a.kind IS NOT NULL AND i.recorded_in IS DISTINCT FROM made_now;
    IF asked IS NULL THEN
        RETURN QUERY SELECT d.token, d.number, d.priced, taken
            FROM unnest(tokens, numbers, priced) AS d (token, number, priced);
        RETURN;
    END IF;
    IF person NOT IN ('SQL', 'command') THEN
        SELECT k.kind INTO wrong FROM unnest(asked) AS k (kind)
        WHERE NOT approvals_may(person::uuid, 'file_' || k.kind)
            AND NOT approvals_may(person::uuid, 'decide_' || k.kind) LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'Only a member of staff with the right to do so writes this '
                'into the register: %.', lower(wrong)
                USING ERRCODE = 'restrict_violation';
        END IF;
        IF NOT EXISTS (SELECT FROM accounts_user u WHERE u.email = actor
            AND (u.id = person::uuid OR EXISTS (
                SELECT FROM accounts_approvalrequest r
                WHERE r.id = ANY (carried) AND r.filed_by_id = u.id))) THEN
            RAISE EXCEPTION 'The register names the user that is signed in, or that '
                'filed the request: not %.', actor USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF carried IS NULL AND NOT EXISTS (
        SELECT FROM unnest(asked) AS k (kind)
        LEFT JOIN accounts_approvalpolicy p ON p.kind = k.kind
        WHERE p.is_required IS NOT FALSE) THEN
        RETURN QUERY SELECT d.token, d.number, d.priced, taken
            FROM unnest(tokens, numbers, priced) AS d (token, number, priced);
        RETURN;
    END IF;
    SELECT array_agg(approvals_use(e.approval, jsonb_build_object(
        'token', e.token_id, 'from', e.source_id, 'to', e.target_id,
        'units', e.amount::text, 'reverses', e.reverses, 'reason', e.reason,
        'supply', CASE WHEN e.approval <> 'TRANSFER'
            AND (e.source_id IS NULL OR e.target_id IS NULL)
            THEN e.supply_after::text END),
        e.amount, e.token_id, e.seq)) INTO used
    FROM (
        SELECT x.*, k.approval
        FROM unnest(tokens, numbers, priced) WITH ORDINALITY
            AS d (token, number, priced, place)
        JOIN issuers_ledgertransaction x
            ON x.token_id = d.token AND x.seq = d.number AND NOT d.priced
        JOIN issuers_entrykind k ON k.name = x.kind AND k.approval IS NOT NULL
        JOIN issuers_token t ON t.id = x.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE i.recorded_in IS DISTINCT FROM made_now
            AND (k.approval <> 'TRANSFER' OR person <> 'SQL')
        ORDER BY d.place
        OFFSET 0
    ) e;
    IF price_tokens <> '{}' THEN
        SELECT used || array_agg(approvals_use('PRICE', jsonb_build_object(
            'token', p.token_id, 'cents', p.price_cents::text, 'source', p.source,
            'after', p.before), p.price_cents, p.token_id, p.number)) INTO used
        FROM (
            SELECT x.*, (SELECT coalesce(max(y.number), 0) FROM issuers_tokenprice y
                WHERE y.token_id = x.token_id AND y.number < x.number
                    AND y.source <> 'TRADE') AS before
            FROM unnest(tokens, numbers, priced) WITH ORDINALITY
                AS d (token, number, priced, place)
            JOIN issuers_tokenprice x
                ON x.token_id = d.token AND x.number = d.number AND d.priced
            JOIN issuers_token t ON t.id = x.token_id
            JOIN issuers_issuer i ON i.id = t.issuer_id
            WHERE i.recorded_in IS DISTINCT FROM made_now
            ORDER BY d.place
            OFFSET 0
        ) p;
    END IF;
    IF person NOT IN ('SQL', 'command') AND EXISTS (
        SELECT FROM accounts_approvalrequest r
        JOIN accounts_approvaldecision d ON d.request_id = r.id
        WHERE r.id = ANY (used)
            AND person::uuid NOT IN (r.filed_by_id, d.decided_by_id)) THEN
        RAISE EXCEPTION 'A request is carried out by the user that filed or decided it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY SELECT d.token, d.number, d.priced, taken
        FROM unnest(tokens, numbers, priced) AS d (token, number, priced);
END $$;
REVOKE ALL ON FUNCTION public.register_write(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], bigint[], uuid[], bigint[], text[], bigint) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.register_enter(at timestamp with time zone, judges boolean, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], actors text[], legacy uuid[], reverses bigint[], entry_times timestamp with time zone[], price_tokens uuid[], price_cents bigint[], price_sources text[], price_actors text[], price_times timestamp with time zone[], held_tokens uuid[], held_accounts bigint[], held_deltas numeric[])
RETURNS TABLE(token_id uuid, number bigint, is_price boolean) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    missing bigint;
    crosses boolean;
    seqs bigint[]; supplies numeric[]; helds numeric[]; holders bigint[];
    leg_tokens uuid[]; leg_seqs bigint[]; legs smallint[]; leg_accounts bigint[];
    leg_deltas numeric[]; leg_afters numeric[];
    price_numbers bigint[];
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
            array_agg(l.token), array_agg(l.seq), array_agg(l.leg),
            array_agg(l.account), array_agg(l.delta), array_agg(l.after),
            bool_or(l.holds AND (l.after > 0) <> (l.after - l.delta > 0)),
            min(l.broken || ': token ' || l.token || ', entry ' || l.seq)
                FILTER (WHERE l.broken IS NOT NULL)
        INTO seqs, supplies, helds, holders, leg_tokens, leg_seqs, legs, leg_accounts,
            leg_deltas, leg_afters, crosses, wrong
        FROM (
            SELECT n.*, CASE
                WHEN n.account_kind IS NULL THEN 'There is no such ledger account'
                WHEN NOT n.is_of_kind THEN
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
                END AS broken
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
                        a.kind AS account_kind, a.kind = 'HOLDER' AS holds,
                        a.kind = 'HOLDER' OR a.issuer_id = t.issuer_id AS is_own,
                        CASE
                            WHEN e.kind IN ('TRANSFER', 'FORCED_TRANSFER', 'TRADE')
                                THEN a.kind = 'HOLDER' AND e.source IS NOT NULL
                                    AND e.target IS NOT NULL
                            WHEN e.kind IN ('ALLOCATE', 'LEGACY_DELIVERY')
                                THEN a.kind = CASE l.leg WHEN 1 THEN 'TREASURY'
                                        ELSE 'HOLDER' END
                                    AND e.target IS NOT NULL
                                    AND (e.source IS NOT NULL
                                        OR e.kind = 'LEGACY_DELIVERY')
                            WHEN e.kind = 'RETURN'
                                THEN a.kind = CASE l.leg WHEN 1 THEN 'HOLDER'
                                        ELSE 'TREASURY' END
                                    AND e.source IS NOT NULL AND e.target IS NOT NULL
                            WHEN e.kind = 'MINT' THEN e.source IS NULL
                            WHEN e.kind = 'BURN' THEN e.target IS NULL
                            ELSE e.kind = 'REVERSAL' END AS is_of_kind,
                        coalesce(b.balance, 0)
                            + sum(l.delta) OVER by_account AS after,
                        h.last_seq, h.supply, h.held, h.holder_count,
                        t.authorized_units,
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
                        SELECT x.kind, x.issuer_id
                        FROM issuers_ledgeraccount x WHERE x.id = l.account LIMIT 1
                    ) a ON TRUE
                    LEFT JOIN LATERAL (
                        SELECT x.balance FROM issuers_holderbalance x
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
            target_id, amount, effective_at, supply_after, held_after, holders_after,
            actor, reason, legacy_shareholder_id, reverses)
        SELECT e.token, e.seq, e.kind, e.source, e.target, e.amount,
            coalesce(e.entered_at, at), e.supply, e.held, e.holders, e.actor, e.reason,
            e.line, e.reverses
        FROM unnest(entry_tokens, seqs, kinds, sources, targets, amounts, entry_times,
            supplies, helds, holders, actors, reasons, legacy, reverses)
            AS e (token, seq, kind, source, target, amount, entered_at, supply, held,
                holders, actor, reason, line, reverses);
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
                (token_id, number, price_cents, source, effective_at, recorded_by)
            SELECT n.token, n.number, n.cents, n.source, n.priced_at, n.actor
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
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge(of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp with time zone, past boolean, source_balance numeric, source_reserved numeric, target_balance numeric, supply_after numeric, holders_before bigint, holders_after bigint, newcomer uuid DEFAULT NULL::uuid)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    is_free boolean := kind IN ('TRADE', 'TRANSFER');
    is_taken boolean := kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN');
    is_given boolean := kind IN
        ('TRADE', 'TRANSFER', 'MINT', 'ALLOCATE', 'LEGACY_DELIVERY');
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE is_free AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE is_given OR kind = 'FORCED_TRANSFER' AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;
GRANT EXECUTE ON FUNCTION public.register_judge(uuid, text, bigint, bigint, numeric, timestamp with time zone, boolean, numeric, numeric, numeric, numeric, bigint, bigint, uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge_entries(at timestamp with time zone, entry_tokens uuid[], seqs bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = ANY (entry_tokens)
            AND (r.ended_at IS NULL OR r.ended_at > at))
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at > at) THEN
        RETURN;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                s.balance_after AS source_after, g.balance_after AS target_after
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = w.token
            LEFT JOIN issuers_ledgerposting s
                ON s.token_id = w.token AND s.seq = w.seq AND s.leg = 1
            LEFT JOIN issuers_ledgerposting g
                ON g.token_id = w.token AND g.seq = w.seq AND g.leg = 2
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id
                    AND (r.ended_at IS NULL OR r.ended_at > at))
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at > at))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            at, FALSE, e.source_after + e.amount, 0, e.target_after - e.amount,
            e.supply_after, e.holders_before, e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, b.balance, b.reserved
        FROM (
            SELECT x.token_id, x.source_id AS account_id
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            WHERE x.source_id IS NOT NULL
            GROUP BY x.token_id, x.source_id
            HAVING bool_and(x.kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN'))
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.register_judge_entries(timestamp with time zone, uuid[], bigint[]) FROM PUBLIC;

DROP FUNCTION public.register_history(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], timestamp with time zone[], uuid[], bigint[], text[], timestamp with time zone[]);

DROP FUNCTION public.register_open_accounts(uuid[], uuid[]);

DROP FUNCTION public.register_read(uuid[], uuid[], bigint[], boolean);

DROP FUNCTION public.register_write(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], bigint[], uuid[], bigint[], text[], bigint);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0070_entry_kinds_are_rows"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
