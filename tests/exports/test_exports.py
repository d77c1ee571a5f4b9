"""Exports from being asked for to being ready, against the connections themselves."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from issuers import grants
from issuers.legacy.models import LegacyShareholder
from issuers.models import IssuerGrant
from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.core.database import execute
from partnerapi.exports import creation, writing
from partnerapi.exports.models import Export, ExportMember
from partnerapi.gateway import authentication
from partnerapi.gateway.throttling import local_buckets, spend
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import asker
from tests.characters import Ask, World
from tests.exports.conftest import EXPORT, Partner, token_id, uuid_of, write
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)
from tests.owner import as_committed, as_owner, tamper

HOLDERS = """
query ($date: Time, $after: String) { issuer(slug: "lumen") {
  capitalizationTable(date: $date) { list: holdersConnection(first: 2, after: $after) {
    nodes { userID holderName totalValue percentage
      tokenBalances { tokenID balanceSpecificToken currentPrice totalTokenValue } }
    pageInfo { hasNextPage endCursor }
} } } }
"""
TRANSACTIONS = """
query ($after: String) { token(symbol: "LUM") {
  list: transactions(first: 2, after: $after) {
    nodes { id sequence kind amount effectiveAt supplyAfter heldAfter holdersAfter
      chainReference reverses sourceBefore targetBefore lineVersion privateDigest
      previousDigest reason token { id }
      source { id user { id } } target { id user { id } } }
    pageInfo { hasNextPage endCursor }
} } }
"""
USER = "user { id displayName type lei country { code } }"
LEGACY_SHAREHOLDERS = f"""
query ($after: String) {{ issuer(slug: "lumen") {{
  list: legacyShareholders(first: 2, after: $after) {{
    nodes {{ id status numberOfShares price createdAt issuer {{ id }} {USER} }}
    pageInfo {{ hasNextPage endCursor }}
}} }} }}
"""
ACCOUNTS = f"""
query ($after: String) {{ list: accounts(first: 2, after: $after) {{
  nodes {{ id status statusReason allowedStatuses createdAt updatedAt {USER} }}
  pageInfo {{ hasNextPage endCursor }}
}} }}
"""


TRADING = {
    "ORDERS": ("""
query ($after: String) { list: orders(first: 2, after: $after) {
  nodes { id clientOrderID side type limitPrice quantity filledQuantity filledValue
    timeInForce expiresAt status statusReason version createdAt updatedAt
    account { id } token { id } }
  pageInfo { hasNextPage endCursor }
} }
""", 7),
    "EXECUTIONS": ("""
query ($after: String) { list: executions(first: 2, after: $after) {
  nodes { id side price quantity value liquidity tradeSequence ledgerSequence at
    bustedAt order { id clientOrderID } token { id } }
  pageInfo { hasNextPage endCursor }
} }
""", 6),
    "POSITIONS": ("""
query ($after: String) { list: positions(first: 2, after: $after) {
  nodes { account { id } token { id } quantity reserved locked available lockedUntil }
  pageInfo { hasNextPage endCursor }
} }
""", 2),
}  # fmt: skip


def walk(ask: Ask, document: str, **variables: Any) -> list[dict[str, Any]]:
    """The nodes of all pages of the list."""
    walked, after = [], None
    while True:
        found = ask(document, {**variables, "after": after}).data
        while "list" not in found:
            [found] = found.values()
        walked += found["list"]["nodes"]
        if not found["list"]["pageInfo"]["hasNextPage"]:
            return walked
        after = found["list"]["pageInfo"]["endCursor"]


def issuer_id(world: World) -> str:
    return f"Issuer|{world.listed.pk}"


@pytest.mark.usefixtures("one_person")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("small_pages")
def test_each_export_is_its_connection_at_one_instant(
    world: World,
    client_of: Partner,
    register: list[int],
    clients: list[Account],
    unlimited_budgets: None,
):
    ask, issuer = client_of.ask, issuer_id(world)
    before = timezone.now().isoformat()
    own = ledger.treasury(world.listed)
    ledger.record([Entry(world.public_token.pk, "RETURN", 9, register[5], own)], "me")
    now = client_of.create("HOLDERS", issuerID=issuer)
    past = client_of.create("HOLDERS", issuerID=issuer, date=before)
    entries = client_of.create("TRANSACTIONS", tokenID=token_id(client_of))
    some = client_of.create("TRANSACTIONS", tokenID=token_id(client_of), date=before)
    lines = client_of.create("LEGACY_SHAREHOLDERS", issuerID=issuer)
    accounts = client_of.create("ACCOUNTS")
    expected = {
        now: walk(ask, HOLDERS),
        past: walk(ask, HOLDERS, date=before),
        entries: walk(ask, TRANSACTIONS),
        lines: walk(ask, LEGACY_SHAREHOLDERS),
        accounts: walk(ask, ACCOUNTS),
    }
    expected[some] = expected[entries][:-1]
    assert [len(e) for e in expected.values()] == [9, 10, 12, 7, 7, 11]
    # What is entered before they are written is not in them.
    ledger.record([Entry(world.public_token.pk, "MINT", 1, None, register[0])], "me")

    write()
    for id, nodes in expected.items():
        assert client_of.lines(id) == nodes
        export = Export.objects.get(pk=uuid_of(id))
        assert (export.rows, export.charged) == (len(nodes), 1)
        assert export.members == export.parts.count() > 1
        assert sum(len(part.data) for part in export.parts.all()) == export.size_bytes
        told = client_of.export(id)
        assert (told["status"], told["rows"]) == ("READY", len(nodes))
        assert told["sizeBytes"] == export.size_bytes
        assert told["date"] is not None


@pytest.mark.usefixtures("one_person")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("small_pages", "unlimited_budgets")
def test_the_trading_of_all_clients_is_exported(world: World, client_of: Partner):
    token = new_market()
    seller, buyer = new_clients(2, world.partner)
    deposit(buyer, 10_000)
    give(token, {seller: 10})
    for quantity in (1, 2, 3):
        placed(token, sell(seller, quantity, 100))
        placed(token, buy(buyer, quantity, 100))
    placed(token, buy(buyer, 4, 90))
    as_committed()
    for name, (document, count) in TRADING.items():
        nodes = walk(client_of.ask, document)
        assert len(nodes) == count, name
        id = client_of.create(name)
        write()
        assert client_of.lines(id) == nodes
    assert client_of.try_to_create("ORDERS", issuerID=issuer_id(world)).code == (
        "BAD_USER_INPUT"
    )


def test_an_export_of_nothing_is_a_file_without_lines(world: World, client_of: Partner):
    id = client_of.create("TRANSACTIONS", tokenID=token_id(client_of))
    write()
    assert client_of.lines(id) == []
    assert client_of.export(id)["rows"] == 0


def test_a_repetition_is_answered_with_the_export(world: World, client_of: Partner):
    key = str(uuid4())
    answers = [
        client_of.try_to_create("ACCOUNTS", key).data["createExport"]["export"]["id"]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert Export.objects.count() == 1


def test_two_are_at_work_for_a_partner(world: World, client_of: Partner, register: Any):
    ids = [client_of.create("HOLDERS", issuerID=issuer_id(world)) for _ in range(4)]
    writing.begin_waiting()
    writing.begin_waiting()
    found = [client_of.export(id)["status"] for id in ids]
    assert found == ["RUNNING", "RUNNING", "WAITING", "WAITING"]
    third = Export.objects.filter(pk=uuid_of(ids[2]))
    for place in (1, 2, 3, None):
        with pytest.raises(IntegrityError), transaction.atomic():
            third.update(status="RUNNING", place=place)
    write()
    assert {client_of.export(id)["status"] for id in ids} == {"READY"}


def test_a_spent_budget_is_waited_for(
    world: World, client_of: Partner, register: Any, monkeypatch: pytest.MonkeyPatch
):
    world.partner.budget_points, world.partner.budget_refill = 200, 1
    world.partner.save()
    monkeypatch.setattr(writing, "ROWS_PER_POINT", 1)
    monkeypatch.setattr(writing, "POINTS_AT_ONCE", 5)
    id = client_of.create("TRANSACTIONS", tokenID=token_id(client_of))
    spend(f"partner:{world.partner.pk}", 200, 1, 200)
    write()
    export = Export.objects.get(pk=uuid_of(id))
    assert (export.status, export.rows) == ("RUNNING", 11)
    assert export.charged in (0, 5, 10)
    assert export.due_at > timezone.now()
    # Others who ask for nothing find all points again.
    caches["default"].client.get_client().flushdb()
    local_buckets.clear()
    Export.objects.update(due_at=timezone.now())
    write()
    export.refresh_from_db()
    assert (export.status, export.charged) == ("READY", 11)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (f"attempts = {writing.MOST_ATTEMPTS}", "internal error"),
        ("created_at = now() - interval '6 hours'", "left it no time within 6 hours"),
    ],
)
def test_an_export_that_does_not_come_on_fails(
    change: str, reason: str, world: World, client_of: Partner
):
    id = client_of.create("ACCOUNTS")
    tamper(f"UPDATE partnerapi_export SET {change}")
    write()
    found = client_of.export(id)
    assert (found["status"], found["url"]) == ("FAILED", None)
    assert reason in found["reason"]


def test_without_the_grant_it_fails_and_is_not_told(
    world: World, client_of: Partner, register: Any
):
    id = client_of.create("HOLDERS", issuerID=issuer_id(world))
    grants.end(IssuerGrant.objects.get(partner=world.partner), asker())
    write()
    assert Export.objects.get(pk=uuid_of(id)).status == "FAILED"
    authentication.cache.clear()
    answer = client_of.ask(EXPORT, {"id": id})
    assert answer.code == "FORBIDDEN"


ASKED_WRONGLY = [
    ("HOLDERS", {}, "BAD_USER_INPUT", "input.issuerID"),
    ("HOLDERS", {"issuerID": "x", "tokenID": "x"}, "BAD_USER_INPUT", "input.tokenID"),
    ("TRANSACTIONS", {"issuerID": "x"}, "BAD_USER_INPUT", "input.issuerID"),
    ("ACCOUNTS", {"issuerID": "x"}, "BAD_USER_INPUT", "input.issuerID"),
    ("ACCOUNTS", {"date": "2026-01-01"}, "BAD_USER_INPUT", "input.date"),
    ("HOLDERS", {"issuerID": "Issuer|x"}, "NOT_FOUND", "input.issuerID"),
    ("TRANSACTIONS", {"tokenID": "Token|x"}, "NOT_FOUND", "input.tokenID"),
]


@pytest.mark.parametrize(("connection", "members", "code", "argument"), ASKED_WRONGLY)
def test_what_can_not_be_exported_is_refused(
    connection: str, members: dict[str, str], code: str, argument: str,
    client_of: Partner,
):  # fmt: skip
    answer = client_of.try_to_create(connection, **members)
    assert answer.code == code
    assert answer.errors[0]["extensions"]["argument"] == argument
    assert not Export.objects.exists()


def test_only_whoever_may_read_the_connection_may_export_it(
    world: World, client_of: Partner
):
    def refused(scopes: list[Scope], connection: str, **members: str) -> dict[str, Any]:
        asking = Partner(Ask(approved_key(world.partner, scopes)[1]))
        answer = asking.try_to_create(connection, **members)
        assert answer.code == "FORBIDDEN"
        return answer.errors[0]["extensions"]

    others = [scope for scope in Scope if scope != Scope.CAPTABLE_READ]
    listed, quiet = issuer_id(world), f"Issuer|{world.quiet.pk}"
    extensions = refused(others, "HOLDERS", issuerID=listed)
    assert extensions["requiredScope"] == "captable:read"
    extensions = refused([Scope.ACCOUNTS_READ], "LEGACY_SHAREHOLDERS", issuerID=listed)
    assert extensions["requiredScope"] == "shareholders:read"
    assert refused(list(Scope), "HOLDERS", issuerID=quiet)["requiredGrant"] == quiet
    assert not Export.objects.exists()


def test_nobody_else_finds_it(world: World, client_of: Partner, stranger: Ask):
    id = client_of.create("ACCOUNTS")
    other = Ask(approved_key(world.observer, list(Scope))[1])
    both = "query ($id: ID!) { export(id: $id) { id } node(id: $id) { id } }"
    assert other(both, {"id": id}).data == {"export": None, "node": None}
    assert client_of.ask(both, {"id": id}).data["node"] == {"id": id}
    without = Ask(approved_key(world.partner, [Scope.ISSUERS_READ])[1])
    answer = without(both, {"id": id})
    assert answer.code == "FORBIDDEN"
    assert answer.body["data"] == {"export": None, "node": None}
    assert stranger(both, {"id": id}).code == "UNAUTHENTICATED"


def test_a_partner_has_so_many_and_no_more(
    client_of: Partner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(creation, "MOST_KEPT", 2)
    first = client_of.create("ACCOUNTS")
    client_of.create("ACCOUNTS")
    answer = client_of.try_to_create("ACCOUNTS")
    assert answer.code == "TOO_MANY_EXPORTS"
    assert answer.errors[0]["extensions"]["maximum"] == 2
    Export.objects.filter(pk=uuid_of(first)).update(status="FAILED", reason="…")
    client_of.create("ACCOUNTS")


def test_the_database_keeps_what_is_written(
    world: World, client_of: Partner, ready: str
):
    export = Export.objects.get(pk=uuid_of(ready))
    parts = ExportMember.objects.filter(export=export)

    def member(
        number: int | None = None, position: int | None = None, data: bytes = b"abc"
    ) -> None:
        place = export.members + 1 if number is None else number
        start = export.size_bytes if position is None else position
        execute(writing.APPEND, [export.pk, place, start, 1, data])

    attempts: list[Any] = [
        lambda: parts.update(rows=0),
        lambda: parts.delete(),
        lambda: ExportMember.objects.create(
            export=export, number=9, position=0, rows=0, data=b""
        ),
        lambda: Export.objects.update(status="RUNNING", place=1),
        lambda: Export.objects.update(connection="ACCOUNTS", issuer_id=None),
        member,
    ]
    for attempt in attempts:
        with pytest.raises((ProgrammingError, IntegrityError)), transaction.atomic():
            attempt()
    id = client_of.create("ACCOUNTS")
    writing.begin_waiting()
    export = Export.objects.get(pk=uuid_of(id))
    for changed in ({"number": 2}, {"position": 1}, {"data": bytes(2**20 + 1)}):
        with pytest.raises(IntegrityError), transaction.atomic():
            member(**changed)  # type: ignore[arg-type]
    with transaction.atomic():
        member()
        export.refresh_from_db()
        assert (export.members, export.rows, export.size_bytes) == (1, 1, 3)
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_legacy_lines_are_of_one_moment_while_others_write(
    world: World, client_of: Partner, small_pages: None, monkeypatch: pytest.MonkeyPatch
):
    """A correction between two pages, by another connection, is in no row."""
    read = writing.read_rows
    pages = []

    def read_and_correct(*arguments: Any) -> Any:
        pages.append(page := read(*arguments))
        with as_owner():
            LegacyShareholder.objects.update(number_of_shares=99)
        return page

    monkeypatch.setattr(writing, "read_rows", read_and_correct)
    id = client_of.create("LEGACY_SHAREHOLDERS", issuerID=issuer_id(world))
    write()
    assert len(pages) == 3
    assert [line["numberOfShares"] for line in client_of.lines(id)] == [*range(1, 8)]
