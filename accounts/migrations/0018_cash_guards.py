"""Cash is the owner's: what follows from a transaction is written by triggers."""

from django.db import migrations

from partnerapi.core.guards import drop, function, history_of, trigger_function

# A plan is kept for the session, and may be made while the tables are still empty.
BY_INDEX = "SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off"
RESTRICTED = "USING ERRCODE = 'restrict_violation'"
APPENDED = ("cashaccount", "cashtransaction", "cashposting", "bankstatement", "bankline")

REFUSE_CHANGE = "".join(
    f"""
CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_{table} FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""
    for table in APPENDED
) + "".join(
    f"""
CREATE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE
    ON accounts_{table} FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""
    for table in ("cashhead", "withdrawal")
)
KEEP_CHANGEABLE = "".join(
    f"DROP TRIGGER accounts_refuse_change ON accounts_{table};" for table in APPENDED
) + "".join(
    f"DROP TRIGGER accounts_refuse_removal ON accounts_{table};"
    for table in ("cashhead", "withdrawal")
)

# ISO 11649: "RF", two check digits, and here 13 digits. Neighbouring numbers differ in
# most of their digits, and no two numbers below 10^12 have the same reference.
REFERENCE = """
CREATE FUNCTION cash_reference(sort text, number numeric) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    digits text := sort || lpad((number * 618033988749 % 1000000000000)::text, 12, '0');
BEGIN
    RETURN 'RF' || lpad((98 - (digits || '271500')::numeric % 97)::text, 2, '0')
        || digits;
END $$;
REVOKE ALL ON FUNCTION cash_reference(text, numeric) FROM PUBLIC;
"""

# Whether a bank line's text has a reference, whatever separates its signs.
NAMES = """
CREATE FUNCTION cash_names(said text, reference text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT position(reference IN regexp_replace(upper(said), '[^A-Z0-9]', '', 'g')) > 0
$$;
REVOKE ALL ON FUNCTION cash_names(text, text) FROM PUBLIC;
"""

# What a posting says, as a number; the head keeps the sum, which betrays whoever gets
# past the guards. Without settings of its own it is a part of its caller's statement.
DIGEST = """
CREATE FUNCTION cash_digest(cash_account bigint, number bigint, transaction bigint,
    kind text, delta bigint, balance_after bigint, at timestamptz, reference text,
    reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT ('x' || left(encode(sha256(convert_to(concat_ws('|', cash_account, number,
        transaction, kind, delta, balance_after, extract(epoch FROM at),
        coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
        coalesce(withdrawal::text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;
"""

OPEN = trigger_function(
    "cash_name_account",
    "accounts_cashaccount",
    """
    NEW.deposit_reference := CASE NEW.kind WHEN 'CLIENT'
        THEN cash_reference('1', NEW.id) END;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER cash_name_account BEFORE INSERT ON accounts_cashaccount
    FOR EACH ROW EXECUTE FUNCTION cash_name_account();
""" + trigger_function(
    "cash_open_head",
    "accounts_cashaccount",
    """
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, fingerprint)
    SELECT id, kind, 0, 0, 0, 0 FROM opened ORDER BY id;
    RETURN NULL;
    """,
) + """
CREATE TRIGGER cash_open_head AFTER INSERT ON accounts_cashaccount
    REFERENCING NEW TABLE AS opened
    FOR EACH STATEMENT EXECUTE FUNCTION cash_open_head();
""" + trigger_function(
    "cash_open_account",
    "accounts_account",
    """
    INSERT INTO accounts_cashaccount (kind, account_id)
    SELECT 'CLIENT', id FROM opened ORDER BY id;
    RETURN NULL;
    """,
) + """
CREATE TRIGGER cash_open_account AFTER INSERT ON accounts_account
    REFERENCING NEW TABLE AS opened
    FOR EACH STATEMENT EXECUTE FUNCTION cash_open_account();
"""

SHARE = function(
    "accounts_share(accounts uuid[])",
    "SETOF accounts_account",
    """
    RETURN QUERY SELECT a.* FROM accounts_account a
        WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
    """,
)

HOLD = function(
    "accounts_hold_cash(cash_accounts bigint[])",
    """TABLE (
    cash_account_id bigint, kind text, balance bigint, reserved bigint,
    last_at timestamptz, clock timestamptz)""",
    """
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.cash_account_id, h.kind::text, h.balance, h.reserved, h.last_at,
            clock_timestamp()
        FROM accounts_cashhead h WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id;
    """,
    settings=BY_INDEX,
)

# Triggers call it, as their owner; a check of the head refuses what is not there.
RESERVE = function(
    "accounts_reserve_cash(cash_accounts bigint[], deltas bigint[])",
    "void",
    f"""
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
    FROM (
        SELECT cash_account, sum(delta)::bigint AS delta
        FROM unnest(cash_accounts, deltas) AS u (cash_account, delta)
        GROUP BY cash_account HAVING sum(delta) <> 0
    ) d
    WHERE h.cash_account_id = d.cash_account;
    IF EXISTS (SELECT FROM unnest(cash_accounts) AS u (cash_account) WHERE NOT EXISTS (
            SELECT FROM accounts_cashhead h WHERE h.cash_account_id = u.cash_account))
    THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.' {RESTRICTED};
    END IF;
    """,
    settings=BY_INDEX,
)

FOLLOW = trigger_function(
    "cash_follow_transactions",
    "accounts_cashtransaction",
    f"""
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
                'from its account.' {RESTRICTED};
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
            'nothing: %.', wrong {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="wrong text;\n    paid bigint;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER cash_follow_transactions AFTER INSERT ON accounts_cashtransaction
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION cash_follow_transactions();
"""

BOOK_LINES = trigger_function(
    "cash_book_line",
    "accounts_bankline",
    f"""
    IF NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE reference = NEW.reference) THEN
        RAISE EXCEPTION 'A bank line is booked as it is recorded: %.', NEW.reference
            {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON accounts_bankline
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cash_book_line();
"""

# A wrong assignment is reversed as it was made. Of a trade it is its bust's to say.
APPROVE = trigger_function(
    "approvals_of_cash",
    "accounts_cashtransaction",
    """
    IF EXISTS (SELECT FROM accounts_cashtransaction
            WHERE id = NEW.reverses_id AND kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('ASSIGNMENT', jsonb_build_object('assigns', NEW.assigns_id,
        'reverses', NEW.reverses_id, 'to', NEW.target_id, 'cents', NEW.amount::text,
        'reason', NEW.reason), NEW.amount, NULL, NULL);
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON accounts_cashtransaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.assigns_id IS NOT NULL OR NEW.reverses_id IS NOT NULL)
    EXECUTE FUNCTION approvals_of_cash();
"""

REQUEST_WITHDRAWAL = trigger_function(
    "cash_request_withdrawal",
    "accounts_withdrawal",
    f"""
    SELECT a.status INTO standing
    FROM accounts_cashaccount c JOIN accounts_account a ON a.id = c.account_id
    WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
    IF standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            {RESTRICTED};
    END IF;
    IF NEW.status <> 'REQUESTED' OR NEW.request_id IS NOT NULL
        OR NEW.status_reason <> '' THEN
        RAISE EXCEPTION 'A withdrawal begins as REQUESTED.' {RESTRICTED};
    END IF;
    NEW.payment_reference := cash_reference('2',
        ('x' || right(NEW.id::text, 12))::bit(48)::bigint);
    NEW.created_at := clock_timestamp();
    NEW.updated_at := NEW.created_at;
    RETURN NEW;
    """,
    declare="standing text;",
) + """
CREATE TRIGGER cash_request_withdrawal BEFORE INSERT ON accounts_withdrawal
    FOR EACH ROW EXECUTE FUNCTION cash_request_withdrawal();
"""

MOVE_WITHDRAWAL = trigger_function(
    "cash_move_withdrawal",
    "accounts_withdrawal",
    f"""
    IF (NEW.id, NEW.cash_account_id, NEW.amount, NEW.reference, NEW.payment_reference,
            NEW.requested_by, NEW.created_at)
        <> (OLD.id, OLD.cash_account_id, OLD.amount, OLD.reference,
            OLD.payment_reference, OLD.requested_by, OLD.created_at)
        OR NOT coalesce(CASE OLD.status
            WHEN 'REQUESTED' THEN NEW.status IN ('APPROVED', 'REFUSED')
            WHEN 'APPROVED' THEN NEW.status IN ('PAID', 'CANCELLED') END, FALSE) THEN
        RAISE EXCEPTION 'Of a withdrawal only the status changes: REQUESTED becomes '
            'APPROVED or REFUSED, APPROVED becomes PAID or CANCELLED; not % %.',
            OLD.status, NEW.status {RESTRICTED};
    END IF;
    IF NEW.status IN ('REFUSED', 'CANCELLED') AND NEW.status_reason = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', NEW.status {RESTRICTED};
    END IF;
    IF NEW.status = 'PAID' AND NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE withdrawal_id = NEW.id) THEN
        RAISE EXCEPTION 'A withdrawal is paid by the bank line that names it.'
            {RESTRICTED};
    END IF;
    IF NEW.status = 'APPROVED' THEN
        PERFORM FROM accounts_cashaccount c JOIN accounts_account a
            ON a.id = c.account_id AND a.status = 'ACTIVE'
            WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
                {RESTRICTED};
        END IF;
    END IF;
    IF NEW.status IN ('APPROVED', 'CANCELLED') THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', NEW.id,
            'status', NEW.status, 'cents', NEW.amount::text,
            'reason', NEW.status_reason), NEW.amount, NULL, NULL);
        NEW.request_id := used;
    ELSIF NEW.request_id IS DISTINCT FROM OLD.request_id THEN
        RAISE EXCEPTION 'A withdrawal names the request that was used.' {RESTRICTED};
    END IF;
    NEW.updated_at := greatest(OLD.updated_at, clock_timestamp());
    RETURN NEW;
    """,
    declare="used uuid;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER cash_move_withdrawal BEFORE UPDATE ON accounts_withdrawal
    FOR EACH ROW EXECUTE FUNCTION cash_move_withdrawal();
"""

HELD = "status IN ('REQUESTED', 'APPROVED')"
RESERVE_WITHDRAWALS = trigger_function(
    "cash_reserve_withdrawals",
    "accounts_withdrawal",
    f"""
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_reserve_cash(array_agg(cash_account_id), array_agg(amount))
            FROM became HAVING count(*) > 0;
        RETURN NULL;
    END IF;
    PERFORM accounts_reserve_cash(array_agg(w.cash_account_id), array_agg(w.delta))
    FROM (
        SELECT cash_account_id, amount AS delta FROM became WHERE {HELD}
        UNION ALL
        SELECT cash_account_id, -amount FROM was WHERE {HELD}
    ) w HAVING count(*) > 0;
    RETURN NULL;
    """,
) + """
CREATE TRIGGER cash_reserve_requested AFTER INSERT ON accounts_withdrawal
    REFERENCING NEW TABLE AS became
    FOR EACH STATEMENT EXECUTE FUNCTION cash_reserve_withdrawals();
CREATE TRIGGER cash_reserve_moved AFTER UPDATE ON accounts_withdrawal
    REFERENCING OLD TABLE AS was NEW TABLE AS became
    FOR EACH STATEMENT EXECUTE FUNCTION cash_reserve_withdrawals();
"""

CLOSE = trigger_function(
    "cash_of_closed_account",
    "accounts_accountstatuschange",
    f"""
    SELECT h.balance INTO left_over
    FROM accounts_cashaccount c JOIN accounts_cashhead h ON h.cash_account_id = c.id
    WHERE c.account_id = NEW.account_id FOR NO KEY UPDATE OF h;
    IF left_over <> 0 THEN
        RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
            left_over {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="left_over bigint;",
) + """
CREATE TRIGGER cash_of_closed_account AFTER INSERT ON accounts_accountstatuschange
    FOR EACH ROW WHEN (NEW.status = 'CLOSED')
    EXECUTE FUNCTION cash_of_closed_account();
"""

# A head is written with each movement of its cash: its page keeps room for that.
ROOM = "ALTER TABLE accounts_cashhead SET (fillfactor = 50)"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0017_cash")]

    operations = [
        migrations.RunSQL(ROOM, "ALTER TABLE accounts_cashhead RESET (fillfactor)"),
        migrations.RunSQL(REFUSE_CHANGE, KEEP_CHANGEABLE),
        migrations.RunSQL(
            REFERENCE + NAMES + DIGEST,
            drop(
                "cash_names(text, text)",
                "cash_reference(text, numeric)",
                "cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamptz,"
                " text, bigint, bigint, uuid, text, text)",
            ),
        ),
        migrations.RunSQL(
            OPEN,
            drop(
                "cash_name_account()",
                "cash_open_head()",
                "cash_open_account()",
                triggers={
                    "cash_name_account": "accounts_cashaccount",
                    "cash_open_head": "accounts_cashaccount",
                    "cash_open_account": "accounts_account",
                },
            ),
        ),
        migrations.RunSQL(
            SHARE + HOLD + RESERVE,
            drop(
                "accounts_share(uuid[])",
                "accounts_hold_cash(bigint[])",
                "accounts_reserve_cash(bigint[], bigint[])",
            ),
        ),
        migrations.RunSQL(
            FOLLOW,
            drop(
                "cash_follow_transactions()",
                triggers={"cash_follow_transactions": "accounts_cashtransaction"},
            ),
        ),
        migrations.RunSQL(
            BOOK_LINES,
            drop(
                "cash_book_line()", triggers={"cash_book_line": "accounts_bankline"}
            ),
        ),
        migrations.RunSQL(
            APPROVE,
            drop(
                "approvals_of_cash()",
                triggers={"approvals_of_cash": "accounts_cashtransaction"},
            ),
        ),
        migrations.RunSQL(
            REQUEST_WITHDRAWAL + MOVE_WITHDRAWAL + RESERVE_WITHDRAWALS,
            drop(
                "cash_request_withdrawal()",
                "cash_move_withdrawal()",
                "cash_reserve_withdrawals()",
                triggers={
                    "cash_request_withdrawal": "accounts_withdrawal",
                    "cash_move_withdrawal": "accounts_withdrawal",
                    "cash_reserve_requested": "accounts_withdrawal",
                    "cash_reserve_moved": "accounts_withdrawal",
                },
            ),
        ),
        migrations.RunSQL(
            CLOSE,
            drop(
                "cash_of_closed_account()",
                triggers={"cash_of_closed_account": "accounts_accountstatuschange"},
            ),
        ),
        history_of("accounts_withdrawal", "INSERT OR UPDATE"),
        history_of("accounts_bankstatement", "INSERT"),
    ]
