"""Cash post."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    paid bigint;
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'cash_follow_transactions guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead WHERE cash_account_id IN (
            SELECT source_id FROM entered UNION SELECT target_id FROM entered)
        ORDER BY cash_account_id FOR NO KEY UPDATE;
    -- Paid withdrawals free what they have reserved, before it leaves.
    IF EXISTS (SELECT FROM entered WHERE withdrawal_id IS NOT NULL) THEN
        UPDATE accounts_withdrawal w SET status = 'PAID',
                updated_at = greatest(w.updated_at, clock_timestamp())
            FROM entered e
            WHERE w.id = e.withdrawal_id AND w.status = 'APPROVED'
                AND w.cash_account_id = e.source_id AND w.amount = e.amount;
        GET DIAGNOSTICS paid = ROW_COUNT;
        IF paid <> (SELECT count(withdrawal_id) FROM entered) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
        PERFORM accounts_reserve_cash(array_agg(source_id), array_agg(-amount))
            FROM entered WHERE withdrawal_id IS NOT NULL;
    END IF;
    WITH judged AS (
        SELECT e.*, e.at BETWEEN
                greatest(transaction_timestamp(), source.last_at, target.last_at)
                AND greatest(clock_timestamp(), source.last_at, target.last_at)
            AND CASE e.kind
                WHEN 'DEPOSIT' THEN CASE
                    WHEN e.assigns_id IS NULL THEN source.kind = 'BANK'
                        AND line.amount = e.amount AND (target.kind = 'SUSPENSE'
                            OR target.kind = 'CLIENT'
                            AND cash_names(line.text, owned.deposit_reference))
                    ELSE source.kind = 'SUSPENSE' AND target.kind = 'CLIENT'
                        AND assigned.kind = 'DEPOSIT' AND assigned.assigns_id IS NULL
                        AND assigned.target_id = e.source_id
                        AND assigned.amount = e.amount
                        AND 1 = (
                            SELECT count(*) FROM accounts_cashtransaction o
                            WHERE o.assigns_id = e.assigns_id AND NOT EXISTS (
                                SELECT FROM accounts_cashtransaction r
                                WHERE r.reverses_id = o.id))
                    END
                WHEN 'WITHDRAWAL' THEN target.kind = 'BANK' AND line.amount = -e.amount
                    AND CASE WHEN e.withdrawal_id IS NULL THEN source.kind = 'SUSPENSE'
                        ELSE cash_names(line.text, paid_out.payment_reference) END
                WHEN 'TRADE' THEN source.kind = 'CLIENT' AND target.kind = 'CLIENT'
                WHEN 'REVERSAL' THEN (undone.kind = 'TRADE'
                        OR undone.assigns_id IS NOT NULL)
                    AND undone.id < e.id AND undone.amount = e.amount
                    AND undone.source_id = e.target_id
                    AND undone.target_id = e.source_id
                -- There is no tariff.
                ELSE FALSE END
            AND (target.kind <> 'CLIENT' OR client.status IN ('ACTIVE', 'SUSPENDED'))
            AS follows
        FROM entered e
        LEFT JOIN accounts_cashhead source ON source.cash_account_id = e.source_id
        LEFT JOIN accounts_cashhead target ON target.cash_account_id = e.target_id
        LEFT JOIN accounts_bankline line ON line.reference = e.reference
        LEFT JOIN accounts_cashtransaction assigned ON assigned.id = e.assigns_id
        LEFT JOIN accounts_cashtransaction undone ON undone.id = e.reverses_id
        LEFT JOIN accounts_withdrawal paid_out ON paid_out.id = e.withdrawal_id
        LEFT JOIN accounts_cashaccount owned ON owned.id = e.target_id
        LEFT JOIN accounts_account client ON client.id = owned.account_id
    ), legs AS MATERIALIZED (
        SELECT j.*, l.cash_account_id, l.delta,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after,
            j.follows AND CASE h.kind
                WHEN 'CLIENT' THEN h.balance + sum(l.delta) OVER by_account >= 0
                WHEN 'BANK' THEN h.balance + sum(l.delta) OVER by_account <= 0
                ELSE TRUE END AS allowed
        FROM judged j
        CROSS JOIN LATERAL (VALUES (j.source_id, -j.amount), (j.target_id, j.amount))
            AS l (cash_account_id, delta)
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account_id
        WINDOW by_account AS (PARTITION BY l.cash_account_id ORDER BY j.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account_id, number, id, delta, balance_after FROM legs
    ), moved AS (
        UPDATE accounts_cashhead h
            SET balance = l.balance, last_number = l.last_number, last_at = l.last_at,
                fingerprint = h.fingerprint + l.digests
        FROM (
            SELECT cash_account_id, max(number) AS last_number, max(at) AS last_at,
                (array_agg(balance_after ORDER BY number DESC))[1] AS balance,
                sum(cash_digest(cash_account_id, number, id, kind, delta, balance_after,
                    at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                    reason)) AS digests
            FROM legs WHERE allowed GROUP BY cash_account_id
        ) l
        WHERE h.cash_account_id = l.cash_account_id
    )
    SELECT format('%s of %s cents from cash account %s to %s', kind, amount, source_id,
        target_id) INTO wrong
    FROM legs WHERE allowed IS NOT TRUE ORDER BY id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind, with the bank line, '
            'the withdrawal or the transaction that it names and their amount, to whom '
            'the bank line''s text names, at a time that its writer took under the '
            'lock, to an account that is ACTIVE or SUSPENDED, and none has less than '
            'nothing: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_post(at timestamp with time zone, kinds text[], sources bigint[], targets bigint[], amounts bigint[], actors text[], reasons text[], line_references text[], reverses bigint[], assigns bigint[], withdrawals uuid[], held_accounts bigint[], held_deltas bigint[])
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    payments integer := cardinality(kinds);
    wrong text;
    ids bigint[];
    held bigint;
    moved bigint;
BEGIN
    IF (payments <= 5000 AND cardinality(held_accounts) <= 5000) IS NOT TRUE THEN
        RAISE EXCEPTION 'Payments are written 5,000 at a time, and not %.',
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
        RETURN '{}';
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
        WHEN 'DEPOSIT' THEN t.kind IN ('CLIENT', 'SUSPENSE')
            AND s.kind = CASE WHEN p.assigned IS NULL THEN 'BANK' ELSE 'SUSPENSE' END
        WHEN 'WITHDRAWAL' THEN t.kind = 'BANK'
            AND s.kind = CASE WHEN p.withdrawal IS NULL THEN 'SUSPENSE'
                ELSE 'CLIENT' END
        WHEN 'REVERSAL' THEN s.kind = 'CLIENT' AND t.kind IN ('CLIENT', 'SUSPENSE')
        -- There is no tariff.
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
        SELECT e.*, l.cash_account, l.delta, h.kind AS sort,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after
        FROM entered e
        CROSS JOIN LATERAL (VALUES (e.source_id, -e.amount), (e.target_id, e.amount))
            AS l (cash_account, delta)
        JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account
        WINDOW by_account AS (PARTITION BY l.cash_account ORDER BY e.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account, number, id, delta, balance_after FROM legs
    ), held AS (
        SELECT account, delta FROM unnest(held_accounts, held_deltas)
            AS u (account, delta)
        UNION ALL
        -- A paid withdrawal frees what it has reserved.
        SELECT source_id, -amount FROM entered WHERE withdrawal_id IS NOT NULL
    ), moved AS (
        UPDATE accounts_cashhead h SET balance = h.balance + d.delta,
            reserved = h.reserved + d.held, last_number = h.last_number + d.legs,
            last_at = coalesce(d.at, h.last_at), fingerprint = h.fingerprint + d.digests
        FROM (
            SELECT account, sum(delta)::bigint AS delta, sum(held)::bigint AS held,
                sum(leg) AS legs, max(at) AS at, sum(digest) AS digests
            FROM (
                SELECT cash_account AS account, delta, 0 AS held, 1 AS leg, at,
                    cash_digest(cash_account, number, id, kind, delta, balance_after,
                        at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                        reason) AS digest
                FROM legs
                UNION ALL
                SELECT account, 0, delta, 0, NULL, 0 FROM held
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
            WHERE sort = 'CLIENT' AND balance_after < 0
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
    RETURN ids;
END $$;
REVOKE ALL ON FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_follow_transactions AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_follow_transactions();

CREATE OR REPLACE TRIGGER cash_move_withdrawal BEFORE UPDATE ON public.accounts_withdrawal FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_move_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_reserve_withdrawals();
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    paid bigint;
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'cash_follow_transactions guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead WHERE cash_account_id IN (
            SELECT source_id FROM entered UNION SELECT target_id FROM entered)
        ORDER BY cash_account_id FOR NO KEY UPDATE;
    -- Paid withdrawals free what they have reserved, before it leaves.
    IF EXISTS (SELECT FROM entered WHERE withdrawal_id IS NOT NULL) THEN
        UPDATE accounts_withdrawal w SET status = 'PAID'
            FROM entered e
            WHERE w.id = e.withdrawal_id AND w.status = 'APPROVED'
                AND w.cash_account_id = e.source_id AND w.amount = e.amount;
        GET DIAGNOSTICS paid = ROW_COUNT;
        IF paid <> (SELECT count(withdrawal_id) FROM entered) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH judged AS (
        SELECT e.*, e.at BETWEEN
                greatest(transaction_timestamp(), source.last_at, target.last_at)
                AND greatest(clock_timestamp(), source.last_at, target.last_at)
            AND CASE e.kind
                WHEN 'DEPOSIT' THEN CASE
                    WHEN e.assigns_id IS NULL THEN source.kind = 'BANK'
                        AND line.amount = e.amount AND (target.kind = 'SUSPENSE'
                            OR target.kind = 'CLIENT'
                            AND cash_names(line.text, owned.deposit_reference))
                    ELSE source.kind = 'SUSPENSE' AND target.kind = 'CLIENT'
                        AND assigned.kind = 'DEPOSIT' AND assigned.assigns_id IS NULL
                        AND assigned.target_id = e.source_id
                        AND assigned.amount = e.amount
                        AND 1 = (
                            SELECT count(*) FROM accounts_cashtransaction o
                            WHERE o.assigns_id = e.assigns_id AND NOT EXISTS (
                                SELECT FROM accounts_cashtransaction r
                                WHERE r.reverses_id = o.id))
                    END
                WHEN 'WITHDRAWAL' THEN target.kind = 'BANK' AND line.amount = -e.amount
                    AND CASE WHEN e.withdrawal_id IS NULL THEN source.kind = 'SUSPENSE'
                        ELSE cash_names(line.text, paid_out.payment_reference) END
                WHEN 'TRADE' THEN source.kind = 'CLIENT' AND target.kind = 'CLIENT'
                WHEN 'REVERSAL' THEN (undone.kind = 'TRADE'
                        OR undone.assigns_id IS NOT NULL)
                    AND undone.id < e.id AND undone.amount = e.amount
                    AND undone.source_id = e.target_id
                    AND undone.target_id = e.source_id
                -- There is no tariff.
                ELSE FALSE END
            AND (target.kind <> 'CLIENT' OR client.status IN ('ACTIVE', 'SUSPENDED'))
            AS follows
        FROM entered e
        LEFT JOIN accounts_cashhead source ON source.cash_account_id = e.source_id
        LEFT JOIN accounts_cashhead target ON target.cash_account_id = e.target_id
        LEFT JOIN accounts_bankline line ON line.reference = e.reference
        LEFT JOIN accounts_cashtransaction assigned ON assigned.id = e.assigns_id
        LEFT JOIN accounts_cashtransaction undone ON undone.id = e.reverses_id
        LEFT JOIN accounts_withdrawal paid_out ON paid_out.id = e.withdrawal_id
        LEFT JOIN accounts_cashaccount owned ON owned.id = e.target_id
        LEFT JOIN accounts_account client ON client.id = owned.account_id
    ), legs AS MATERIALIZED (
        SELECT j.*, l.cash_account_id, l.delta,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after,
            j.follows AND CASE h.kind
                WHEN 'CLIENT' THEN h.balance + sum(l.delta) OVER by_account >= 0
                WHEN 'BANK' THEN h.balance + sum(l.delta) OVER by_account <= 0
                ELSE TRUE END AS allowed
        FROM judged j
        CROSS JOIN LATERAL (VALUES (j.source_id, -j.amount), (j.target_id, j.amount))
            AS l (cash_account_id, delta)
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account_id
        WINDOW by_account AS (PARTITION BY l.cash_account_id ORDER BY j.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account_id, number, id, delta, balance_after FROM legs
    ), moved AS (
        UPDATE accounts_cashhead h
            SET balance = l.balance, last_number = l.last_number, last_at = l.last_at,
                fingerprint = h.fingerprint + l.digests
        FROM (
            SELECT cash_account_id, max(number) AS last_number, max(at) AS last_at,
                (array_agg(balance_after ORDER BY number DESC))[1] AS balance,
                sum(cash_digest(cash_account_id, number, id, kind, delta, balance_after,
                    at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                    reason)) AS digests
            FROM legs WHERE allowed GROUP BY cash_account_id
        ) l
        WHERE h.cash_account_id = l.cash_account_id
    )
    SELECT format('%s of %s cents from cash account %s to %s', kind, amount, source_id,
        target_id) INTO wrong
    FROM legs WHERE allowed IS NOT TRUE ORDER BY id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind, with the bank line, '
            'the withdrawal or the transaction that it names and their amount, to whom '
            'the bank line''s text names, at a time that its writer took under the '
            'lock, to an account that is ACTIVE or SUSPENDED, and none has less than '
            'nothing: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_follow_transactions AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.cash_follow_transactions();

CREATE OR REPLACE TRIGGER cash_move_withdrawal BEFORE UPDATE ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.cash_move_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.cash_reserve_withdrawals();

DROP FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0050_writers_of_approvals"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
