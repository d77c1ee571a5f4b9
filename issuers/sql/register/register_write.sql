-- Writes entries and prices at the present instant, in the name of `actor`: all but
-- trades, and the prices that they make. `step` is that of the released delivery whose
-- lines are delivered. A signed-in member of staff has the right of each kind now;
-- approvals are used where policy asks for one, except for issuers made in this
-- transaction. Returns the entries, then the prices, as they were given.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_ledgeraccount (FOR SHARE), issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_write(
    actor text, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[],
    amounts numeric[], reasons text[], legacy uuid[], reverses bigint[],
    price_tokens uuid[], price_cents bigint[], price_sources text[], step bigint
)
RETURNS TABLE(token_id uuid, number bigint, is_price boolean, entered_at timestamp with
    time zone) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
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
REVOKE ALL ON FUNCTION public.register_write(text, uuid[], text[], bigint[], bigint[],
    numeric[], text[], uuid[], bigint[], uuid[], bigint[], text[], bigint) FROM PUBLIC;
