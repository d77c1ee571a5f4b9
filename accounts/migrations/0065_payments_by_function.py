"""Payments by function."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_book_statement(asker text, file_name text, file_digest text, closing bigint, line_references text[], texts text[], amounts bigint[], days date[], moved bigint[], withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    lines integer := cardinality(line_references);
    part integer;
    bank bigint;
    booked bigint;
    lies bigint;
    credited numeric;
    used uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (lines = ALL (ARRAY[cardinality(texts), cardinality(amounts), cardinality(days),
            cardinality(moved), cardinality(withdrawals)])) IS NOT TRUE THEN
        RAISE EXCEPTION 'A line of a bank statement has a reference, a text, an amount, '
            'a date and an account.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id INTO STRICT bank FROM accounts_cashaccount c WHERE c.kind = 'BANK';
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
            WHERE c.id = ANY (moved))
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = bank OR h.cash_account_id = ANY (moved)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    INSERT INTO accounts_bankstatement
        (name, digest, closing_balance, booked_balance, booked_by, booked_at, made_in)
    VALUES (file_name, file_digest, closing, closing, asker, clock_timestamp(), 0)
    RETURNING id INTO booked;
    INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT l.reference, booked, l.text, l.amount, l.day
    FROM unnest(line_references, texts, amounts, days)
        AS l (reference, text, amount, day);
    -- A statement is judged whole; its payments are written in parts.
    FOR begun IN 1..lines BY 5000 LOOP
        part := least(5000, lines - begun + 1);
        PERFORM cash_post(clock_timestamp(), array_agg(CASE WHEN l.amount > 0
                THEN 'DEPOSIT' ELSE 'WITHDRAWAL' END ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN bank ELSE l.moved END
                ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN l.moved ELSE bank END
                ORDER BY l.place),
            array_agg(abs(l.amount) ORDER BY l.place),
            array_fill(asker, ARRAY[part]), array_fill(''::text, ARRAY[part]),
            line_references[begun:begun + 4999],
            array_fill(NULL::bigint, ARRAY[part]),
            array_fill(NULL::bigint, ARRAY[part]),
            withdrawals[begun:begun + 4999], '{}', '{}')
        FROM unnest(amounts[begun:begun + 4999], moved[begun:begun + 4999])
            WITH ORDINALITY AS l (amount, moved, place);
    END LOOP;
    SELECT -h.balance INTO lies FROM accounts_cashhead h
        WHERE h.cash_account_id = bank;
    IF lies IS DISTINCT FROM closing THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', closing, lies
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(l.amount), 0) INTO credited
    FROM unnest(amounts, moved) AS l (amount, moved)
    JOIN accounts_cashhead h ON h.cash_account_id = l.moved AND h.kind = 'CLIENT'
    WHERE l.amount > 0;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', file_name,
            'digest', file_digest, 'closing', closing::text, 'lines', (
                SELECT jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
                    l.day, l.moved) ORDER BY l.place)
                FROM unnest(line_references, texts, amounts, days, moved)
                    WITH ORDINALITY AS l (reference, text, amount, day, moved, place))),
            credited, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used,
        ARRAY['add_bankstatement', 'file_statement']);
    PERFORM cash_tell_unassigned(booked);
    RETURN booked;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_name_bank(asker text, account_name text, account_iban text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    named bigint;
BEGIN
    PERFORM cash_judge_staff(asker, NULL, ARRAY['add_houseaccount']);
    INSERT INTO accounts_houseaccount (name, iban, named_by, named_at)
    VALUES (account_name, account_iban, asker, clock_timestamp())
    RETURNING id INTO named;
    RETURN named;
END $$;
REVOKE ALL ON FUNCTION public.cash_name_bank(text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_order_payments(asker text, message_id text, file_content text, withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    payable integer;
    cents bigint;
    made bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM cash_judge_staff(asker, NULL, ARRAY['add_paymentfile']);
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (
            SELECT w.cash_account_id FROM accounts_withdrawal w
            WHERE w.id = ANY (withdrawals))
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    SELECT count(*), sum(w.amount) INTO payable, cents
    FROM accounts_withdrawal w
    JOIN accounts_payee p ON p.withdrawal_id = w.id
    WHERE w.id = ANY (withdrawals) AND w.status = 'APPROVED'
        AND NOT EXISTS (
            SELECT FROM accounts_paymentorder o WHERE o.withdrawal_id = w.id);
    IF payable = 0 OR payable <> cardinality(withdrawals) THEN
        RAISE EXCEPTION 'A payment file pays withdrawals that are APPROVED, have a '
            'payee and are in no other file.' USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_paymentfile
        (message, content, total, payments, made_by, made_at)
    VALUES (message_id, file_content, cents, payable, asker, clock_timestamp())
    RETURNING id INTO made;
    INSERT INTO accounts_paymentorder (withdrawal_id, file_id)
    SELECT w, made FROM unnest(withdrawals) AS w;
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.cash_order_payments(text, text, text, uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_tell_unassigned(statement bigint)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('DEPOSIT_UNASSIGNED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a
    WHERE a.id IN (
        SELECT c.account_id
        FROM accounts_bankline l
        JOIN accounts_cashtransaction t ON t.reference = l.reference
        JOIN accounts_cashaccount s ON s.id = t.target_id AND s.kind = 'SUSPENSE'
        CROSS JOIN LATERAL regexp_matches(
            regexp_replace(upper(l.text), '[^A-Z0-9]', '', 'g'), 'RF[0-9]{15}', 'g')
            AS found (names)
        JOIN accounts_cashaccount c ON c.deposit_reference = found.names[1]
        WHERE l.statement_id = statement)
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.cash_tell_unassigned(bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_withdraw_to(asker text, withdrawal uuid, account uuid, cents bigint, partner_reference text, payee_name text, payee_iban text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    requested accounts_withdrawal;
BEGIN
    requested := cash_withdraw(asker, withdrawal, account, cents, partner_reference);
    INSERT INTO accounts_payee (withdrawal_id, name, iban)
        VALUES (requested.id, payee_name, payee_iban);
    RETURN requested;
END $$;
REVOKE ALL ON FUNCTION public.cash_withdraw_to(text, uuid, uuid, bigint, text, text, text) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_book_statement(asker text, file_name text, file_digest text, closing bigint, line_references text[], texts text[], amounts bigint[], days date[], moved bigint[], withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    lines integer := cardinality(line_references);
    part integer;
    bank bigint;
    booked bigint;
    lies bigint;
    credited numeric;
    used uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (lines = ALL (ARRAY[cardinality(texts), cardinality(amounts), cardinality(days),
            cardinality(moved), cardinality(withdrawals)])) IS NOT TRUE THEN
        RAISE EXCEPTION 'A line of a bank statement has a reference, a text, an amount, '
            'a date and an account.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id INTO STRICT bank FROM accounts_cashaccount c WHERE c.kind = 'BANK';
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
            WHERE c.id = ANY (moved))
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = bank OR h.cash_account_id = ANY (moved)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    INSERT INTO accounts_bankstatement
        (name, digest, closing_balance, booked_balance, booked_by, booked_at, made_in)
    VALUES (file_name, file_digest, closing, closing, asker, clock_timestamp(), 0)
    RETURNING id INTO booked;
    INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT l.reference, booked, l.text, l.amount, l.day
    FROM unnest(line_references, texts, amounts, days)
        AS l (reference, text, amount, day);
    -- A statement is judged whole; its payments are written in parts.
    FOR begun IN 1..lines BY 5000 LOOP
        part := least(5000, lines - begun + 1);
        PERFORM cash_post(clock_timestamp(), array_agg(CASE WHEN l.amount > 0
                THEN 'DEPOSIT' ELSE 'WITHDRAWAL' END ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN bank ELSE l.moved END
                ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN l.moved ELSE bank END
                ORDER BY l.place),
            array_agg(abs(l.amount) ORDER BY l.place),
            array_fill(asker, ARRAY[part]), array_fill(''::text, ARRAY[part]),
            line_references[begun:begun + 4999],
            array_fill(NULL::bigint, ARRAY[part]),
            array_fill(NULL::bigint, ARRAY[part]),
            withdrawals[begun:begun + 4999], '{}', '{}')
        FROM unnest(amounts[begun:begun + 4999], moved[begun:begun + 4999])
            WITH ORDINALITY AS l (amount, moved, place);
    END LOOP;
    SELECT -h.balance INTO lies FROM accounts_cashhead h
        WHERE h.cash_account_id = bank;
    IF lies IS DISTINCT FROM closing THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', closing, lies
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(l.amount), 0) INTO credited
    FROM unnest(amounts, moved) AS l (amount, moved)
    JOIN accounts_cashhead h ON h.cash_account_id = l.moved AND h.kind = 'CLIENT'
    WHERE l.amount > 0;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', file_name,
            'digest', file_digest, 'closing', closing::text, 'lines', (
                SELECT jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
                    l.day, l.moved) ORDER BY l.place)
                FROM unnest(line_references, texts, amounts, days, moved)
                    WITH ORDINALITY AS l (reference, text, amount, day, moved, place))),
            credited, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used,
        ARRAY['add_bankstatement', 'file_statement']);
    RETURN booked;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]) FROM PUBLIC;

DROP FUNCTION public.cash_name_bank(text, text, text);

DROP FUNCTION public.cash_order_payments(text, text, text, uuid[]);

DROP FUNCTION public.cash_tell_unassigned(bigint);

DROP FUNCTION public.cash_withdraw_to(text, uuid, uuid, bigint, text, text, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0064_payments"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
