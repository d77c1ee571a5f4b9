"""Limits below which one person is enough count a day; bank statements need two people.

The closing balance that a bank says is what lies at the bank by the books, or nothing is
booked. A release from before, which gives none, books no statement from now on.
"""

from django.db import migrations

from partnerapi.core.guards import drop, function, trigger_function

RESTRICTED = "USING ERRCODE = 'restrict_violation'"
NO_ISSUER = "'00000000-0000-0000-0000-000000000000'::uuid"

# Who acts, as the sums count it: the member of staff who is signed in. A command names
# whom it likes, so all commands are one person.
PERSON = function(
    "approvals_person()",
    "text",
    """
    RETURN CASE WHEN author IS NULL THEN 'SQL'
        WHEN author ->> 'from' LIKE 'page %' THEN author ->> 'who'
        ELSE 'command' END;
    """,
    declare="author jsonb :="
    " nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;",
)

# Whether a second person is needed for amounts of issuers, on top of the day's.
OVER = function(
    "approvals_over(wanted text, who text, issuers uuid[], amounts numeric[])",
    "boolean",
    f"""
    SELECT * INTO p FROM accounts_approvalpolicy WHERE kind = wanted;
    IF NOT FOUND OR NOT p.is_required THEN
        RETURN p.kind IS NULL;
    END IF;
    RETURN p.from_amount IS NULL OR EXISTS (
        SELECT FROM unnest(issuers, amounts) AS u (issuer, amount)
        CROSS JOIN (VALUES (who, p.from_amount), ('', p.from_total)) AS l (person, most)
        LEFT JOIN accounts_soleamount s ON s.kind = wanted AND s.person = l.person
            AND s.issuer_id = coalesce(u.issuer, {NO_ISSUER})
            AND s.day = (clock_timestamp() AT TIME ZONE 'UTC')::date
        WHERE u.amount IS NULL OR l.most <= u.amount
            -- Prices have no sum.
            + CASE wanted WHEN 'PRICE' THEN 0 ELSE coalesce(s.amount, 0) END);
    """,
    declare="p accounts_approvalpolicy;",
)

# Other functions of the owner call it. What it counts stays counted, and who comes at
# the same time waits: its rows are locked to the end of the transaction.
ALONE = function(
    "approvals_alone(wanted text, issuers uuid[], amounts numeric[])",
    "boolean",
    f"""
    IF EXISTS (SELECT FROM accounts_approvalpolicy p
            WHERE p.kind = wanted AND NOT p.is_required) THEN
        RETURN TRUE;
    END IF;
    INSERT INTO accounts_soleamount (kind, day, issuer_id, person, amount)
    SELECT wanted, today, coalesce(u.issuer, {NO_ISSUER}), l.person, 0
    FROM unnest(issuers) AS u (issuer) CROSS JOIN (VALUES (''), (who)) AS l (person)
    WHERE EXISTS (SELECT FROM accounts_approvalpolicy p
        WHERE p.kind = wanted AND p.from_amount IS NOT NULL)
    ORDER BY 3, 4
    ON CONFLICT (kind, day, issuer_id, person)
        DO UPDATE SET amount = accounts_soleamount.amount;
    IF approvals_over(wanted, who, issuers, amounts) THEN
        RETURN FALSE;
    END IF;
    UPDATE accounts_soleamount s SET amount = s.amount + u.amount
    FROM unnest(issuers, amounts) AS u (issuer, amount)
    WHERE s.kind = wanted AND s.day = today AND s.person IN ('', who)
        AND s.issuer_id = coalesce(u.issuer, {NO_ISSUER});
    RETURN TRUE;
    """,
    declare="who text := approvals_person();\n"
    "    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;",
)

# An approval that the transaction carries is used; without one, the sums decide.
USE_BEFORE = function(
    "approvals_use(wanted text, said jsonb, amount numeric, entry_token uuid,"
    " entry_number bigint)",
    "uuid",
    f"""
    PERFORM FROM accounts_approvalpolicy p WHERE p.kind = wanted
        AND (NOT p.is_required OR amount < p.from_amount);
    IF FOUND THEN
        RETURN NULL;
    END IF;
    SELECT r.id INTO used
    FROM accounts_approvalrequest r
    JOIN accounts_approvaldecision d ON d.request_id = r.id AND d.is_approved
    WHERE r.id = ANY (string_to_array(
            nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[])
        AND r.kind = wanted AND r.content - 'with' = said
        AND r.expires_at > clock_timestamp()
        AND NOT EXISTS (
            SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id)
        AND d.decided_by_id <> r.filed_by_id
        AND approvals_may(d.decided_by_id, 'decide_' || r.kind)
    ORDER BY r.id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted, said {RESTRICTED};
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    RETURN used;
    """,
    declare="used uuid;",
)
USE_EACH = USE_BEFORE
for part, becomes in (
    (
        "approvals_use(wanted text, said jsonb, amount numeric, entry_token uuid,"
        " entry_number bigint)",
        "approvals_use_each(wanted text, said jsonb, issuers uuid[],"
        " amounts numeric[], entry_token uuid, entry_number bigint)",
    ),
    (
        """PERFORM FROM accounts_approvalpolicy p WHERE p.kind = wanted
        AND (NOT p.is_required OR amount < p.from_amount);
    IF FOUND THEN
        RETURN NULL;
    END IF;
    """,
        "",
    ),
    (
        """IF NOT FOUND THEN
        RAISE""",
        """IF NOT FOUND THEN
        IF approvals_alone(wanted, issuers, amounts) THEN
            RETURN NULL;
        END IF;
        RAISE""",
    ),
    ("wanted, said USING", "wanted, left(said::text, 400) USING"),
    (
        "approvals_use(text, jsonb, numeric, uuid, bigint)",
        "approvals_use_each(text, jsonb, uuid[], numeric[], uuid, bigint)",
    ),
):
    if part not in USE_EACH:
        raise ValueError(f"not in approvals_use: {part}")
    USE_EACH = USE_EACH.replace(part, becomes)
USE = function(
    "approvals_use(wanted text, said jsonb, amount numeric, entry_token uuid,"
    " entry_number bigint)",
    "uuid",
    """
    RETURN approvals_use_each(wanted, said,
        ARRAY[(SELECT t.issuer_id FROM issuers_token t WHERE t.id = entry_token)],
        ARRAY[amount], entry_token, entry_number);
    """,
)

# Under the bank's lock, so that its balance is the one that the writer has seen.
RECEIVE = trigger_function(
    "cash_receive_statement",
    "accounts_bankstatement",
    f"""
    PERFORM FROM accounts_cashhead h WHERE h.kind = 'BANK' FOR NO KEY UPDATE;
    NEW.booked_at := clock_timestamp();
    NEW.made_in := register_transaction(2);
    IF NEW.closing_balance IS DISTINCT FROM NEW.booked_balance THEN
        RAISE EXCEPTION 'A bank statement has a closing balance, % cents, which is what '
            'lies at the bank by the books, % cents.', NEW.closing_balance,
            NEW.booked_balance {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER cash_receive_statement BEFORE INSERT ON accounts_bankstatement
    FOR EACH ROW EXECUTE FUNCTION cash_receive_statement();
"""
RECEIVE_LINES = trigger_function(
    "cash_receive_lines",
    "accounts_bankline",
    f"""
    SELECT l.reference INTO wrong
    FROM entered l JOIN accounts_bankstatement s ON s.id = l.statement_id
    WHERE s.made_in IS DISTINCT FROM register_transaction(2) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A bank statement gets its lines when it is booked, and no '
            'further ones: %.', wrong {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="wrong text;",
) + """
CREATE TRIGGER cash_receive_lines AFTER INSERT ON accounts_bankline
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION cash_receive_lines();
"""

# What came for clients needs an approval, line by line in the order of the file, with
# the cash account that each led to.
APPROVE = trigger_function(
    "approvals_of_statement",
    "accounts_bankstatement",
    f"""
    SELECT coalesce(jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
            l.date, CASE WHEN l.amount > 0 THEN t.target_id ELSE t.source_id END)
            ORDER BY t.id), '[]'),
        coalesce(sum(l.amount) FILTER (WHERE l.amount > 0 AND c.kind = 'CLIENT'), 0),
        max(t.id)
        INTO lines, credited, last_entry
    FROM accounts_bankline l
    JOIN accounts_cashtransaction t ON t.reference = l.reference
    JOIN accounts_cashaccount c ON c.id = t.target_id
    WHERE l.statement_id = NEW.id;
    SELECT -coalesce(p.balance_after, h.balance) INTO lies
    FROM accounts_cashhead h LEFT JOIN accounts_cashposting p
        ON p.cash_account_id = h.cash_account_id AND p.transaction_id = last_entry
    WHERE h.kind = 'BANK';
    IF lies IS DISTINCT FROM NEW.closing_balance THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', NEW.closing_balance,
            lies {RESTRICTED};
    END IF;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', NEW.name,
            'digest', NEW.digest, 'closing', NEW.closing_balance::text,
            'lines', lines), credited, NULL, NULL);
    END IF;
    SELECT u.email INTO asker FROM accounts_approvalrequest r
        JOIN accounts_user u ON u.id = r.filed_by_id WHERE r.id = used;
    IF asker IS NULL AND approvals_person() NOT IN ('SQL', 'command') THEN
        asker := approvals_person();
    END IF;
    IF NEW.booked_by <> asker THEN
        RAISE EXCEPTION 'A bank statement is booked by who asked for its approval, or is '
            'signed in: %, not %.', asker, NEW.booked_by {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="lines jsonb;\n    credited numeric;\n    last_entry bigint;\n"
    "    lies bigint;\n    used uuid;\n    asker text;",
) + """
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT ON accounts_bankstatement
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION approvals_of_statement();
"""

KEEP_SUMS = """
CREATE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE
    ON accounts_soleamount FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0030_what_one_person_does_a_day"),
        ("issuers", "0044_read_committed"),
    ]

    operations = [
        migrations.RunSQL(
            KEEP_SUMS, "DROP TRIGGER accounts_refuse_removal ON accounts_soleamount;"
        ),
        migrations.RunSQL(
            PERSON + OVER + ALONE + USE_EACH + USE,
            USE_BEFORE
            + drop(
                "approvals_use_each(text, jsonb, uuid[], numeric[], uuid, bigint)",
                "approvals_alone(text, uuid[], numeric[])",
                "approvals_over(text, text, uuid[], numeric[])",
                "approvals_person()",
            ),
        ),
        migrations.RunSQL(
            RECEIVE + RECEIVE_LINES + APPROVE,
            drop(
                "cash_receive_statement()",
                "cash_receive_lines()",
                "approvals_of_statement()",
                triggers={
                    "cash_receive_statement": "accounts_bankstatement",
                    "cash_receive_lines": "accounts_bankline",
                    "approvals_of_statement": "accounts_bankstatement",
                },
            ),
        ),
    ]
