"""Prices: many at once, some too high for the register."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.keys.models import Partner
from issuers.register import ledger
from issuers.register.errors import PriceNegative, UnknownToken, ValueOverflow
from issuers.register.ledger import Entry, Price
from issuers.register.models import TokenLedgerHead, TokenPrice
from tests.characters import World
from tests.issuers.register import people

TOO_HIGH = 2**23


@pytest.fixture
def token(world: World):
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    token = world.public_token.pk
    ledger.record([Entry(token, "MINT", 2**40, None, account)], "me")
    return token


def recorded(*tokens):
    rows = TokenPrice.objects.filter(token__in=tokens).order_by("token_id", "number")
    return list(rows.values_list("token_id", "number", "price_cents", "source"))


def test_a_refused_price_leaves_the_caller_its_transaction(token):
    ledger.set_price(token, 7, "NAV", "feed")
    with transaction.atomic():
        Partner.objects.create(login="sooner", name="What it writes before")
        with (
            CaptureQueriesContext(connection) as queries,
            pytest.raises(ValueOverflow),
        ):
            ledger.set_price(token, TOO_HIGH, "NAV", "feed")
        Partner.objects.create(login="later", name="What it writes afterwards")
        ledger.set_price(token, 8, "NAV", "feed")
    assert [query["sql"].split()[0] for query in queries] == [
        "SAVEPOINT", "SELECT", "RELEASE",
    ]  # fmt: skip
    assert Partner.objects.filter(login__in=["sooner", "later"]).count() == 2
    assert recorded(token) == [(token, 1, 7, "NAV"), (token, 2, 8, "NAV")]


def test_a_batch_keeps_every_price_that_the_rules_allow(world: World, token):
    other = world.private_token.pk
    results = ledger.set_prices(
        [
            Price(token, 7, "NAV"),
            Price(other, 9, "NAV"),
            Price(token, TOO_HIGH, "NAV"),
            Price(token, -1, "MANUAL"),
            Price(token, 6, "NAV"),
        ],
        "feed",
    )
    assert recorded(token) == [(token, 1, 7, "NAV"), (token, 2, 6, "NAV")]
    assert recorded(other) == [(other, 1, 9, "NAV")]
    assert [type(result) for result in results[2:4]] == [ValueOverflow, PriceNegative]
    first, elsewhere, last = results[0], results[1], results[4]
    assert [r[:2] for r in (first, elsewhere, last)] == [
        (token, 1),
        (other, 1),
        (token, 2),
    ]
    assert first.effective_at == last.effective_at
    assert TokenLedgerHead.objects.get(token=token).price_cents == 6


def test_many_prices_take_as_many_statements_as_one(world: World, token):
    tokens = [token, world.private_token.pk]
    ledger.set_prices([Price(one, 1, "NAV") for one in tokens], "feed")
    counts = []
    for number in (1, 500):
        with CaptureQueriesContext(connection) as queries:
            ledger.set_prices(
                [Price(tokens[n % 2], n, "NAV") for n in range(number)], "feed"
            )
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert TokenPrice.objects.count() == 503


def test_refused_prices_leave_a_new_token_open_to_its_history(world: World):
    token = world.public_token.pk
    assert ledger.set_prices([], "feed") == []
    with pytest.raises(PriceNegative):
        ledger.set_price(token, -1, "MANUAL", "me")
    with pytest.raises(UnknownToken):
        ledger.set_prices([Price(world.listed.pk, 1, "NAV")], "feed")
    assert not TokenLedgerHead.objects.get(token=token).is_open
    assert recorded(token) == []
