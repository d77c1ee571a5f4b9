"""A token's entries and prices as partners read them."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.keys.models import Partner
from issuers.register import ledger
from issuers.register.ledger import Entry, Price
from issuers.register.models import LedgerTransaction
from partnerapi.core.times import to_rfc3339
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import approved_price, approved_record
from tests.characters import START, Ask, World, on
from tests.issuers.register import empty_token, people
from tests.threads import in_threads
from tests.waiting import PATIENCE_SECONDS

ENTRIES = """
query ($id: ID!, $first: Int, $last: Int, $after: String, $before: String) {
  token(id: $id) {
    transactions(first: $first, last: $last, after: $after, before: $before) {
      totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      nodes {
        id token { symbol } sequence kind source { name } target { name } amount
        effectiveAt supplyAfter heldAfter reverses
      }
    }
  }
}
"""
PRICES = """
query ($id: ID!, $first: Int, $after: String) {
  token(id: $id) {
    priceHistory(first: $first, after: $after) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { number price source effectiveAt }
    }
  }
}
"""
COUNTED = """
query ($first: Int!) { issuer(slug: "lumen") { tokens(first: $first) { nodes {
  transactions(first: 3) { totalCount nodes { source { name } target { name } } }
  priceHistory(first: 2) { totalCount nodes { price } }
} } } }
"""


@pytest.fixture
def history(world: World):
    """The public token's ledger over some days; its id."""
    accounts = ledger.holder_accounts(user.pk for user in people(2))
    a, b = accounts.values()
    token, own = world.public_token.pk, ledger.treasury(world.listed)

    ledger.write_history(
        [token],
        [
            Entry(token, "MINT", 1000, None, own, at=on(1)),
            Price(token, 50, "ISSUE", at=on(1)),
            Entry(token, "ALLOCATE", 300, own, a, at=on(2)),
            Entry(token, "TRANSFER", 100, a, b, at=on(3)),
            Price(token, 60, "TRADE", at=on(3)),
            Entry(token, "BURN", 50, own, None, at=on(4)),
        ],
        "import",
    )
    undone = LedgerTransaction.objects.get(token=token, seq=3)
    ledger.record([ledger.reversal_of(undone, "a mistake")], "staff@example.com")
    return f"Token|{token}"


def name_of(account):
    return account and account.holder and account.holder.name


def oracle(token):
    """All entries as the tables have them."""
    entries = LedgerTransaction.objects.filter(token=token).order_by("seq")
    return [
        {
            "id": f"LedgerTransaction|{entry.token_id}.{entry.seq}",
            "token": {"symbol": token.symbol},
            "sequence": entry.seq,
            "kind": entry.kind,
            "source": name_of(entry.source) and {"name": name_of(entry.source)},
            "target": name_of(entry.target) and {"name": name_of(entry.target)},
            "amount": int(entry.amount),
            "effectiveAt": to_rfc3339(entry.effective_at),
            "supplyAfter": int(entry.supply_after),
            "heldAfter": int(entry.held_after),
            "reverses": entry.reverses,
        }
        for entry in entries.select_related("source__holder", "target__holder")
    ]


def test_tells_every_entry_and_price(world: World, history, partner: Ask):
    found = partner(ENTRIES, {"id": history, "first": 100}).data["token"]
    nodes = found["transactions"]["nodes"]
    assert nodes == oracle(world.public_token)
    assert [node["kind"] for node in nodes] == [
        "MINT", "ALLOCATE", "TRANSFER", "BURN", "REVERSAL",
    ]  # fmt: skip
    assert nodes[0]["source"] is nodes[0]["target"] is None
    assert nodes[1]["target"] == nodes[2]["source"] == nodes[4]["target"]
    assert nodes[4]["reverses"] == 3
    assert found["transactions"]["totalCount"] == 5
    assert "staff@example.com" not in str(found)
    prices = partner(PRICES, {"id": history}).data["token"]["priceHistory"]
    assert prices["totalCount"] == 2
    assert [list(price.values()) for price in prices["nodes"]] == [
        [1, 50, "ISSUE", "2024-01-02T12:00:00Z"],
        [2, 60, "TRADE", "2024-01-04T12:00:00Z"],
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_walk_gives_each_entry_once(
    size, world: World, history, partner: Ask, unlimited_budgets
):
    expected = oracle(world.public_token)
    for forward in (True, False):
        walked: list[dict[str, Any]] = []
        cursor = None
        more = True
        while more:
            page = {"first": size, "after": cursor}
            if not forward:
                page = {"last": size, "before": cursor}
            found = partner(ENTRIES, {"id": history, **page})
            found = found.data["token"]["transactions"]
            info = found["pageInfo"]
            nodes = found["nodes"]
            walked = [*walked, *nodes] if forward else [*nodes, *walked]
            more = info["hasNextPage" if forward else "hasPreviousPage"]
            cursor = info["endCursor" if forward else "startCursor"]
        assert walked == expected


@pytest.mark.django_db(transaction=True)
def test_a_walk_misses_nothing_while_others_write(
    world: World, partner: Ask, unlimited_budgets
):
    token = world.public_token.pk
    [account] = ledger.holder_accounts(user.pk for user in people(1)).values()
    writers, batches = 3, 20
    written = threading.Barrier(writers + 1)
    walked: list[int] = []
    prices: list[int] = []
    ended: list[int] = []

    def write(number):
        try:
            written.wait(PATIENCE_SECONDS)
            for n in range(batches):
                approved_record([Entry(token, "MINT", n + 1, None, account)] * 3, "me")
                approved_price(token, number * 100 + n, "NAV", "me")
        finally:
            ended.append(number)

    def walk():
        written.wait(PATIENCE_SECONDS)
        after = price_after = None
        is_over = False
        while not is_over:
            has_ended = len(ended) == writers
            page = {"id": f"Token|{token}", "first": 7, "after": after}
            found = partner(ENTRIES, page).data["token"]["transactions"]
            walked.extend(node["sequence"] for node in found["nodes"])
            after = found["pageInfo"]["endCursor"] or after
            page["after"] = price_after
            told = partner(PRICES, page).data["token"]["priceHistory"]
            prices.extend(node["number"] for node in told["nodes"])
            price_after = told["pageInfo"]["endCursor"] or price_after
            assert found["totalCount"] >= len(walked)
            # Whatever became of the writers, nothing comes after this.
            is_over = has_ended and not found["nodes"] and not told["nodes"]

    errors = in_threads(writers + 1, lambda number: write(number) if number else walk())
    assert errors == []
    assert walked == list(range(1, writers * batches * 3 + 1))
    assert prices == list(range(1, writers * batches + 1))


def test_needs_scope_and_grant(world: World, history, stranger: Ask, observer: Ask):
    other = Partner.objects.create(login="other", name="Other")
    approved_grant(other, world.quiet)
    without_grant = Ask(approved_key(other, list(Scope))[1])
    for document in (ENTRIES, PRICES):
        variables = {"id": history, "first": 1}
        answer = stranger(document, variables)
        assert answer.code == "UNAUTHENTICATED"
        assert answer.body["data"] == {"token": None}
        answer = observer(document, variables)
        assert answer.errors[0]["extensions"]["requiredScope"] == "captable:read"
        answer = without_grant(document, variables)
        assert answer.code == "FORBIDDEN"
        required = answer.errors[0]["extensions"]["requiredGrant"]
        assert required == f"Issuer|{world.listed.pk}"
        assert answer.body["data"] == {"token": None}


def test_many_tokens_take_as_many_statements_as_one(
    world: World, history, partner: Ask
):
    token = empty_token(world.listed, "THIRD", START)
    [account] = ledger.holder_accounts(user.pk for user in people(1)).values()
    ledger.record([Entry(token.pk, "MINT", 5, None, account)], "me")
    partner(COUNTED, {"first": 1})

    def statements(first):
        with CaptureQueriesContext(connection) as captured:
            answer = partner(COUNTED, {"first": first})
        tokens = answer.data["issuer"]["tokens"]["nodes"]
        return len(captured), [t["transactions"]["totalCount"] for t in tokens]

    one, counts = statements(1)
    assert counts == [5]
    assert statements(3) == (one, [5, 1, 0])


def test_costs_its_page(history, partner: Ask):
    asked = "query ($id: ID!) { token(id: $id) { transactions(first: 50) { %s } } }"

    def cost(selected):
        answer = partner(asked % selected, {"id": history})
        assert answer.data
        rows = answer.data["token"]["transactions"]["nodes"]
        sources = sum(row.get("source") is not None for row in rows)
        return int(answer.headers["X-Query-Cost"]), len(rows), sources

    points, rows, _ = cost("nodes { amount }")
    assert points == 20 + 1 + rows
    points, rows, sources = cost("totalCount nodes { source { name } }")
    assert 0 < sources < rows
    assert points == 40 + 1 + rows + sources
