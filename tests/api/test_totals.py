"""Totals that are kept, and not counted: as many as there are, at every moment."""

import random
import uuid
from importlib import import_module
from typing import Any

import pytest
from django.db import Error, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.cash.verification import verify as verify_cash
from accounts.keys.models import Partner
from accounts.totals import Total, TotalChange
from issuers.legacy.models import LegacyShareholder
from issuers.models import Event, EventCount, EventHead, EventType, IssuerGrant
from issuers.register.verification import verify as verify_register
from marketdata.trading.models import Order
from marketdata.trading.verification import verify as verify_market
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import desk
from tests.characters import Ask, new_world
from tests.issuers.events import COUNT_EVENTS
from tests.issuers.register import people
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    sell,
)
from tests.owner import as_owner
from tests.threads import in_threads

pytestmark = pytest.mark.django_db(transaction=True)
TOTALS = """
{ accounts(first: 0) { totalCount } orders(first: 0) { totalCount }
  events(first: 0) { totalCount } }
"""
OF_ACCOUNT = (
    "query ($id: String!) { account(id: $id) { orders(first: 0) { totalCount } } }"
)
OF_ISSUER = """
query ($id: ID!) { issuer(id: $id) { legacyShareholders(first: 0) { totalCount } } }
"""
TYPED = (
    "query ($types: [EventType!]) { events(first: 0, types: $types) { totalCount } }"
)
PLACED_AND_COUNTED = """
mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) {
  order { account { orders(first: 0) { totalCount } } } } }
"""


def total(answer: Any, *path: str) -> int:
    assert "errors" not in answer.body, answer.body
    found = answer.data
    for name in path:
        found = found[name]
    number: int = found["totalCount"]
    return number


def verified() -> None:
    for verify in (verify_cash, verify_register, verify_market):
        assert [f.rule for f in verify() if f.breaches] == []


def test_totals_are_exact_and_no_query_counts_rows(stranger: Ask):
    world, token = new_world(), new_market()
    buyer, seller = new_clients(2, world.partner)
    deposit(buyer, 100_000)
    give(token, {seller: 100})
    for quantity in (1, 2, 3):
        place(token, sell(seller, quantity, 100))
    place(token, buy(buyer, 2, 100))
    new_clients(1)
    key = approved_key(world.partner, list(Scope))[1]
    with CaptureQueriesContext(connection) as queries:
        answer = stranger(TOTALS, **{"X-Token-Auth": key})
    assert not [q for q in queries if "count(*)" in q["sql"].lower()]
    partner = world.partner
    assert total(answer, "accounts") == 2
    assert total(answer, "orders") == 4
    assert total(answer, "events") == Event.objects.filter(partner=partner).count() > 6
    asked = {"id": f"Account|{seller.pk}"}
    answer = stranger(OF_ACCOUNT, asked, **{"X-Token-Auth": key})
    assert total(answer, "account", "orders") == 3
    answer = stranger(
        OF_ISSUER, {"id": f"Issuer|{world.listed.pk}"}, **{"X-Token-Auth": key}
    )
    lines = LegacyShareholder.objects.filter(issuer=world.listed)
    assert total(answer, "issuer", "legacyShareholders") == lines.count() > 0
    # In a transaction under way the order counts, which others do not see yet.
    input = {
        "accountID": f"Account|{buyer.pk}", "tokenID": f"Token|{token.pk}",
        "side": "BUY", "quantity": 1, "limitPrice": 90, "timeInForce": "DAY",
    }  # fmt: skip
    placed = stranger(
        PLACED_AND_COUNTED,
        {"input": input},
        **{"X-Token-Auth": key, "Idempotency-Key": str(uuid.uuid4())},
    )
    assert total(placed, "placeOrder", "order", "account", "orders") == 2
    verified()


def test_a_key_is_told_how_many_events_it_sees(stranger: Ask):
    world = new_world()
    [account] = new_clients(1, world.partner)
    account.change_status("SUSPENDED", desk(), None)
    issuers = [world.listed, world.quiet]
    keys = {
        scope: approved_key(world.partner, [scope] if scope else [])[1]
        for scope in (None, Scope.ACCOUNTS_READ, Scope.SHAREHOLDERS_READ)
    }
    for issuer in issuers:
        if not IssuerGrant.objects.filter(partner=world.partner, issuer=issuer):
            approved_grant(world.partner, issuer)
        tell(world.partner, "LEGACY_SHARES_DELIVERED", issuer_id=issuer.pk)
        tell(world.partner, "TOKEN_PRICE_CHANGED", token_id=world.private_token.pk)
    with as_owner():
        IssuerGrant.objects.filter(partner=world.partner, issuer=world.quiet).delete()
    for key in keys.values():
        sent = {"X-Token-Auth": key}
        listed = stranger("{ events { nodes { type } } }", **sent).data["events"]
        types = [node["type"] for node in listed["nodes"]]
        assert total(stranger(TYPED, **sent), "events") == len(types)
        for each in {*types}:
            answer = stranger(TYPED, {"types": [each]}, **sent)
            assert total(answer, "events") == types.count(each)
    verified()


def tell(partner: Partner, type_: str, **about: Any) -> None:
    """An event as the database numbers one, past what it would tell of."""
    with as_owner(), transaction.atomic():
        head = EventHead.objects.select_for_update().get(partner=partner)
        head.last_sequence += 1
        head.last_at = timezone.now()
        head.save()
        Event.objects.create(
            partner=partner, sequence=head.last_sequence, type=type_,
            at=head.last_at, **about,
        )  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute(COUNT_EVENTS)


def test_what_was_pruned_is_not_counted():
    [account] = new_clients(1)
    partner = account.partner
    before = Event.objects.filter(partner=partner).count()
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("UPDATE issuers_event SET at = at - interval '40 days'")
        cursor.execute("SELECT events_prune(30, 1)")
    left = Event.objects.filter(partner=partner).count()
    assert left == before - 1
    counts = EventCount.objects.filter(partner=partner)
    assert sum(counts.values_list("number", flat=True)) == left
    verified()


class Abandoned(Exception):
    pass


def test_many_who_write_at_once_and_turn_back_are_counted_right():
    token, world = new_market(), new_world()
    sellers = new_clients(4, world.partner)
    give(token, dict.fromkeys(sellers, 1_000))
    clients = people(72)
    seeds = [random.Random(n) for n in range(6)]

    def write(number: int) -> None:
        chance = seeds[number]
        for turn in range(12):
            try:
                with transaction.atomic():
                    act(number, turn, chance)
                    if chance.random() < 0.3:
                        raise Abandoned
            except Abandoned:
                pass

    def act(number: int, turn: int, chance: random.Random) -> None:
        kind = chance.choice(["account", "line", "order", "remove"])
        if kind == "account":
            user = clients[number * 12 + turn]
            Account.objects.open(world.partner, user, desk(), timezone.now())
        elif kind == "line":
            for _ in range(chance.randint(1, 3)):
                LegacyShareholder.objects.create(
                    issuer=chance.choice([world.listed, world.quiet]),
                    user=clients[0], number_of_shares=1, price_cents=1,
                )  # fmt: skip
        elif kind == "order":
            seller = sellers[number % 4]
            place(token, sell(seller, 1, 100))
        else:
            pending = LegacyShareholder.objects.filter(status="PENDING")
            line = pending.order_by("?").first()
            if line is not None:
                with transaction.atomic():
                    LegacyShareholder.objects.filter(pk=line.pk).update(
                        issuer=world.quiet
                    )
                    LegacyShareholder.objects.filter(pk=line.pk).delete()

    assert in_threads(6, write) == []
    assert not TotalChange.objects.exists()
    verified()


def test_only_the_triggers_write_a_total():
    new_clients(1)
    for statement in (
        "UPDATE accounts_total SET number = 5",
        "DELETE FROM accounts_total",
        "INSERT INTO accounts_total (list, key, number)"
        " VALUES ('orders', gen_random_uuid(), 5)",
        "INSERT INTO accounts_totalchange (transaction, list, key, change)"
        " VALUES (1, 'orders', gen_random_uuid(), 5)",
        "UPDATE issuers_eventcount SET number = 5",
        "SELECT accounts_fold_totals()",
    ):
        with pytest.raises(Error), connection.cursor() as cursor:
            cursor.execute(statement)
    # Not even their owner writes one below nothing.
    with as_owner(), pytest.raises(IntegrityError):
        Total.objects.update(number=-1)


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE accounts_total SET number = number + 1 WHERE list = 'accounts'",
         "the total of accounts of a partner equals their number"),
        ("DELETE FROM accounts_total WHERE list = 'orders'",
         "the total of orders of a partner equals their number"),
        ("UPDATE accounts_total SET number = 9 WHERE list = 'accountOrders'",
         "the total of orders of an account equals their number"),
        ("UPDATE accounts_total SET number = 9 WHERE list = 'legacyShareholders'",
         "the total of legacy lines of an issuer equals their number"),
        ("DELETE FROM issuers_eventcount WHERE type = 'ORDER_ACCEPTED'",
         "the counts of partners' events equal their last numbers"),
    ],
)  # fmt: skip
def test_a_total_that_somebody_changed_is_found(statement: str, rule: str):
    world, token = new_world(), new_market()
    [seller] = new_clients(1, world.partner)
    give(token, {seller: 10})
    place(token, sell(seller, 1, 100))
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(statement)
    found = [
        finding.rule
        for verify in (verify_cash, verify_register, verify_market)
        for finding in verify()
        if finding.breaches
    ]
    assert found == [rule]


def test_what_was_there_before_is_counted_by_the_migrations():
    world, token = new_world(), new_market()
    [seller] = new_clients(1, world.partner)
    give(token, {seller: 10})
    place(token, sell(seller, 1, 100))
    with as_owner():
        Total.objects.update(number=7)
        Total.objects.filter(list="orders").delete()
        EventCount.objects.all().delete()
        # The migration knows no kind from after it that is counted for each token.
        later = Event.objects.filter(type=EventType.MARKET_PHASE_CHANGED)
        later.update(type=EventType.ARTICLE_PUBLISHED)
        for name in (
            "accounts.migrations.0033_counted_accounts",
            "issuers.migrations.0049_counted_rows",
            "marketdata.trading.migrations.0010_counted_orders",
        ):
            for operation in import_module(name).Migration.operations:
                operation.code(None, connection.schema_editor())
    verified()
    assert Order.objects.count() == 1
