"""The invariants of cash, each as one SQL statement."""

from collections.abc import Iterator

from accounts.cash.chains import CashChainHead, computed_heads
from accounts.cash.models import CashHead
from accounts.totals import Listed, total_is_kept
from partnerapi.core.chains import BEGINNING
from partnerapi.core.invariants import Finding, Invariant, check_invariants_and_guards


def verify() -> Iterator[Finding]:
    """Check every invariant, then the guards and the chains."""
    yield from check_invariants_and_guards(INVARIANTS)
    yield chains_agree()


def chains_agree() -> Finding:
    """The head of each cash account is that of its postings' chain."""
    computed = {head.cash_account: head for head in computed_heads()}
    wrong, checked = [], 0
    for account, number, digest in CashHead.objects.values_list(
        "pk", "last_number", "entry_digest"
    ):
        checked += number
        head = computed.get(account, CashChainHead(account, 0, BEGINNING))
        if (head.number, head.digest) != (number, bytes(digest or b"")):
            wrong.append(f"cash account {account}")
    return Finding(
        "postings and transactions are those of their account's chain",
        checked,
        len(wrong),
        wrong,
    )


HELD = "status IN ('REQUESTED', 'APPROVED')"

INVARIANTS = (
    total_is_kept(Listed.ACCOUNTS, "accounts_account", "partner_id"),
    Invariant(
        "each account has a cash account, and each cash account has a head of its kind",
        """
        SELECT count(*), count(*) FILTER (WHERE c.id IS NULL OR h.kind IS NULL
            OR h.kind <> c.kind OR (c.account_id IS NULL) <> (a.id IS NULL))
        FROM accounts_account a
        FULL JOIN accounts_cashaccount c ON c.account_id = a.id
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = c.id
        """,
    ),
    Invariant(
        "each transaction has two postings, and each posting has a transaction",
        """
        SELECT count(*), count(*) FILTER (WHERE x.legs IS DISTINCT FROM p.legs)
        FROM (
            SELECT id, ARRAY[
                least(source_id, target_id), greatest(source_id, target_id),
                CASE WHEN source_id < target_id THEN -amount ELSE amount END,
                CASE WHEN source_id < target_id THEN amount ELSE -amount END] AS legs
            FROM accounts_cashtransaction
        ) x
        FULL JOIN (
            SELECT transaction_id, array_agg(cash_account_id ORDER BY cash_account_id)
                || array_agg(delta ORDER BY cash_account_id) AS legs
            FROM accounts_cashposting GROUP BY transaction_id
        ) p ON p.transaction_id = x.id
        """,
    ),
    Invariant(
        "postings are numbered from 1 without gaps, up to the head's number",
        """
        SELECT sum(postings), count(*) FILTER (WHERE postings <> last_number
            OR last <> last_number OR postings > 0 AND first <> 1)
        FROM (
            SELECT h.last_number, count(p.number) AS postings,
                coalesce(min(p.number), 0) AS first, coalesce(max(p.number), 0) AS last
            FROM accounts_cashhead h
            LEFT JOIN accounts_cashposting p USING (cash_account_id)
            GROUP BY h.cash_account_id
        ) x
        """,
    ),
    Invariant(
        "each balance is the sum of its postings, and no client balance is negative",
        """
        SELECT count(*), count(*) FILTER (WHERE x.balance_after <> x.summed
            OR c.kind IN ('CLIENT', 'ISSUER') AND x.balance_after < 0
            OR c.kind = 'BANK' AND x.balance_after > 0)
        FROM (
            SELECT cash_account_id, balance_after, sum(delta) OVER (
                PARTITION BY cash_account_id ORDER BY number) AS summed
            FROM accounts_cashposting
        ) x JOIN accounts_cashaccount c ON c.id = x.cash_account_id
        """,
    ),
    Invariant(
        "each head equals its last posting",
        """
        SELECT count(*), count(*) FILTER (WHERE (h.balance, h.last_at) IS DISTINCT FROM
            (coalesce(p.balance_after, 0), t.at))
        FROM accounts_cashhead h
        LEFT JOIN accounts_cashposting p ON p.cash_account_id = h.cash_account_id
            AND p.number = h.last_number
        LEFT JOIN accounts_cashtransaction t ON t.id = p.transaction_id
        """,
    ),
    Invariant(
        "postings name the digest of their private part",
        """
        SELECT count(*), count(*) FILTER (WHERE private_digest IS DISTINCT FROM
            sha256(salt || convert_to(private, 'UTF8')))
        FROM cash_entry_lines
        """,
    ),
    Invariant(
        "times never decrease, and none is in the future",
        """
        SELECT count(*), count(*) FILTER (
            WHERE at < before OR at > clock_timestamp())
        FROM (
            SELECT t.at, lag(t.at) OVER (
                PARTITION BY p.cash_account_id ORDER BY p.number) AS before
            FROM accounts_cashposting p
            JOIN accounts_cashtransaction t ON t.id = p.transaction_id
        ) x
        """,
    ),
    Invariant(
        "Σ balances = 0",
        "SELECT count(*), (coalesce(sum(balance), 0) <> 0)::int FROM accounts_cashhead",
    ),
    Invariant(
        "0 ≤ reserved ≤ balance, and open withdrawals are reserved",
        f"""
        SELECT count(*), count(*) FILTER (WHERE h.reserved < 0
            OR h.kind IN ('CLIENT', 'ISSUER') AND h.reserved > h.balance
            OR h.reserved < coalesce(w.held, 0))
        FROM accounts_cashhead h
        LEFT JOIN (
            SELECT cash_account_id, sum(amount) AS held FROM accounts_withdrawal
            WHERE {HELD} GROUP BY cash_account_id
        ) w USING (cash_account_id)
        """,
    ),
    # Older statements have no `made_in`: they were not compared when booked.
    Invariant(
        "each statement's closing balance equals the books' bank balance",
        """
        SELECT count(*), count(*) FILTER (
            WHERE x.closing_balance IS DISTINCT FROM coalesce(-x.balance_after, 0))
        FROM (
            SELECT s.closing_balance, (
                SELECT p.balance_after
                FROM accounts_cashposting p
                JOIN accounts_cashaccount c ON c.id = p.cash_account_id
                    AND c.kind = 'BANK'
                JOIN accounts_cashtransaction t ON t.id = p.transaction_id
                LEFT JOIN accounts_bankline l ON l.reference = t.reference
                WHERE l.statement_id = s.id OR t.at <= s.booked_at
                ORDER BY p.number DESC LIMIT 1) AS balance_after
            FROM accounts_bankstatement s WHERE s.made_in IS NOT NULL
        ) x
        """,
    ),
    Invariant(
        "each bank line is booked once, with its amount, from or to the bank",
        """
        SELECT count(*), count(*) FILTER (WHERE l.reference IS NULL OR t.id IS NULL
            OR l.amount <> CASE t.kind WHEN 'DEPOSIT' THEN t.amount ELSE -t.amount END
            OR bank.kind <> 'BANK')
        FROM accounts_bankline l
        FULL JOIN (
            SELECT * FROM accounts_cashtransaction WHERE reference IS NOT NULL
        ) t ON t.reference = l.reference
        LEFT JOIN accounts_cashaccount bank ON bank.id = CASE t.kind
            WHEN 'DEPOSIT' THEN t.source_id ELSE t.target_id END
        """,
    ),
    Invariant(
        "each PAID withdrawal was paid by the bank line that names it",
        """
        SELECT count(*), count(*) FILTER (WHERE w.id IS NULL OR t.id IS NULL
            OR (w.amount, w.cash_account_id) <> (t.amount, t.source_id))
        FROM (SELECT * FROM accounts_withdrawal WHERE status = 'PAID') w
        FULL JOIN (
            SELECT * FROM accounts_cashtransaction WHERE withdrawal_id IS NOT NULL
        ) t ON t.withdrawal_id = w.id
        """,
    ),
    Invariant(
        "each approved or cancelled withdrawal has its request, unless none was needed",
        """
        SELECT count(*), count(*) FILTER (WHERE w.request_id IS NOT NULL
            AND (o.is_executed IS NOT TRUE
                OR r.content ->> 'withdrawal' <> w.id::text))
        FROM accounts_withdrawal w
        LEFT JOIN accounts_approvalrequest r ON r.id = w.request_id
        LEFT JOIN accounts_approvaloutcome o ON o.request_id = w.request_id
        WHERE w.status IN ('APPROVED', 'PAID', 'CANCELLED')
        """,
    ),
    Invariant(
        "each payment file's total is that of its approved withdrawals",
        """
        SELECT count(*), count(*) FILTER (WHERE x.wrong IS NOT FALSE
            OR (f.total, f.payments) <> (x.total, x.payments))
        FROM accounts_paymentfile f
        LEFT JOIN (
            SELECT o.file_id, sum(w.amount) AS total, count(*) AS payments,
                bool_or(p.withdrawal_id IS NULL OR strpos(f.content, p.iban) = 0
                    OR strpos(f.content, w.payment_reference) = 0
                    OR w.status NOT IN ('APPROVED', 'PAID', 'CANCELLED')) AS wrong
            FROM accounts_paymentorder o
            JOIN accounts_paymentfile f ON f.id = o.file_id
            JOIN accounts_withdrawal w ON w.id = o.withdrawal_id
            LEFT JOIN accounts_payee p ON p.withdrawal_id = w.id
            GROUP BY o.file_id
        ) x ON x.file_id = f.id
        """,
    ),
    Invariant(
        "assigned money came from suspense, and was assigned once",
        """
        SELECT count(*), count(*) FILTER (WHERE x.times > 1 OR x.wrong)
        FROM (
            SELECT count(*) FILTER (WHERE r.id IS NULL) AS times,
                bool_or(a.amount <> d.amount OR a.source_id <> d.target_id) AS wrong
            FROM accounts_cashtransaction a
            JOIN accounts_cashtransaction d ON d.id = a.assigns_id
            LEFT JOIN accounts_cashtransaction r ON r.reverses_id = a.id
            GROUP BY a.assigns_id
        ) x
        """,
    ),
    Invariant(
        "closed and rejected accounts have no cash",
        """
        SELECT count(*), count(*) FILTER (WHERE h.balance <> 0)
        FROM accounts_account a
        JOIN accounts_cashaccount c ON c.account_id = a.id
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE a.status IN ('CLOSED', 'REJECTED')
        """,
    ),
)
