"""The row counts of long lists, so that no query counts rows.

Triggers record the rows that a transaction adds to a list or removes from it, and sum
them at its commit. Nothing else writes these tables, and no transaction waits for
another's total before its commit.
"""

from collections.abc import Callable, Sequence

from django.db import models
from django.db.models import Q

from partnerapi.core.constraints import check
from partnerapi.core.database import array_text, fetch
from partnerapi.core.invariants import Invariant


class Listed(models.TextChoices):
    ACCOUNTS = "accounts", "Accounts of a partner"
    ORDERS = "orders", "Orders of a partner"
    ACCOUNT_ORDERS = "accountOrders", "Orders of an account"
    LEGACY_SHAREHOLDERS = "legacyShareholders", "Legacy lines of an issuer"


class Total(models.Model):
    """The number of rows of a list as of the last commit that changed it.

    `key` is the list's partner, account or issuer; without a row the total is 0.
    """

    list = models.CharField(max_length=20, choices=Listed)
    key = models.UUIDField()
    number = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["list", "key"], name="total_of_a_list_is_one"
            ),
            check("total_is_not_negative", Q(number__gte=0)),
        ]

    def __str__(self):
        return f"{self.list} of {self.key}: {self.number}"


class TotalChange(models.Model):
    """A transaction's change of a total, until its commit; others never see it."""

    transaction = models.BigIntegerField()
    list = models.CharField(max_length=20, choices=Listed)
    key = models.UUIDField()
    change = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["transaction", "list", "key"],
                name="one_change_of_a_total_per_commit",
            )
        ]

    def __str__(self):
        return f"{self.list} of {self.key}: {self.change:+}"


def totals(listed: Listed, keys: Sequence[str]) -> Callable[[], list[int]]:
    """A reader of the totals of lists of a kind, in the order of the keys."""

    def read() -> list[int]:
        found = fetch(TOTALS, [array_text(keys), listed.value], tuple)
        return [number for (number,) in found]

    return read


TOTALS = """
    SELECT coalesce(t.number, 0)
    FROM unnest(%s::uuid[]) WITH ORDINALITY AS wanted (key, n)
    LEFT JOIN accounts_total t ON t.list = %s AND t.key = wanted.key
    ORDER BY wanted.n
"""


def total_is_kept(listed: Listed, table: str, column: str) -> Invariant:
    return Invariant(
        f"the total of {listed.label.lower()} equals their number",
        f"""
        SELECT count(*), count(*) FILTER (
            WHERE coalesce(t.number, 0) <> coalesce(c.number, 0))
        FROM (SELECT * FROM accounts_total WHERE list = '{listed}') t
        FULL JOIN (
            SELECT {column} AS key, count(*) AS number FROM {table} GROUP BY {column}
        ) c USING (key)
        """,
    )
