-- Derives postings, balances, fingerprints and paid withdrawals from cash transactions;
-- judges kinds, bank lines, amounts, times and account statuses; no client falls below
-- zero.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
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

CREATE OR REPLACE TRIGGER cash_follow_transactions AFTER INSERT
    ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_follow_transactions();
