"""Hold the holders whose entries are judged; sort a commit's events once."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    told record;
BEGIN
    WITH others AS (
        DELETE FROM issuers_unnumberedevent
        WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    )
    SELECT array_agg(u.audience::text) AS audiences,
        array_agg(u.partner_id) AS partners,
        array_agg(u.type::text) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id)) AS subjects,
        array_agg(u.issuer_id) AS issuers,
        array_agg(u.token_id) AS tokens,
        array_agg(u.account_id) AS accounts,
        array_agg(u.ledger_sequence) AS ledger_sequences,
        array_agg(u.order_event) AS order_events,
        array_agg(u.price) AS prices,
        array_agg(u.quantity) AS quantities,
        array_agg(u.remaining) AS remainings,
        array_agg(u.trade) AS trades,
        array_agg(u.reason::text) AS reasons INTO told
    FROM (
        -- Sorted once, not for each list.
        SELECT * FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) a ORDER BY a.id
    ) u;
    PERFORM events_write(told.audiences, told.partners, told.kinds, told.subjects,
        told.issuers, told.tokens, told.accounts, told.ledger_sequences,
        told.order_events, told.prices, told.quantities, told.remainings, told.trades,
        told.reasons, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

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
            e.holders, e.actor, e.reason, code, e.line, e.reverses,
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
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

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
    PERFORM accounts_read_committed();
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
    -- Nothing binds the holders while they are judged.
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = ANY (sources || targets) AND a.kind = 'HOLDER'
        ORDER BY a.id FOR SHARE;
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
            THEN e.supply_after::text END)
            || CASE WHEN e.reason_code IS NULL THEN '{}'
                ELSE jsonb_build_object('code', e.reason_code) END,
        e.amount, e.token_id, e.seq)) INTO used
    FROM (
        SELECT x.*, k.approval
        FROM unnest(tokens, numbers, priced) WITH ORDINALITY
            AS d (token, number, priced, place)
        -- LATERAL looks each entry up, and never all of a token.
        CROSS JOIN LATERAL (
            SELECT * FROM issuers_ledgertransaction y
            WHERE y.token_id = d.token AND y.seq = d.number AND NOT d.priced LIMIT 1
        ) x
        JOIN issuers_entrykind k ON k.name = x.kind AND k.approval IS NOT NULL
        JOIN issuers_token t ON t.id = x.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE i.recorded_in IS DISTINCT FROM made_now
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
            CROSS JOIN LATERAL (
                SELECT * FROM issuers_tokenprice y
                WHERE y.token_id = d.token AND y.number = d.number AND d.priced LIMIT 1
            ) x
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
CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    told record;
BEGIN
    WITH others AS (
        DELETE FROM issuers_unnumberedevent
        WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    )
    SELECT array_agg(u.audience::text ORDER BY u.id) AS audiences,
        array_agg(u.partner_id ORDER BY u.id) AS partners,
        array_agg(u.type::text ORDER BY u.id) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id) ORDER BY u.id) AS subjects,
        array_agg(u.issuer_id ORDER BY u.id) AS issuers,
        array_agg(u.token_id ORDER BY u.id) AS tokens,
        array_agg(u.account_id ORDER BY u.id) AS accounts,
        array_agg(u.ledger_sequence ORDER BY u.id) AS ledger_sequences,
        array_agg(u.order_event ORDER BY u.id) AS order_events,
        array_agg(u.price ORDER BY u.id) AS prices,
        array_agg(u.quantity ORDER BY u.id) AS quantities,
        array_agg(u.remaining ORDER BY u.id) AS remainings,
        array_agg(u.trade ORDER BY u.id) AS trades,
        array_agg(u.reason::text ORDER BY u.id) AS reasons INTO told
    FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) u;
    PERFORM events_write(told.audiences, told.partners, told.kinds, told.subjects,
        told.issuers, told.tokens, told.accounts, told.ledger_sequences,
        told.order_events, told.prices, told.quantities, told.remainings, told.trades,
        told.reasons, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

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
            e.holders, e.actor, e.reason, code, e.line, e.reverses,
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
        PERFORM events_write(array_agg(n.audience ORDER BY n.place), NULL,
            array_agg(n.kind ORDER BY n.place), array_agg(n.subject ORDER BY n.place),
            array_agg(n.issuer ORDER BY n.place), array_agg(n.token ORDER BY n.place),
            NULL, array_agg(n.seq ORDER BY n.place))
        FROM (
            SELECT u.*, row_number() OVER (ORDER BY u.part, u.line_seq, u.token) AS place
            FROM (
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
        ) n;
    END IF;
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

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
    PERFORM accounts_read_committed();
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
            THEN e.supply_after::text END)
            || CASE WHEN e.reason_code IS NULL THEN '{}'
                ELSE jsonb_build_object('code', e.reason_code) END,
        e.amount, e.token_id, e.seq)) INTO used
    FROM (
        SELECT x.*, k.approval
        FROM unnest(tokens, numbers, priced) WITH ORDINALITY
            AS d (token, number, priced, place)
        -- LATERAL looks each entry up, and never all of a token.
        CROSS JOIN LATERAL (
            SELECT * FROM issuers_ledgertransaction y
            WHERE y.token_id = d.token AND y.seq = d.number AND NOT d.priced LIMIT 1
        ) x
        JOIN issuers_entrykind k ON k.name = x.kind AND k.approval IS NOT NULL
        JOIN issuers_token t ON t.id = x.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE i.recorded_in IS DISTINCT FROM made_now
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
            CROSS JOIN LATERAL (
                SELECT * FROM issuers_tokenprice y
                WHERE y.token_id = d.token AND y.number = d.number AND d.priced LIMIT 1
            ) x
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


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0114_documents_of_offerings"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
