"""Cash writers."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_book_statement(asker text, file_name text, file_digest text, closing bigint, line_references text[], texts text[], amounts bigint[], days date[], moved bigint[], withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
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

CREATE OR REPLACE FUNCTION public.cash_decide_withdrawal(asker text, withdrawal uuid, becomes text, why text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    standing text;
    used uuid;
    decided accounts_withdrawal;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status INTO standing
    FROM accounts_account a
    JOIN accounts_cashaccount c ON c.account_id = a.id
    JOIN accounts_withdrawal w ON w.cash_account_id = c.id AND w.id = withdrawal
    FOR SHARE OF a;
    IF becomes = 'APPROVED' AND standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF becomes IN ('REFUSED', 'CANCELLED') AND coalesce(why, '') = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', becomes
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = (SELECT w.cash_account_id FROM accounts_withdrawal w
            WHERE w.id = withdrawal)
        FOR NO KEY UPDATE;
    SELECT * INTO decided FROM accounts_withdrawal w WHERE w.id = withdrawal;
    IF (decided.status = CASE becomes WHEN 'APPROVED' THEN 'REQUESTED'
            WHEN 'REFUSED' THEN 'REQUESTED' WHEN 'CANCELLED' THEN 'APPROVED' END)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A withdrawal that is REQUESTED becomes APPROVED or REFUSED, '
            'one that is APPROVED becomes CANCELLED; not % %.', decided.status, becomes
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF becomes <> 'REFUSED' THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', withdrawal,
            'status', becomes, 'cents', decided.amount::text, 'reason', why),
            decided.amount, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used, CASE becomes WHEN 'REFUSED'
        THEN ARRAY['change_withdrawal', 'decide_withdrawal']
        ELSE ARRAY['file_withdrawal'] END);
    IF becomes <> 'APPROVED' THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved - decided.amount
            WHERE h.cash_account_id = decided.cash_account_id;
    END IF;
    UPDATE accounts_withdrawal w SET status = becomes, status_reason = why,
        request_id = CASE becomes WHEN 'REFUSED' THEN w.request_id ELSE used END,
        updated_at = greatest(w.updated_at, clock_timestamp())
    WHERE w.id = withdrawal
    RETURNING * INTO decided;
    RETURN decided;
END $$;
REVOKE ALL ON FUNCTION public.cash_decide_withdrawal(text, uuid, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_judge_staff(asker text, used uuid, rights text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person accounts_user;
    signed_in text;
BEGIN
    SELECT * INTO person FROM accounts_user u WHERE u.email = asker;
    IF used IS NOT NULL THEN
        PERFORM FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            WHERE r.id = used AND person.id IN (r.filed_by_id, d.decided_by_id);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'This is done in the name of the user that filed or decided '
                'its approval, and not of %.', asker USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN;
    END IF;
    IF (person.is_active AND person.is_staff AND (person.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts'
            WHERE p.codename = ANY (rights) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = person.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = person.id AND given.permission_id = p.id))))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'This is done by an active member of staff with the right to '
            'do it: %, and not %.', array_to_string(rights, ' or '), asker
            USING ERRCODE = 'restrict_violation';
    END IF;
    signed_in := approvals_person();
    IF signed_in NOT IN ('SQL', 'command', person.id::text) THEN
        RAISE EXCEPTION 'This is done in the name of the user that is signed in, and '
            'not of %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.cash_judge_staff(text, uuid, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_move_receipt(asker text, assigned bigint, undone bigint, target bigint, why text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    receipt accounts_cashtransaction;
    used uuid;
    entered bigint[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO receipt FROM accounts_cashtransaction t
        WHERE t.id = coalesce(assigned, undone);
    IF NOT FOUND OR receipt.kind <> 'DEPOSIT' OR num_nonnulls(assigned, undone) <> 1
        OR undone IS NOT NULL AND receipt.assigns_id IS NULL THEN
        RAISE EXCEPTION 'One receipt in suspense is assigned, or one assignment is '
            'undone.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (receipt.target_id, target)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    entered := cash_post(clock_timestamp(),
        ARRAY[CASE WHEN undone IS NULL THEN 'DEPOSIT' ELSE 'REVERSAL' END],
        ARRAY[receipt.target_id], ARRAY[target], ARRAY[receipt.amount], ARRAY[asker],
        ARRAY[why], ARRAY[NULL]::text[], ARRAY[undone], ARRAY[assigned],
        ARRAY[NULL]::uuid[], '{}', '{}');
    used := approvals_use('ASSIGNMENT', jsonb_build_object('assigns', assigned,
        'reverses', undone, 'to', target, 'cents', receipt.amount::text, 'reason', why),
        receipt.amount, NULL, NULL);
    PERFORM cash_judge_staff(asker, used, ARRAY['file_assignment']);
    RETURN entered[1];
END $$;
REVOKE ALL ON FUNCTION public.cash_move_receipt(text, bigint, bigint, bigint, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_withdraw(asker text, withdrawal uuid, account uuid, cents bigint, partner_reference text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cash bigint;
    standing text;
    moment timestamptz;
    requested accounts_withdrawal;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id, a.status INTO cash, standing
    FROM accounts_account a
    JOIN accounts_partner p ON p.id = a.partner_id AND p.login = asker AND p.is_active
    JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = account FOR SHARE OF a;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A withdrawal is requested by the partner of its account, and '
            'not by %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    IF standing <> 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_cashhead h SET reserved = h.reserved + cents
        WHERE h.cash_account_id = cash;
    moment := clock_timestamp();
    INSERT INTO accounts_withdrawal (id, cash_account_id, amount, reference,
        payment_reference, status, status_reason, requested_by, created_at, updated_at)
    VALUES (withdrawal, cash, cents, partner_reference,
        cash_reference('2', ('x' || right(withdrawal::text, 12))::bit(48)::bigint),
        'REQUESTED', '', asker, moment, moment)
    RETURNING * INTO requested;
    RETURN requested;
END $$;
REVOKE ALL ON FUNCTION public.cash_withdraw(text, uuid, uuid, bigint, text) FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.assigns_id IS NOT NULL OR new.reverses_id IS NOT NULL) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_cash();

DROP TRIGGER IF EXISTS approvals_of_statement ON public.accounts_bankstatement;
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT ON public.accounts_bankstatement DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_statement();

DROP TRIGGER IF EXISTS cash_book_line ON public.accounts_bankline;
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_book_line();

CREATE OR REPLACE TRIGGER cash_receive_lines AFTER INSERT ON public.accounts_bankline REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_receive_lines();

CREATE OR REPLACE TRIGGER cash_receive_statement BEFORE INSERT ON public.accounts_bankstatement FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_receive_statement();

CREATE OR REPLACE TRIGGER cash_request_withdrawal BEFORE INSERT ON public.accounts_withdrawal FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_request_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_requested AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_reserve_withdrawals();
"""

BACKWARD = r"""
DROP TRIGGER IF EXISTS approvals_of_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.assigns_id IS NOT NULL OR new.reverses_id IS NOT NULL) EXECUTE FUNCTION public.approvals_of_cash();

DROP TRIGGER IF EXISTS approvals_of_statement ON public.accounts_bankstatement;
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT ON public.accounts_bankstatement DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_statement();

DROP TRIGGER IF EXISTS cash_book_line ON public.accounts_bankline;
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.cash_book_line();

CREATE OR REPLACE TRIGGER cash_receive_lines AFTER INSERT ON public.accounts_bankline REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.cash_receive_lines();

CREATE OR REPLACE TRIGGER cash_receive_statement BEFORE INSERT ON public.accounts_bankstatement FOR EACH ROW EXECUTE FUNCTION public.cash_receive_statement();

CREATE OR REPLACE TRIGGER cash_request_withdrawal BEFORE INSERT ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.cash_request_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_requested AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.cash_reserve_withdrawals();

DROP FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]);

DROP FUNCTION public.cash_decide_withdrawal(text, uuid, text, text);

DROP FUNCTION public.cash_judge_staff(text, uuid, text[]);

DROP FUNCTION public.cash_move_receipt(text, bigint, bigint, bigint, text);

DROP FUNCTION public.cash_withdraw(text, uuid, uuid, bigint, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0055_writers_of_passkeys"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
