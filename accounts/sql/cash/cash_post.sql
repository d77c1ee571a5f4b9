-- Writes payments in their order: transactions, two postings each, and one UPDATE of
-- each head, with its chain and what is reserved or freed in the same moment. Returns the
-- transactions' ids in the order of the arguments. The caller has locked the heads and
-- judged who asks. Judges accounts and their kinds, statuses, bank lines, withdrawals,
-- assignments, reversals, balances and the time; where a head's last entry is later
-- than `at`, the payments get its time.
-- called by: cash_book_statement, cash_move_receipt, offerings_settle, trading_correct,
--     trading_settle, trading_sweep, trading_undo, trading_write
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.cash_post(
    at timestamp with time zone, kinds text[], sources bigint[], targets bigint[],
    amounts bigint[], actors text[], reasons text[], line_references text[],
    reverses bigint[], assigns bigint[], withdrawals uuid[], held_accounts bigint[],
    held_deltas bigint[]
)
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    payments integer := cardinality(kinds);
    wrong text;
    ids bigint[];
    held bigint;
    moved bigint;
BEGIN
    -- Of 5,000 trades: each is paid, and both sides pay a fee.
    IF (payments <= 15000 AND cardinality(held_accounts) <= 15000) IS NOT TRUE THEN
        RAISE EXCEPTION 'Payments are written 15,000 at a time, and not %.',
            greatest(payments, cardinality(held_accounts))
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF payments = 0 THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
        FROM (
            SELECT account, sum(delta)::bigint AS delta
            FROM unnest(held_accounts, held_deltas) AS u (account, delta)
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> (SELECT count(DISTINCT account)
                FROM unnest(held_accounts) AS u (account)) THEN
            RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN ARRAY[]::bigint[];
    END IF;
    IF (cash_post.at BETWEEN transaction_timestamp() AND clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Cash moves at a time that its writer took under the lock, and '
            'not at %.', cash_post.at USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('%s from cash account %s to %s', p.kind, p.source, p.target)
        INTO wrong
    FROM unnest(kinds, sources, targets, amounts, actors, reasons, line_references,
        reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind, source, target,
        amount, actor, reason, line, undone, assigned, withdrawal, place)
    LEFT JOIN accounts_cashhead s ON s.cash_account_id = p.source
    LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
    WHERE CASE p.kind
        WHEN 'TRADE' THEN s.kind = 'CLIENT' AND t.kind = 'CLIENT'
        WHEN 'OFFERING' THEN s.kind = 'CLIENT' AND t.kind = 'ISSUER'
        WHEN 'DEPOSIT' THEN t.kind IN ('CLIENT', 'SUSPENSE')
            AND s.kind = CASE WHEN p.assigned IS NULL THEN 'BANK' ELSE 'SUSPENSE' END
        WHEN 'WITHDRAWAL' THEN t.kind = 'BANK'
            AND CASE WHEN p.withdrawal IS NULL THEN s.kind = 'SUSPENSE'
                ELSE s.kind IN ('CLIENT', 'ISSUER') END
        WHEN 'REVERSAL' THEN s.kind = 'CLIENT' AND t.kind IN ('CLIENT', 'SUSPENSE')
        WHEN 'FEE' THEN (s.kind, t.kind) IN (('CLIENT', 'MARKET'), ('MARKET', 'CLIENT'),
            ('MARKET', 'FEES'), ('FEES', 'MARKET'), ('ISSUER', 'FEES'))
        ELSE FALSE END IS NOT TRUE
    ORDER BY p.place LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status INTO wrong
    FROM unnest(targets) AS p (target)
    JOIN accounts_cashaccount c ON c.id = p.target
    JOIN accounts_account a ON a.id = c.account_id
    WHERE a.status NOT IN ('ACTIVE', 'SUSPENDED') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves to an account that is ACTIVE or SUSPENDED, and not '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'DEPOSIT' = ANY (kinds) OR 'WITHDRAWAL' = ANY (kinds) THEN
        SELECT coalesce(p.line, '') INTO wrong
        FROM unnest(kinds, sources, targets, amounts, line_references, assigns,
            withdrawals) WITH ORDINALITY AS p (kind, source, target, amount, line,
            assigned, withdrawal, place)
        LEFT JOIN accounts_bankline l ON l.reference = p.line
        LEFT JOIN accounts_cashaccount c ON c.id = p.target
        LEFT JOIN accounts_withdrawal w ON w.id = p.withdrawal
        WHERE (p.kind = 'WITHDRAWAL' OR p.kind = 'DEPOSIT' AND p.assigned IS NULL)
            AND (l.amount = CASE p.kind WHEN 'DEPOSIT' THEN p.amount
                    ELSE -p.amount END
                AND CASE
                    WHEN p.withdrawal IS NOT NULL
                        THEN cash_names(l.text, w.payment_reference)
                    WHEN c.kind = 'CLIENT' THEN cash_names(l.text, c.deposit_reference)
                    ELSE TRUE END) IS NOT TRUE
        ORDER BY p.place LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A bank line is booked with its amount, to or from whom '
                'its text names: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(withdrawals, NULL) <> '{}' THEN
        UPDATE accounts_withdrawal w SET status = 'PAID',
            updated_at = greatest(w.updated_at, clock_timestamp())
        FROM unnest(withdrawals, sources, amounts) AS p (withdrawal, source, amount)
        WHERE w.id = p.withdrawal AND w.status = 'APPROVED'
            AND w.cash_account_id = p.source AND w.amount = p.amount;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> cardinality(array_remove(withdrawals, NULL)) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(assigns, NULL) <> '{}' THEN
        SELECT p.assigned::text INTO wrong
        FROM (
            SELECT u.*, count(*) OVER (PARTITION BY u.assigned) AS times
            FROM unnest(kinds, sources, targets, amounts, assigns) AS u (kind, source,
                target, amount, assigned)
            WHERE u.assigned IS NOT NULL
        ) p
        LEFT JOIN accounts_cashtransaction d ON d.id = p.assigned
        LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
        WHERE (p.times = 1 AND t.kind = 'CLIENT' AND d.kind = 'DEPOSIT'
            AND d.assigns_id IS NULL AND d.target_id = p.source
            AND d.amount = p.amount AND NOT EXISTS (
                SELECT FROM accounts_cashtransaction o
                WHERE o.assigns_id = p.assigned AND NOT EXISTS (
                    SELECT FROM accounts_cashtransaction r WHERE r.reverses_id = o.id))
            ) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A receipt is assigned once, whole, from suspense to a '
                'client: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF 'REVERSAL' = ANY (kinds) THEN
        SELECT p.undone::text INTO wrong
        FROM unnest(kinds, sources, targets, amounts, reverses) AS p (kind, source,
            target, amount, undone)
        LEFT JOIN accounts_cashtransaction u ON u.id = p.undone
        WHERE p.kind = 'REVERSAL' AND ((u.kind = 'TRADE' OR u.assigns_id IS NOT NULL)
            AND u.amount = p.amount AND u.source_id = p.target
            AND u.target_id = p.source) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A reversal gives back what a trade or an assignment '
                'moved: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH entered AS (
        INSERT INTO accounts_cashtransaction (kind, amount, source_id, target_id, at,
            actor, reason, reference, reverses_id, assigns_id, withdrawal_id)
        SELECT p.kind, p.amount, p.source, p.target, greatest(cash_post.at, (
                SELECT max(h.last_at) FROM accounts_cashhead h
                WHERE h.cash_account_id = ANY (sources || targets))),
            p.actor, p.reason, p.line, p.undone, p.assigned, p.withdrawal
        FROM unnest(kinds, amounts, sources, targets, actors, reasons,
            line_references, reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind,
            amount, source, target, actor, reason, line, undone, assigned, withdrawal,
            place)
        ORDER BY p.place
        RETURNING *
    ), legs AS (
        SELECT n.*, sha256(n.salt || convert_to(cash_entry_detail(n.actor, n.assigns_id,
            n.reference, n.reason, n.reverses_id, n.id, n.withdrawal_id), 'UTF8'))
            AS private_digest
        FROM (
            SELECT e.*, l.cash_account, l.delta, h.kind AS sort, c.account_id AS owner,
                CASE
                    WHEN e.withdrawal_id IS NOT NULL THEN (
                        SELECT w.reference FROM accounts_withdrawal w
                        WHERE w.id = e.withdrawal_id)
                    WHEN e.assigns_id IS NOT NULL THEN (
                        SELECT a.reference FROM accounts_cashtransaction a
                        WHERE a.id = e.assigns_id)
                    ELSE e.reference END AS said_reference,
                uuid_send(gen_random_uuid()) AS salt,
                h.last_number + row_number() OVER by_account AS number,
                (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after
            FROM entered e
            CROSS JOIN LATERAL (VALUES (e.source_id, -e.amount), (e.target_id, e.amount))
                AS l (cash_account, delta)
            JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account
            JOIN accounts_cashaccount c ON c.id = l.cash_account
            WINDOW by_account AS (PARTITION BY l.cash_account ORDER BY e.id)
            OFFSET 0
        ) n
    ), posted AS (
        INSERT INTO accounts_cashposting (cash_account_id, number, transaction_id,
            delta, balance_after, salt, private_digest)
        SELECT cash_account, number, id, delta, balance_after, salt, private_digest
        FROM legs
    ), held AS (
        SELECT account, delta FROM unnest(held_accounts, held_deltas)
            AS u (account, delta)
        UNION ALL
        -- A paid withdrawal frees what it has reserved.
        SELECT source_id, -amount FROM entered WHERE withdrawal_id IS NOT NULL
    ), moved AS (
        UPDATE accounts_cashhead h SET balance = h.balance + d.delta,
            reserved = h.reserved + d.held, last_number = h.last_number + d.legs,
            last_at = coalesce(d.at, h.last_at),
            entry_digest = CASE WHEN d.legs = 0 THEN h.entry_digest
                ELSE cash_chain(h.entry_digest, d.lines) END
        FROM (
            SELECT account, sum(delta)::bigint AS delta, sum(held)::bigint AS held,
                sum(leg) AS legs, max(at) AS at,
                array_agg(line ORDER BY number) FILTER (WHERE leg = 1) AS lines
            FROM (
                SELECT cash_account AS account, delta, 0 AS held, 1 AS leg, at, number,
                    cash_entry_line(owner, sort, number, kind, delta, balance_after, at,
                        said_reference, private_digest) AS line
                FROM legs
                UNION ALL
                SELECT account, 0, delta, 0, NULL, NULL, NULL FROM held
            ) l
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account
        RETURNING h.cash_account_id AS account
    )
    SELECT (SELECT array_agg(id ORDER BY id) FROM entered),
        (SELECT format('%s of %s cents from cash account %s to %s', kind, amount,
                source_id, target_id)
            FROM legs
            WHERE sort IN ('CLIENT', 'ISSUER') AND balance_after < 0
                OR sort = 'BANK' AND balance_after > 0
            ORDER BY id LIMIT 1),
        (SELECT count(*) FROM held
            WHERE account NOT IN (SELECT account FROM moved))
        INTO ids, wrong, held;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'No account has less than nothing after a payment: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF held > 0 THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- The events of orders tell of trades and fees.
    IF NOT kinds <@ ARRAY['TRADE', 'FEE'] THEN
        PERFORM cash_tell(array_agg(c.id))
        FROM unnest(kinds, sources, targets) AS p (kind, source, target)
        CROSS JOIN LATERAL (VALUES (p.source), (p.target)) AS c (id)
        WHERE p.kind NOT IN ('TRADE', 'FEE');
    END IF;
    RETURN ids;
END $$;
REVOKE ALL ON FUNCTION public.cash_post(timestamp with time zone, text[], bigint[],
    bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[],
    bigint[]) FROM PUBLIC;
