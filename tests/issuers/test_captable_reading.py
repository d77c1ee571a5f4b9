"""Holders at past instants, whichever way their balances are read."""

import random
from datetime import timedelta
from itertools import cycle

import pytest

from issuers.register import captable_reading, ledger
from issuers.register.captable import capitalization_tables
from issuers.register.captable_columns import TokenSummary
from issuers.register.captable_reading import Way, cheapest_way
from issuers.register.ledger import Entry, Price
from tests.characters import START
from tests.issuers.register import empty_token, new_issuer, people

MINUTE = timedelta(minutes=1)
PRICE = 7


@pytest.fixture
def registers(db):
    """Two issuers, the first with two tokens; each token's balances after each entry.

    The entries of all tokens take turns, one a minute.
    """
    random.seed(8)
    accounts = ledger.holder_accounts(user.pk for user in people(9))
    users = {account: str(user) for user, account in accounts.items()}
    first, second = new_issuer(), new_issuer()
    tokens = [
        empty_token(issuer, f"{symbol}{issuer.slug[:8]}".upper(), START).pk
        for issuer, symbol in ((first, "a"), (first, "b"), (second, "c"))
    ]
    own = {token: ledger.treasury(issuer) for token, issuer in
           zip(tokens, (first, first, second), strict=True)}  # fmt: skip
    standing = {token: {own[token]: 1000} for token in tokens}
    states = {token: [dict(standing[token])] for token in tokens}
    events = [
        event
        for token in tokens
        for event in (
            Price(token, PRICE, "ISSUE", at=START),
            Entry(token, "MINT", 1000, None, own[token], at=START),
        )
    ]
    for number in range(120):
        token = tokens[number % 3]
        source = random.choice([a for a, units in standing[token].items() if units])
        target = random.choice([a for a in users if a != source])
        units = random.choice([1, standing[token][source]])
        kind = "ALLOCATE" if source == own[token] else "TRANSFER"
        if kind == "ALLOCATE":
            units = min(units, 200)
        at = START + MINUTE * (number + 1)
        events.append(Entry(token, kind, units, source, target, at=at))
        standing[token][source] -= units
        standing[token][target] = standing[token].get(target, 0) + units
        for one in tokens:
            states[one].append(dict(standing[one]))
    ledger.write_history(tokens, events, "me")
    return {
        str(first.pk): [states[token] for token in tokens[:2]],
        str(second.pk): [states[tokens[2]]],
    }, users


def listed(table):
    return [
        (holder.user_id, [balance.balance for balance in holder.token_balances])
        for holder in table.holders
    ]


def expected(tokens, minute, users):
    held = {
        user: [units for state in tokens if (units := state[minute].get(account))]
        for account, user in users.items()
    }
    return sorted(
        ((user, units) for user, units in held.items() if units),
        key=lambda row: (-PRICE * sum(row[1]), row[0]),
    )


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("in_memory", [False, True])
def test_every_way_finds_who_held_what(registers, monkeypatch, way, in_memory):
    monkeypatch.setattr(captable_reading, "cheapest_way", lambda token: way)
    if in_memory:
        monkeypatch.setattr(captable_reading, "MANY", 0)
    states, users = registers
    for issuers in ([*states], [*states][:1], [*states][1:]):
        for minute in range(0, 121, 10):
            tables = capitalization_tables(issuers, START + MINUTE * minute, True)
            for issuer, table in zip(issuers, tables, strict=True):
                assert listed(table) == expected(states[issuer], minute, users)


def test_the_ways_mix_in_one_statement(registers, monkeypatch):
    states, users = registers
    issuers = [*states]
    ways = cycle(Way)
    monkeypatch.setattr(captable_reading, "cheapest_way", lambda token: next(ways))
    for minute in range(0, 121, 10):
        tables = capitalization_tables(issuers, START + MINUTE * minute, True)
        for issuer, table in zip(issuers, tables, strict=True):
            assert listed(table) == expected(states[issuer], minute, users)


@pytest.mark.parametrize(
    ("way", "holders", "seq", "last_holders", "last_seq"),
    [
        (Way.PRESENT, 50_000, 10_000_000, 50_000, 10_000_000),
        (Way.PRESENT, 1_000_000, 9_990_000, 1_000_000, 10_000_000),
        (Way.PRESENT, 50_000, 5_000_000, 50_000, 10_000_000),
        (Way.PRESENT, 3, 20, 3, 1_000),
        (Way.EVERY_POSTING, 1_000_000, 5_000_000, 1_000_000, 10_000_000),
        (Way.EVERY_POSTING, 50_000, 100_000, 50_000, 200_000),
        # What came after a token's first days costs them nothing.
        (Way.BEGINNING, 10, 10, 1_000_000, 10_000_000),
        (Way.BEGINNING, 1_000, 100_000, 1_000_000, 10_000_000),
    ],
)
def test_the_cheapest_way_is_taken(way, holders, seq, last_holders, last_seq):
    token = TokenSummary(
        "t", PRICE, 1, 1, holders, seq, last_seq=last_seq,
        last_holder_count=last_holders,
    )  # fmt: skip
    assert cheapest_way(token) is way
