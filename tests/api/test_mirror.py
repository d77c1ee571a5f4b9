"""A partner mirrors the platform by events and `updatedSince`, while others write."""

import itertools
import random
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.legacy.models import LegacyShareholder
from issuers.models import Article, Issuer, IssuerFinancialData, IssuerGrant, Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import TokenLedgerHead
from partnerapi.core.times import to_rfc3339
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.sandbox.run.postgres import ADMINISTRATOR, OWNER
from tests.approved import desk
from tests.characters import Ask, World
from tests.issuers.register import people
from tests.owner import as_committed
from tests.threads import in_threads
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("one_person")

SETTLED = "{ viewer { settledAt } }"
WRITERS, ROUNDS = 4, 25


def walk(ask: Ask, document: str, *path: str, **variables: Any) -> Iterator[Any]:
    """The nodes of all pages of the list at a path."""
    after = None
    while True:
        page = ask(document, {**variables, "after": after}).data
        for name in path:
            page = page[name]
        yield from page["nodes"]
        after = page["pageInfo"]["endCursor"] or after
        if not page["pageInfo"]["hasNextPage"]:
            return


class Mirror:
    """What a partner keeps: it walks all once, and from then on what has changed."""

    def __init__(self, ask: Ask, page: int = 7) -> None:
        self.ask, self.page = ask, page
        self.settled: str | None = None
        self.issuers: dict[str, Any] = {}
        self.accounts: dict[str, Any] = {}
        self.lines: dict[str, Any] = {}
        self.ledgers: dict[str, int] = {}
        self.figures: dict[str, int] = {}
        self.articles: dict[str, str] = {}
        self.sequence = 0
        self.read = 0

    def refresh(self) -> None:
        settled = self.ask(SETTLED).data["viewer"]["settledAt"]
        since = {"since": self.settled, "first": self.page}
        for issuer in walk(self.ask, ISSUERS, "issuers", **since):
            self.keep(self.issuers, issuer)
        for line in walk(self.ask, LINES, "issuer", "legacyShareholders", **since):
            self.keep(self.lines, line)
        for account in walk(self.ask, ACCOUNTS, "accounts", **since):
            self.keep(self.accounts, account)
        self.settled = settled
        # The mirror has the sequence, not a cursor: each page goes on from it.
        while events := self.ask(EVENTS, {"after": str(self.sequence)}).data["events"][
            "nodes"
        ]:
            for event in events:
                self.follow(event)

    def keep(self, rows: dict[str, Any], row: dict[str, Any]) -> None:
        self.read += 1
        rows[row["id"]] = row

    def follow(self, event: dict[str, Any]) -> None:
        assert event["sequence"] == self.sequence + 1
        self.sequence = event["sequence"]
        subject = event["subject"]
        if event["type"] == "REGISTER_CHANGED":
            self.ledgers[subject["id"]] = event["ledgerSequence"]
        elif event["type"] == "FINANCIAL_DATA_PUBLISHED":
            self.figures[subject["id"]] = subject["revenue"]
        elif event["type"] == "ARTICLE_PUBLISHED":
            self.articles[subject["id"]] = subject["title"]


ISSUERS = """
query ($first: Int, $after: String, $since: Time) {
  issuers(first: $first, after: $after, updatedSince: $since) {
    pageInfo { hasNextPage endCursor }
    nodes { id tradingName companyName updatedAt }
  }
}
"""
ACCOUNTS = """
query ($first: Int, $after: String, $since: Time) {
  accounts(first: $first, after: $after, updatedSince: $since) {
    pageInfo { hasNextPage endCursor }
    nodes { id status }
  }
}
"""
LINES = """
query ($first: Int, $after: String, $since: Time) {
  issuer(slug: "lumen") {
    legacyShareholders(first: $first, after: $after, updatedSince: $since) {
      pageInfo { hasNextPage endCursor }
      nodes { id status numberOfShares }
    }
  }
}
"""
EVENTS = """
query ($after: String) {
  events(after: $after) {
    nodes { sequence type ledgerSequence
      subject { id
        ... on IssuerFinancialData { revenue }
        ... on Article { title } } }
  }
}
"""


@pytest.fixture
def mirror(world: World, settings: Any) -> Mirror:
    settings.PARTNER_API_BUDGET_POINTS = settings.PARTNER_API_BUDGET_REFILL = 10**9
    return Mirror(Ask(approved_key(world.partner, list(Scope))[1]))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("patient_locks")
def test_a_mirror_that_follows_writers_becomes_the_database(
    transactional_db: None, world: World, mirror: Mirror
):
    users = people(WRITERS)
    holders = list(ledger.holder_accounts(user.pk for user in users).values())
    figures = [
        IssuerFinancialData.objects.create(
            issuer=world.quiet, year=2000 + number, period_type="YEAR"
        )
        for number in range(WRITERS)
    ]
    issuers = [world.listed, world.quiet]
    mirror.refresh()
    first_walk, at_work = mirror.read, list(range(WRITERS))
    ended = threading.Event()

    def work(number: int) -> None:
        if number == WRITERS:
            while not ended.is_set():
                mirror.refresh()
            return
        try:
            write(number)
        finally:
            at_work.remove(number)
            if not at_work:
                ended.set()

    def write(number: int) -> None:
        dice = random.Random(number)
        account = Account.objects.open(
            world.partner, users[number], desk(), timezone.now()
        )
        statuses = itertools.cycle(["ACTIVE", "SUSPENDED"])
        for turn in range(ROUNDS):
            Issuer.objects.filter(pk=issuers[turn % 2].pk).update(
                trading_name=f"Name {number} {turn}"
            )
            with transaction.atomic():
                # Written early in the transaction, seen late.
                line = LegacyShareholder.objects.create(
                    issuer=world.listed,
                    user=users[number],
                    number_of_shares=turn + 1,
                    price_cents=1,
                )
                account.change_status(next(statuses), desk(), None)
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_sleep(%s)", [dice.random() / 20])
            if turn % 3 == 0:
                LegacyShareholder.objects.filter(pk=line.pk).update(price_cents=2)
                LegacyShareholder.objects.filter(pk=line.pk).update(
                    number_of_shares=1000 + turn
                )
            entry = Entry(world.public_token.pk, "MINT", 1, None, holders[number])
            ledger.record([entry], "me")
            figures[number].revenue_cents = turn
            figures[number].save()
            Article.objects.create(
                issuer=world.quiet,
                title=f"Title {number} {turn}",
                slug=f"a-{number}-{turn}",
                body="…",
                published_at=timezone.now(),
            )
            User.objects.filter(pk=world.owner.pk).update(
                company_name=f"Company {number} {turn}"
            )

    assert in_threads(WRITERS + 1, work) == []
    mirror.refresh()
    assert mirror.read > first_walk
    assert {
        key: (row["tradingName"], row["companyName"])
        for key, row in mirror.issuers.items()
    } == {
        f"Issuer|{i.pk}": (i.trading_name, i.owner.company_name)
        for i in Issuer.objects.select_related("owner")
    }
    assert {key: row["status"] for key, row in mirror.accounts.items()} == {
        f"Account|{a.pk}": a.status for a in Account.objects.all()
    }
    assert {key: row["numberOfShares"] for key, row in mirror.lines.items()} == {
        f"IssuerLegacyShareholder|{line.pk}": line.number_of_shares
        for line in LegacyShareholder.objects.all()
    }
    assert mirror.ledgers == {
        f"Token|{head.pk}": head.last_seq
        for head in TokenLedgerHead.objects.filter(last_seq__gt=0)
    }
    assert mirror.figures == {
        f"IssuerFinancialData|{f.pk}": f.revenue_cents for f in figures
    }
    assert mirror.articles == {
        f"Article|{a.pk}": a.title for a in Article.objects.filter(issuer=world.quiet)
    }


@pytest.mark.django_db(transaction=True)
def test_who_still_writes_holds_back_what_is_settled(
    transactional_db: None, world: World, mirror: Mirror
):
    begun, end = threading.Event(), threading.Event()
    started: list[datetime] = []

    def write(number: int) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT transaction_timestamp()")
                started.append(cursor.fetchone()[0])
            Issuer.objects.filter(pk=world.quiet.pk).update(tag_line="New")
            begun.set()
            end.wait()

    def settled() -> datetime:
        return datetime.fromisoformat(mirror.ask(SETTLED).data["viewer"]["settledAt"])

    thread = threading.Thread(target=lambda: in_threads(1, write))
    thread.start()
    try:
        begun.wait()
        assert settled() == settled() == started[0]
        before = to_rfc3339(started[0])
        mirror.settled = before
        assert list(walk(mirror.ask, ISSUERS, "issuers", first=7, since=before)) == []
    finally:
        end.set()
        thread.join()
    until(lambda: settled() > started[0])
    [found] = walk(mirror.ask, ISSUERS, "issuers", first=7, since=before)
    assert found["id"] == f"Issuer|{world.quiet.pk}"
    assert datetime.fromisoformat(found["updatedAt"]) >= started[0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("role", [OWNER, ADMINISTRATOR])
def test_other_roles_that_write_hold_back_what_is_settled(
    transactional_db: None, world: World, mirror: Mirror, role: str
):
    place = connection.get_connection_params()
    place = {name: place[name] for name in ("host", "port", "dbname") if name in place}
    with psycopg.connect(**place, user=role) as session:
        [[began]] = session.execute("SELECT transaction_timestamp()").fetchall()
        session.execute("UPDATE issuers_issuer SET tag_line = 'New'")
        settled = mirror.ask(SETTLED).data["viewer"]["settledAt"]
        assert datetime.fromisoformat(settled) <= began
    found = list(walk(mirror.ask, ISSUERS, "issuers", first=7, since=settled))
    assert f"Issuer|{world.quiet.pk}" in [node["id"] for node in found]


def times() -> dict[str, datetime]:
    return dict(Issuer.objects.values_list("slug", "updated_at"))


@pytest.mark.django_db
def test_only_what_changes_is_updated(world: World):
    before = times()
    world.quiet.save()
    world.owner.save()
    User.objects.filter(pk=world.owner.pk).update(email="new@example.com")
    assert times() == before
    User.objects.filter(pk=world.owner.pk).update(city="Lyon")
    as_committed()
    after = times()
    assert after["lumen"] > before["lumen"]
    assert after["arbor"] == before["arbor"]
    Issuer.objects.filter(slug="arbor").update(updated_at=before["lumen"])
    assert times()["arbor"] > after["lumen"]
    written = Token.objects.get(pk=world.public_token.pk).updated_at
    Token.objects.filter(pk=world.public_token.pk).update(name="Other")
    assert Token.objects.get(pk=world.public_token.pk).updated_at > written


@pytest.mark.django_db
def test_lists_are_narrowed_to_what_was_updated_since(
    world: World, partner: Ask, observer: Ask
):
    client = User.objects.create(type=User.Type.INDIVIDUAL, first_name="Otto")
    account = Account.objects.open(world.partner, client, desk(), timezone.now())
    other = Partner.objects.create(login="other", name="Other")
    Account.objects.open(other, client, desk(), timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [(now,)] = cursor.fetchall()
    variables = {"first": 50, "since": to_rfc3339(now)}
    lists = [
        (ISSUERS, ("issuers",)),
        (ACCOUNTS, ("accounts",)),
        (LINES, ("issuer", "legacyShareholders")),
    ]

    def found() -> list[list[str]]:
        return [
            [node["id"] for node in walk(partner, document, *path, **variables)]
            for document, path in lists
        ]

    assert found() == [[], [], []]
    Issuer.objects.filter(pk=world.quiet.pk).update(tag_line="New")
    account.change_status("ACTIVE", desk(), None)
    LegacyShareholder.objects.filter(pk=world.shareholders[2].pk).update(price_cents=9)
    assert found() == [
        [f"Issuer|{world.quiet.pk}"],
        [f"Account|{account.pk}"],
        [f"IssuerLegacyShareholder|{world.shareholders[2].pk}"],
    ]
    assert IssuerGrant.objects.filter(partner=world.observer).count() == 0
    [node] = walk(observer, ISSUERS, "issuers", first=5, since=to_rfc3339(now))
    assert node["id"] == f"Issuer|{world.quiet.pk}"
