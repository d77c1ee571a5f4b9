"""Mirror a platform by pages, then follow it by events and `updatedSince`.

python -m tests.benchmarks.mirror --lines 50000 --issuers 1000 --changes 1000

A partner walks all issuers, accounts and legacy shareholders over HTTP. Then writers
change rows at random, several at once, while it follows. Prints the points of the walk
and of what follows. Ends with 1 where its copy is not what the database holds, or where
following takes more than a hundredth of the walk's points.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from rich.console import Console

from tests.benchmarks.register import Server
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation
from tests.threads import in_threads

WRITERS = 4
MOST_SHARE = 0.01
# The largest pages, so that no issuer has more than is read of it.
ISSUERS = """
query ($after: String) { issuers(first: 20, after: $after) {
  pageInfo { hasNextPage endCursor }
  nodes { id tradingName companyName
    tokens(first: 5) { nodes { id ledgerHead { sequence } } }
    financialData(first: 100) { nodes { id revenue } }
    articles(first: 100) { nodes { id title } } } } }
"""
CHANGED_ISSUERS = """
query ($after: String, $since: Time) {
  issuers(first: 25, after: $after, updatedSince: $since) {
    pageInfo { hasNextPage endCursor } nodes { id tradingName companyName } } }
"""
ACCOUNTS = """
query ($first: Int, $after: String, $since: Time) {
  accounts(first: $first, after: $after, updatedSince: $since) {
    pageInfo { hasNextPage endCursor } nodes { id status user { id displayName } } } }
"""
LINES = """
query ($id: ID, $first: Int, $after: String, $since: Time) { issuer(id: $id) {
  legacyShareholders(first: $first, after: $after, updatedSince: $since) {
    pageInfo { hasNextPage endCursor }
    nodes { id status numberOfShares price user { id displayName } } } } }
"""
EVENTS = """
query ($first: Int, $after: String) {
  events(first: $first, after: $after, types: [REGISTER_CHANGED,
    FINANCIAL_DATA_PUBLISHED, ARTICLE_PUBLISHED]) {
    pageInfo { hasNextPage endCursor }
    nodes { type ledgerSequence subject { id
      ... on IssuerFinancialData { revenue } ... on Article { title } } } } }
"""
LAST_EVENT = "{ events(last: 1) { pageInfo { endCursor } } }"
SETTLED = "{ viewer { settledAt } }"


class Mirror:
    """What the partner keeps, by the ids of objects."""

    def __init__(self, server: Server, large: str) -> None:
        self.server, self.large = server, large
        self.kept: dict[str, Any] = {}
        self.settled: str | None = None
        self.after: str | None = None

    def walk(self, document: str, *path: str, **variables: Any) -> Iterator[Any]:
        while True:
            page = self.server.data(document, variables)
            for name in path:
                page = page[name]
            yield from page["nodes"]
            variables["after"] = page["pageInfo"]["endCursor"] or variables.get("after")
            if not page["pageInfo"]["hasNextPage"]:
                return

    def read(self) -> None:
        self.settled = self.server.data(SETTLED)["viewer"]["settledAt"]
        # The walk contains all events before it.
        self.after = self.server.data(LAST_EVENT)["events"]["pageInfo"]["endCursor"]
        for issuer in self.walk(ISSUERS, "issuers"):
            self.keep_issuer(issuer)
            for token in issuer["tokens"]["nodes"]:
                self.kept[token["id"]] = token["ledgerHead"]["sequence"]
            for figures in issuer["financialData"]["nodes"]:
                self.kept[figures["id"]] = figures["revenue"]
            for article in issuer["articles"]["nodes"]:
                self.kept[article["id"]] = article["title"]
        self.keep_rows(first=100)

    def follow(self) -> None:
        settled = self.server.data(SETTLED)["viewer"]["settledAt"]
        for issuer in self.walk(CHANGED_ISSUERS, "issuers", since=self.settled):
            self.keep_issuer(issuer)
        self.keep_rows(first=25, since=self.settled)
        self.settled = settled
        self.hear()

    def hear(self) -> None:
        while True:
            variables = {"first": 50, "after": self.after}
            page = self.server.data(EVENTS, variables)["events"]
            for event in page["nodes"]:
                subject = event["subject"]
                self.kept[subject["id"]] = event["ledgerSequence"] or subject.get(
                    "revenue", subject.get("title")
                )
            self.after = page["pageInfo"]["endCursor"] or self.after
            if not page["pageInfo"]["hasNextPage"]:
                return

    def keep_issuer(self, issuer: dict[str, Any]) -> None:
        self.kept[issuer["id"]] = issuer["tradingName"], issuer["companyName"]

    def keep_rows(self, **variables: Any) -> None:
        for account in self.walk(ACCOUNTS, "accounts", **variables):
            self.kept[account["id"]] = account["status"], account["user"]["displayName"]
        path = "issuer", "legacyShareholders"
        for line in self.walk(LINES, *path, id=self.large, **variables):
            self.kept[line["id"]] = (
                line["status"],
                line["numberOfShares"],
                line["user"]["displayName"],
            )


def held(partner: Any) -> dict[str, Any]:
    """What the mirror must be in the end."""
    from accounts.accounts.models import Account
    from issuers.legacy.models import LegacyShareholder
    from issuers.models import Article, Issuer, IssuerFinancialData
    from issuers.register.models import TokenLedgerHead

    rows: dict[str, Any] = {}
    for issuer in Issuer.objects.select_related("owner"):
        rows[f"Issuer|{issuer.pk}"] = issuer.trading_name, issuer.owner.company_name
    for account in Account.objects.filter(partner=partner).select_related("user"):
        rows[f"Account|{account.pk}"] = account.status, str(account.user)
    for line in LegacyShareholder.objects.select_related("user").iterator():
        rows[f"IssuerLegacyShareholder|{line.pk}"] = (
            line.status,
            line.number_of_shares,
            str(line.user),
        )
    for head in TokenLedgerHead.objects.all():
        rows[f"Token|{head.pk}"] = head.last_seq
    for figures in IssuerFinancialData.objects.all():
        rows[f"IssuerFinancialData|{figures.pk}"] = figures.revenue_cents
    for article in Article.objects.all():
        rows[f"Article|{article.pk}"] = article.title
    return rows


def fill(partner: Any, issuers: int, lines: int, accounts: int) -> Any:
    """Write what is mirrored; the issuer that has all lines."""
    from django.utils import timezone

    from accounts.accounts.models import Account
    from issuers.legacy.models import LegacyShareholder
    from issuers.models import Article, IssuerFinancialData, Token
    from tests.approved import desk
    from tests.issuers.register import new_issuer, people

    made = [new_issuer() for _ in range(issuers)]
    for number, issuer in enumerate(made):
        Token.objects.create(issuer=issuer, name="Shares", symbol=f"M{number}")
    IssuerFinancialData.objects.bulk_create(
        IssuerFinancialData(issuer=issuer, year=year, period_type="YEAR")
        for issuer in made
        for year in (2023, 2024, 2025)
    )
    Article.objects.bulk_create(
        Article(
            issuer=issuer,
            title="News",
            slug=f"news-{number}",
            body="…",
            published_at=timezone.now(),
        )
        for number, issuer in enumerate(made)
    )
    users = people(lines)
    LegacyShareholder.objects.bulk_create(
        (
            LegacyShareholder(
                issuer=made[0], user=user, number_of_shares=1, price_cents=100
            )
            for user in users
        ),
        batch_size=5000,
    )
    for user in users[:accounts]:
        Account.objects.open(partner, user, desk(), timezone.now())
    return made[0]


def changes(partner: Any) -> list[Any]:
    """What a writer may do: each takes the dice, and changes something by them."""

    from accounts.accounts.models import Account
    from issuers.legacy.models import LegacyShareholder
    from issuers.models import Article, Issuer, IssuerFinancialData, Token
    from issuers.register import ledger
    from issuers.register.ledger import Entry
    from tests.approved import approved_record, desk

    keys = {
        model: list(model.objects.values_list("pk", flat=True))
        for model in (LegacyShareholder, Article, Issuer, IssuerFinancialData, Token)
    }
    opened = list(Account.objects.filter(partner=partner))
    [holder] = ledger.holder_accounts([opened[0].user_id]).values()
    staff = desk()

    def set_column(model: Any, column: str, text: bool, dice: random.Random) -> None:
        value: Any = dice.randrange(1, 10**6)
        value = f"Named {value}" if text else value
        model.objects.filter(pk=dice.choice(keys[model])).update(**{column: value})

    def enter(dice: random.Random) -> None:
        token = dice.choice(keys[Token])
        approved_record([Entry(token, "MINT", 1, None, holder)], "me")

    def decide(dice: random.Random) -> None:
        account = Account.objects.get(pk=dice.choice(opened).pk)
        status = "SUSPENDED" if account.status == "ACTIVE" else "ACTIVE"
        account.change_status(status, staff, None)

    return [
        partial(set_column, LegacyShareholder, "number_of_shares", False),
        partial(set_column, IssuerFinancialData, "revenue_cents", False),
        partial(set_column, Article, "title", True),
        partial(set_column, Issuer, "trading_name", True),
        enter,
        decide,
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--issuers", type=int, default=1_000)
    parser.add_argument("--accounts", type=int, default=5_000)
    parser.add_argument("--changes", type=int, default=1_000)
    options = parser.parse_args()
    console = Console()
    with throw_away_installation():
        from accounts.keys.models import Partner

        server = Server()
        partner = Partner.objects.get(login="reader")
        large = fill(partner, options.issuers, options.lines, options.accounts)
        try:
            mirror = Mirror(server, f"Issuer|{large.pk}")
            mirror.read()
            walked = server.points
            assert mirror.kept == held(partner)
            kinds, server.points = changes(partner), 0

            def work(number: int) -> None:
                if number == WRITERS:
                    mirror.follow()
                    return
                dice = random.Random(number)
                for _ in range(options.changes // WRITERS):
                    dice.choice(kinds)(dice)

            errors = in_threads(WRITERS + 1, work)
            mirror.follow()
        finally:
            server.stop()
        is_equal = mirror.kept == held(partner)
    share = server.points / walked
    console.print(f"Walk: {walked:,} points for {len(mirror.kept):,} objects")
    console.print(f"{options.changes:,} changes: {server.points:,} points, {share:.2%}")
    console.print("Equal to the database" if is_equal else "NOT equal to the database")
    console.print(*errors)
    return int(bool(errors) or not is_equal or share > MOST_SHARE)


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
