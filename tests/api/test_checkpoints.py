"""A partner finds what is wrong in its mirror, by digests of 16 groups at a time."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Token
from marketdata.trading.telling import tell_registers
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests import tiers
from tests.characters import Ask
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    placed,
    sell,
)
from tests.owner import tamper

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("one_person", "unlimited_budgets"),
]

MIRRORED = """query ($after: String) { accounts(first: 100, after: $after) {
  nodes { id status cash { balance reserved } holdings { balance token { id } }
    orders(first: 20, status: OPEN) { nodes {
      id side limitPrice quantity filledQuantity token { id } } } }
  pageInfo { endCursor hasNextPage } } }"""
QUESTION = """query ($prefix: String!) { viewer { checkpoint(prefix: $prefix) {
  sequence groups {
    prefix accounts account { id status } statuses cash orders holdings } } } }"""
DIGESTS = ("statuses", "cash", "orders", "holdings")
# Statements make these as the bank and staff would, in a minute for 100,000.
CROWD = (
    """INSERT INTO accounts_user (id, password, is_superuser, type, first_name,
        last_name, address, postal_code, city, is_active, is_staff, created_at)
    SELECT gen_random_uuid(), '!', FALSE, 'INDIVIDUAL', 'Crowd', n::text, '', '', '',
        TRUE, FALSE, '2020-01-01Z' FROM generate_series(1, {count}) n""",
    """INSERT INTO accounts_account (id, partner_id, user_id, status, changes,
        created_at, updated_at)
    SELECT gen_random_uuid(), '{partner}', id, 'ACTIVE', 0,
        '2020-01-01Z'::timestamptz + last_name::int * interval '1 s', '2024-01-01Z'
    FROM accounts_user WHERE first_name = 'Crowd'""",
    """INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
    SELECT a.number, 'CLIENT', a.id, cash_reference('1', a.number)
    FROM (SELECT id, nextval(pg_get_serial_sequence('accounts_cashaccount', 'id'))
        AS number FROM accounts_account WHERE created_at < '2024-01-01Z') a""",
    """INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number)
    SELECT k.id, 'CLIENT', k.id * 7, k.id, 0 FROM accounts_cashaccount k
    JOIN accounts_account a ON a.id = k.account_id
    WHERE a.created_at < '2024-01-01Z'""",
)
Row = dict[str, Any]


def line(**members: str) -> str:
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def lines_of(account: Row) -> Iterator[tuple[str, str]]:
    """The lines of an account as a mirror holds it, by digest."""
    id, cash = account["id"], account["cash"]
    yield "statuses", line(id=id, status=account["status"])
    amounts = {name: str(cash[name]) for name in ("balance", "reserved")}
    yield "cash", line(account=id, **amounts)
    for order in account["orders"]["nodes"]:
        said = {n: str(v) for n, v in order.items() if n != "token"}
        yield "orders", line(account=id, token=order["token"]["id"], **said)
    for held in account["holdings"]:
        units = str(held["balance"])
        yield "holdings", line(account=id, token=held["token"]["id"], units=units)


def digests_of(accounts: list[Row]) -> dict[str, str]:
    found: dict[str, list[str]] = {name: [] for name in DIGESTS}
    for account in accounts:
        for name, text in lines_of(account):
            found[name].append(text)
    return {
        name: hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
        for name, lines in found.items()
    }


def groups_of(mirror: dict[str, Row], prefix: str) -> dict[str, list[Row]]:
    """The mirror's accounts below a prefix, by the digit after it."""
    found: dict[str, list[Row]] = defaultdict(list)
    for id, account in mirror.items():
        digits = hashlib.sha256(id.encode()).hexdigest()
        if digits.startswith(prefix):
            found[digits[: len(prefix) + 1]].append(account)
    return found


def question(ask: Ask, prefix: str = "") -> Row:
    checkpoint = ask(QUESTION, {"prefix": prefix}).data["viewer"]["checkpoint"]
    assert [g["prefix"] for g in checkpoint["groups"]] == [
        f"{prefix}{digit:x}" for digit in range(16)
    ]
    return checkpoint


def find(ask: Ask, mirror: dict[str, Row]) -> tuple[set[str], int]:
    """The accounts that differ, and how many questions that took."""
    wrong: set[str] = set()
    waiting, asked = [""], 0
    while waiting:
        prefix = waiting.pop()
        own = groups_of(mirror, prefix)
        asked += 1
        for group in question(ask, prefix)["groups"]:
            accounts = own[group["prefix"]]
            if digests_of(accounts) == {name: group[name] for name in DIGESTS}:
                assert group["accounts"] == len(accounts)
            elif max(group["accounts"], len(accounts)) > 1:
                waiting.append(group["prefix"])
            else:
                wrong |= {account["id"] for account in accounts}
                wrong |= {group["account"]["id"]} if group["account"] else set()
    return wrong, asked


def mirror_of(ask: Ask) -> dict[str, Row]:
    mirror: dict[str, Row] = {}
    after, more = None, True
    while more:
        page = ask(MIRRORED, {"after": after}).data["accounts"]
        mirror |= {node["id"]: node for node in page["nodes"]}
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    return mirror


@pytest.fixture
def partner(db: None) -> Partner:
    return new_partner()


@pytest.fixture
def ask(partner: Partner) -> Ask:
    return Ask(approved_key(partner, sorted(Scope))[1])


@pytest.fixture
def token(partner: Partner) -> Token:
    token = new_market()
    approved_grant(partner, token.issuer)
    return token


@pytest.fixture
def clients(partner: Partner, token: Token) -> list[Account]:
    """Three with cash, orders and holdings, some without a grant, and a stranger."""
    seller, buyer, third = new_clients(3, partner)
    [stranger] = new_clients(1)
    other = new_market()
    give(token, {seller: 50, third: 7, stranger: 9})
    give(other, {seller: 5, stranger: 5})
    for account in (buyer, third):
        deposit(account, 100_000)
    placed(token, sell(seller, 10, 100))
    placed(token, buy(buyer, 15, 100))
    placed(token, buy(third, 3, 99))
    placed(token, sell(stranger, 2, 101))
    placed(other, sell(seller, 2, 100))
    tell_registers()
    as_committed()
    return [seller, buyer, third]


def amount_more(account: Row) -> None:
    account["cash"]["balance"] += 1


def reserved_less(account: Row) -> None:
    account["cash"]["reserved"] -= 1


def suspended(account: Row) -> None:
    account["status"] = "SUSPENDED"


def order_lost(account: Row) -> None:
    account["orders"]["nodes"].pop()


def order_filled(account: Row) -> None:
    account["orders"]["nodes"][0]["filledQuantity"] += 1


def price_of_before(account: Row) -> None:
    account["orders"]["nodes"][0]["limitPrice"] -= 1


def unit_more(account: Row) -> None:
    account["holdings"][0]["balance"] += 1


def holding_forgotten(account: Row) -> None:
    account["holdings"] = []


WRONG: list[Callable[[Row], None]] = [
    amount_more, reserved_less, suspended, order_lost, order_filled, price_of_before,
    unit_more, holding_forgotten,
]  # fmt: skip


def test_one_wrong_value_of_a_large_mirror_is_found_in_six_questions(
    ask: Ask, partner: Partner, clients: list[Account]
):
    count = tiers.count(2_000, 100_000)
    tamper(*(one.format(count=count, partner=partner.pk) for one in CROWD))
    mirror = mirror_of(ask)
    assert len(mirror) == count + len(clients)
    assert find(ask, mirror) == (set(), 1)
    busy = f"Account|{clients[1].pk}"
    for spoil in WRONG:
        before = json.dumps(mirror[busy])
        spoil(mirror[busy])
        wrong, asked = find(ask, mirror)
        assert wrong == {busy}, spoil
        assert asked <= 6
        mirror[busy] = json.loads(before)


def test_an_account_that_a_mirror_lacks_or_invents_is_found(
    ask: Ask, clients: list[Account]
):
    mirror = mirror_of(ask)
    lost = mirror.pop(f"Account|{clients[0].pk}")
    assert find(ask, mirror)[0] == {lost["id"]}
    invented = {**lost, "id": f"Account|{'0' * 8}-0000-7000-8000-{'0' * 12}"}
    mirror |= {lost["id"]: lost, invented["id"]: invented}
    assert find(ask, mirror)[0] == {invented["id"]}


def test_it_is_of_the_last_event_and_of_the_partner_s_own_accounts(
    ask: Ask, partner: Partner, clients: list[Account]
):
    newest = ask("{ events(last: 1) { nodes { sequence } } }").data["events"]
    checkpoint = question(ask)
    assert checkpoint["sequence"] == newest["nodes"][0]["sequence"]
    assert sum(group["accounts"] for group in checkpoint["groups"]) == len(clients)
    stranger = Ask(approved_key(new_partner(), sorted(Scope))[1])
    empty = digests_of([])
    for group in question(stranger)["groups"]:
        assert (group["accounts"], group["account"]) == (0, None)
        assert {name: group[name] for name in DIGESTS} == empty


def test_units_count_from_the_event_that_reports_them(
    ask: Ask, token: Token, clients: list[Account]
):
    """Other clients of the holder's sell and buy: only REGISTER_CHANGED says so."""
    seller, buyer, _ = clients
    told = mirror_of(ask)
    [elsewhere] = new_clients(1, users=[buyer.user])
    deposit(elsewhere, 100_000)
    placed(token, buy(elsewhere, 4, 101))
    as_committed()
    traded = mirror_of(ask)
    id = f"Account|{buyer.pk}"
    assert traded[id]["holdings"] != told[id]["holdings"]
    assert find(ask, told) == (set(), 1)
    assert find(ask, traded)[0] == {id}
    tell_registers()
    as_committed()
    assert find(ask, traded) == (set(), 1)
    # An entry that is no trade is reported at once, with all before it.
    placed(token, sell(seller, 1, 101))
    give(token, {seller: 1})
    as_committed()
    assert find(ask, mirror_of(ask)) == (set(), 1)


def test_each_digest_needs_the_scope_of_its_values(
    partner: Partner, clients: list[Account]
):
    narrow = Ask(approved_key(partner, [Scope.ACCOUNTS_READ])[1])
    text = "{ viewer { checkpoint { groups { %s } } } }"
    assert narrow(text % "statuses accounts").data
    for name in ("cash", "orders", "holdings"):
        answer = narrow(text % name)
        assert answer.code == "FORBIDDEN"
    assert (
        Ask(approved_key(partner, [Scope.ISSUERS_READ])[1])(text % "statuses").code
        == "FORBIDDEN"
    )


def test_a_prefix_that_is_null_is_none(ask: Ask):
    document = QUESTION.replace("String!", "String")
    assert ask(document, {"prefix": None}).data == ask(document, {}).data


@pytest.mark.parametrize("prefix", ["g", "A", "01234567", " ", "٣"])
def test_a_prefix_is_at_most_seven_digits(ask: Ask, prefix: str):
    answer = ask(QUESTION, {"prefix": prefix})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == "prefix"


def test_a_question_takes_one_statement_for_any_number_of_accounts(
    ask: Ask, partner: Partner, clients: list[Account]
):
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            question(ask)
        texts = [one["sql"] for one in queries]
        assert sum("chosen" in text for text in texts) == 1
        return len(texts)

    question(ask)
    few = statements()
    new_clients(20, partner)
    as_committed()
    assert statements() == few
