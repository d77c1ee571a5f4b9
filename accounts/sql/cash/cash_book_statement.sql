-- Books a bank statement whole: the statement, its lines, their payments and the
-- withdrawals that they pay. `moved` are the cash accounts to which lines are booked:
-- of the client or withdrawal that a line's text names, or suspense. The closing
-- balance is the one of the books after the last line; credits to clients use an
-- approval where policy asks for one. Returns the statement's id.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_book_statement(
    asker text, file_name text, file_digest text, closing bigint,
    line_references text[], texts text[], amounts bigint[], days date[], moved bigint[],
    withdrawals uuid[]
)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
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
    PERFORM accounts_read_committed();
    IF (lines = ALL (ARRAY[cardinality(texts), cardinality(amounts), cardinality(days),
            cardinality(moved), cardinality(withdrawals)])
        AND 'infinity' <> ALL (days) AND '-infinity' <> ALL (days)) IS NOT TRUE THEN
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
REVOKE ALL ON FUNCTION public.cash_book_statement(text, text, text, bigint, text[],
    text[], bigint[], date[], bigint[], uuid[]) FROM PUBLIC;
