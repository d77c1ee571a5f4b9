"""The invariants of rules and investors, each as one SQL statement."""

from django.db import connection

from partnerapi.core.invariants import Invariant

JUDGED_AT_ONCE = 10_000
"""Entries of a token; what was judged stays so if a verification is ended."""


def keep_judged() -> None:
    """Judge entries older than two days finally; a read-only session does not.

    Later checks skip such an entry, and a breach of a rule stays reported.
    """
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        moved = cursor.fetchall() == [("off",)]
        while moved:
            cursor.execute("SELECT register_keep_judged(%s)", [JUDGED_AT_ONCE])
            [(moved,)] = cursor.fetchall()


RULE_INVARIANTS = (
    Invariant(
        "no entry broke a rule of its time",
        """
        SELECT sum(h.last_seq - coalesce(j.seq, 0)), sum(
            coalesce(cardinality(j.broken), 0) + (SELECT count(*) FROM
                register_broken_entries(h.token_id, coalesce(j.seq, 0), h.last_seq)))
        FROM issuers_tokenledgerhead h
        LEFT JOIN issuers_judgedledger j ON j.token_id = h.token_id
        """,
    ),
    Invariant(
        "each investor profile agrees with its history",
        """
        SELECT count(*), count(*) FILTER (WHERE p.changes IS DISTINCT FROM h.number
            OR ROW (p.verification, p.verified_until, p.tax_country_id,
                p.investor_class, p.partner_id, p.updated_at) IS DISTINCT FROM
                ROW (h.verification, h.verified_until, h.tax_country_id,
                h.investor_class, h.partner_id, h.created_at)
            OR h.number <> h.entries)
        FROM accounts_investorprofile p
        FULL JOIN (
            SELECT DISTINCT ON (user_id) *, count(*) OVER (PARTITION BY user_id)
                AS entries
            FROM accounts_investorchange ORDER BY user_id, number DESC
        ) h ON h.user_id = p.user_id
        """,
    ),
)
