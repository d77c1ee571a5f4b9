"""Entries, prices and reservations as functions of the owner write them."""

import re
from typing import Any

import pytest
from django.db import Error, connection, transaction
from django.test.utils import CaptureQueriesContext

from issuers.models import Token
from issuers.register import ledger
from issuers.register.errors import InsufficientBalance
from issuers.register.ledger import Entry, Kind
from issuers.register.models import (
    HolderBalance,
    LedgerTransaction,
    TokenLedgerHead,
    TokenPrice,
)
from issuers.register.verification import verify
from tests.characters import World
from tests.issuers.test_tampering import Register
from tests.owner import tamper


@pytest.fixture
def register(world: World) -> Register:
    return Register(world)


def post(
    token: Any,
    *entries: tuple[Any, ...],
    prices: tuple[int, ...] = (),
    held: tuple[tuple[int, int], ...] = (),
    at: str = "clock_timestamp()",
) -> None:
    """Entries: kind, source, target, units and what they reverse."""
    count = len(entries)
    columns: list[list[Any]] = [list(c) for c in zip(*entries, strict=True)] or [[]] * 5
    kinds, sources, targets, amounts, reverses = columns
    tamper(
        f"SELECT register_post({at}, {array([token] * count, 'uuid')},"
        f" {array(kinds, 'text')}, {array(sources, 'bigint')},"
        f" {array(targets, 'bigint')}, {array(amounts, 'numeric')},"
        f" {array([''] * count, 'text')}, {array(['me'] * count, 'text')},"
        f" {array([None] * count, 'uuid')}, {array(reverses, 'bigint')},"
        f" {array([token] * len(prices), 'uuid')}, {array(prices, 'bigint')},"
        f" {array(['NAV'] * len(prices), 'text')},"
        f" {array(['me'] * len(prices), 'text')},"
        f" {array([token] * len(held), 'uuid')},"
        f" {array([account for account, _ in held], 'bigint')},"
        f" {array([units for _, units in held], 'numeric')})",
        guarded=True,
    )


def enter(entry: Entry) -> None:
    """Enter by the writer of its kind; that of trades judges no order here."""
    if entry.kind == Kind.TRADE:
        post(
            entry.token_id,
            (entry.kind, entry.source, entry.target, entry.amount, None),
        )
    else:
        ledger.record([entry], "me")


def array(values: Any, kind: str) -> str:
    said = ["NULL" if value is None else f"'{value}'" for value in values]
    return f"ARRAY[{', '.join(said)}]::{kind}[]"


def test_a_call_writes_what_follows(register: Register):
    a, b, own, token = register.a, register.b, register.own, register.token
    post(
        token,
        ("TRANSFER", a, b, 300, None),
        ("TRANSFER", b, a, 20, None),
        ("MINT", None, own, 7, None),
        ("BURN", b, None, 480, None),
        ("ALLOCATE", own, b, 1, None),
        prices=(13, 14),
        held=((a, 5), (b, 1), (a, -4)),
    )
    head = TokenLedgerHead.objects.get(token=token)
    assert (head.last_seq, head.last_price, head.price_cents) == (8, 3, 14)
    assert (head.supply, head.held, head.holder_count) == (1027, 21, 2)
    found = HolderBalance.objects.filter(account__in=[a, b]).order_by("account")
    assert {row.account_id: (row.balance, row.reserved) for row in found} == {
        a: (20, 1),
        b: (1, 1),
    }
    assert TokenPrice.objects.filter(token=token).count() == 3
    assert [finding.rule for finding in verify() if finding.breaches] == []


def test_what_is_allowed_is_one_call_and_what_is_refused_is_named(register: Register):
    tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
    entry = Entry(register.token, Kind.TRANSFER, 300, register.a, register.b)
    with CaptureQueriesContext(connection) as captured:
        ledger.record([entry], "me")
    said = " ".join(each["sql"] or "" for each in captured)
    assert re.findall(r"\bregister_\w+", said) == ["register_write"]
    with pytest.raises(InsufficientBalance):
        ledger.record([entry], "me")


def test_units_are_reserved_alone(register: Register):
    post(register.token, held=((register.a, 300),))
    refused(register, saying="reserved_within_balance", held=((register.a, 1),))
    refused(register, saying="of a holder who has some", held=((10**9, 1),))
    refused(
        register,
        ("TRANSFER", register.a, register.b, 1, None),
        saying="reserved_within_balance",
    )


def refused(register: Register, *entries: Any, saying: str, **others: Any) -> None:
    before = register.state()
    with pytest.raises(Error, match=saying), transaction.atomic():
        post(register.token, *entries, **others)
    assert register.state() == before


def test_an_entry_that_breaks_a_rule_is_refused(register: Register, world: World):
    a, b, own = register.a, register.b, register.own
    other = ledger.treasury(world.quiet)
    move = "between accounts of its kind"
    for entry, saying in (
        (("TRANSFER", a, b, 301, None), "is_not_negative"),
        (("TRANSFER", a, b, 0, None), "is_positive"),
        (("TRANSFER", a, a, 1, None), "come_or_go"),
        (("TRANSFER", a, None, 1, None), move),
        (("TRANSFER", a, own, 1, None), move),
        (("MINT", a, b, 1, None), move),
        (("BURN", a, b, 1, None), move),
        (("RETURN", a, b, 1, None), move),
        (("ALLOCATE", a, b, 1, None), move),
        (("GIFT", a, b, 1, None), move),
        (("MINT", None, None, 1, None), "units come or go"),
        (("RETURN", a, other, 1, None), "of the token's issuer"),
        (("TRANSFER", a, 10**9, 1, None), "no such ledger account"),
        (("REVERSAL", a, own, 299, 2), "moves back all"),
        (("REVERSAL", a, own, 300, 3), "moves back all"),
        (("MINT", None, own, 2**64, None), "within_uint64"),
    ):
        refused(register, entry, saying=saying)
    post(register.token, ("REVERSAL", a, own, 300, 2))
    Token.objects.filter(pk=register.token).update(authorized_units=1500)
    refused(register, ("MINT", None, own, 1, None), saying="are authorized")


def test_a_time_is_of_the_transaction(register: Register):
    a, b = register.a, register.b
    for at in (
        "clock_timestamp() + interval '1 s'",
        "transaction_timestamp() - interval '1 us'",
        "NULL",
    ):
        refused(
            register, ("TRANSFER", a, b, 1, None), saying="of this transaction", at=at
        )
    tamper("UPDATE issuers_tokenledgerhead SET last_price_at = now() + interval '1 h'")
    refused(register, ("TRANSFER", a, b, 1, None), saying="before the last one")
    refused(register, saying="before the last one", prices=(5,))


def test_a_restriction_and_a_reservation_bind(register: Register):
    a, b = register.a, register.b
    tamper(
        "INSERT INTO issuers_restriction (id, kind, units, token_id, ledger_account_id,"
        " beneficiary, reason, created_by) VALUES (gen_random_uuid(), 'LOCK_UP', 200,"
        f" '{register.token}', {a}, '', 'x', 'me')"
    )
    post(register.token, ("TRANSFER", a, b, 50, None), held=((a, 40),))
    refused(register, ("TRANSFER", a, b, 11, None), saying="open orders|UNITS_RESERVED")
    refused(register, ("TRANSFER", a, b, 51, None), saying="UNITS_LOCKED")
    post(register.token, ("TRANSFER", a, b, 50, None), held=((a, -40),))
    assert LedgerTransaction.objects.filter(token=register.token).count() == 5
