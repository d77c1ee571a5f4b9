"""How many rows long lists have, so that no query counts them.

Triggers write down what a transaction adds to a list, or takes from it, and at its
commit add that up. Nothing else writes these tables, and no transaction waits for
another's total before it commits.
"""

from collections.abc import Callable, Sequence

from django.db import models
from django.db.models import Q

from partnerapi.core.database import array_text, fetch
from partnerapi.core.invariants import Invariant


class Listed(models.TextChoices):
    ACCOUNTS = "accounts", "Accounts of a partner"
    ORDERS = "orders", "Orders of a partner"
    ACCOUNT_ORDERS = "accountOrders", "Orders of an account"
    LEGACY_SHAREHOLDERS = "legacyShareholders", "Legacy lines of an issuer"


class Total(models.Model):
    """The number of rows of a list as of the last commit that changed it.

    `key` is the list's partner, account or issuer; without a row there is none.
    """

    list = models.CharField(max_length=20, choices=Listed)
    key = models.UUIDField()
    number = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["list", "key"], name="total_of_a_list_is_one"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=0), name="total_is_not_negative"
            ),
        ]

    def __str__(self):
        return f"{self.list} of {self.key}: {self.number}"


class TotalChange(models.Model):
    """What a transaction changes a total by, until its commit: others never see it."""

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
    """What reads the number of rows of each list of its kind, in order of the keys."""

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
        f"the total of {listed.label.lower()} is their number",
        f"""
        SELECT count(*), count(*) FILTER (
            WHERE coalesce(t.number, 0) <> coalesce(c.number, 0))
        FROM (SELECT * FROM accounts_total WHERE list = '{listed}') t
        FULL JOIN (
            SELECT {column} AS key, count(*) AS number FROM {table} GROUP BY {column}
        ) c USING (key)
        """,
    )
