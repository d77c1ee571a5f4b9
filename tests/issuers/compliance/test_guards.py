"""Rules and restrictions against the application's role, and under concurrency."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import Error, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.investors import writer as investors
from accounts.people.models import Country
from issuers.compliance import judge, restrictions, rules
from issuers.compliance.models import Restriction, TokenRule
from issuers.compliance.restrictions import Terms
from issuers.models import Token
from issuers.register import ledger, writer
from issuers.register.ledger import Entry, Kind
from issuers.register.models import LedgerTransaction
from issuers.register.verification import verify
from partnerapi.core.database import fetch
from partnerapi.sandbox.data.approvals import ASKER, DECIDER, colleague
from tests.approved import approved_lifting, approved_record, approved_rule
from tests.characters import World
from tests.issuers.register import empty_token, new_issuer, people
from tests.issuers.test_post import enter
from tests.owner import as_committed, tamper
from tests.threads import in_threads

FREEZES = 15


class Listed:
    """A token of which two holders have 100 units each, and a third has none."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self.users = people(3)
        accounts = ledger.holder_accounts(user.pk for user in self.users)
        self.a, self.b, self.c = (accounts[user.pk] for user in self.users)
        approved_record(
            [Entry(token.pk, Kind.MINT, 100, None, x) for x in (self.a, self.b)], "me"
        )
        colleague(ASKER)

    def transfer(self, amount: int = 10, kind: str = Kind.TRANSFER) -> Entry:
        return Entry(self.token.pk, kind, amount, self.a, self.b)


@pytest.fixture
def alone(db: None) -> Iterator[None]:
    """A transfer needs no second person."""
    policy = (
        "UPDATE accounts_approvalpolicy SET is_required = {} WHERE kind = 'TRANSFER'"
    )
    tamper(policy.format("FALSE"))
    yield
    tamper(policy.format("TRUE"))


@pytest.fixture
def listed(world: World, alone: None) -> Listed:
    found = Listed(world.public_token)
    tamper("UPDATE issuers_issuer SET recorded_in = NULL")
    as_committed()
    return found


def refuses(statement: str, parameters: Any = None, *, saying: str = ".") -> None:
    with pytest.raises(Error, match=saying), transaction.atomic():
        execute(statement, parameters)


def execute(statement: str, parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
    connection.check_constraints()


@pytest.mark.parametrize(
    ("statement", "saying"),
    [
        ("UPDATE issuers_holderbalance SET reserved = 1", "permission denied"),
        ("DELETE FROM issuers_restriction", "permission denied"),
        ("DELETE FROM issuers_tokenrule", "permission denied"),
        ("TRUNCATE issuers_approvedholder", "permission denied"),
        ("UPDATE issuers_restriction SET units = 1", "permission denied"),
        ("UPDATE issuers_restriction SET until = now()", "permission denied"),
        ("UPDATE issuers_restriction SET ended_by = 'me'", "permission denied"),
        ("UPDATE issuers_tokenrule SET parameters = '{}'", "permission denied"),
        ("UPDATE issuers_tokenrule SET ended_by = 'me'", "permission denied"),
        ("UPDATE accounts_investorprofile SET verification = 'VERIFIED'",
            "permission denied"),
        ("UPDATE accounts_investorchange SET evidence = 'x'", "permission denied"),
        ("UPDATE accounts_investorattestation SET evidence = 'x'",
            "permission denied"),
    ],
)  # fmt: skip
def test_what_binds_is_not_loosened_by_sql(listed: Listed, statement: str, saying: str):
    restrictions.restrict(listed.users[0], Terms("FREEZE", "a court"), ASKER)
    approved_rule(listed.token, "MAX_HOLDERS", {"holders": 2})
    as_committed()
    refuses(statement, saying=saying)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("TRANSFERS_PAUSED", {"from": 1}),
        ("COUNTRIES", {}),
        ("COUNTRIES", {"allowed": []}),
        ("COUNTRIES", {"allowed": ["fr"]}),
        ("COUNTRIES", {"allowed": ["FR"], "refused": ["US"]}),
        ("INVESTOR_CLASSES", {"classes": ["RICH"]}),
        ("INVESTOR_CLASSES", {"classes": "RETAIL"}),
        ("MAX_HOLDERS", {"holders": 0}),
        ("MAX_HOLDERS", {"holders": 2.5}),
        ("MAX_HOLDERS", {"units": 5}),
        ("MAX_BALANCE", {"units": 2**64}),
        ("MAX_BALANCE", {"bps": 10_001}),
        ("SOMETHING", {}),
    ],
)
def test_a_rule_has_parameters_of_its_kind(
    listed: Listed, kind: str, parameters: dict[str, Any]
):
    with pytest.raises(rules.RuleRefused, match="not parameters of"):
        rules.set_rule(listed.token, kind, parameters, "why", ASKER)


def test_a_rule_needs_two_people_and_names_them(listed: Listed):
    with (
        pytest.raises(IntegrityError, match="needs an approval"),
        transaction.atomic(),
    ):
        rules.set_rule(listed.token, "VERIFIED_HOLDERS", {}, "why", ASKER)
    made = approved_rule(listed.token, "VERIFIED_HOLDERS", {})
    assert made is not None
    assert (made.created_by, made.approved_by) == (ASKER, DECIDER)


def test_a_rule_is_changed_and_ended(listed: Listed):
    first = approved_rule(listed.token, "MAX_BALANCE", {"units": 105})
    second = approved_rule(listed.token, "MAX_BALANCE", {"units": 120})
    as_committed()
    assert second is not None
    assert second.replaces == first
    assert TokenRule.objects.filter(ended_at=None).get() == second
    with pytest.raises(judge.TransferRefused, match="MAX_BALANCE_EXCEEDED"):
        ledger.record([listed.transfer(21)], "me")
    ledger.record([listed.transfer(20)], "me")
    approved_rule(listed.token, "MAX_BALANCE", None)
    ledger.record([listed.transfer(30)], "me")
    with pytest.raises(rules.RuleRefused, match="no rule MAX_BALANCE"):
        rules.rule_content(listed.token, "MAX_BALANCE", None, "why")


def test_a_freeze_is_lifted_by_two_people(listed: Listed):
    frozen = restrictions.restrict(listed.users[0], Terms("FREEZE", "a court"), ASKER)
    with pytest.raises(judge.TransferRefused, match="SENDER_FROZEN"):
        ledger.record([listed.transfer()], "me")
    approved_lifting(frozen)
    as_committed()
    assert frozen.ended_at is not None
    ledger.record([listed.transfer()], "me")


@pytest.mark.parametrize("kind", [Kind.TRANSFER, Kind.TRADE])
def test_sql_moves_no_units_that_a_rule_holds(
    listed: Listed, monkeypatch: pytest.MonkeyPatch, kind: str
):
    terms = Terms("PLEDGE", "a loan", listed.token, 60, None, "a bank")
    restrictions.restrict(listed.users[0], terms, ASKER)
    monkeypatch.setattr(writer, "refusals", lambda *arguments: [])
    with (
        pytest.raises(IntegrityError, match='UNITS_LOCKED .*"available": 40'),
        transaction.atomic(),
    ):
        enter(listed.transfer(41, kind))
    enter(listed.transfer(40, kind))


def test_reserved_units_stay_whoever_moves_them(
    listed: Listed, monkeypatch: pytest.MonkeyPatch
):
    reserve = (
        f"UPDATE issuers_holderbalance SET reserved = reserved + {{}}"
        f" WHERE token_id = '{listed.token.pk}' AND account_id = {listed.a}"
    )
    tamper(reserve.format(70), guarded=True)
    with pytest.raises(judge.TransferRefused, match="UNITS_RESERVED"):
        ledger.record([listed.transfer(31)], "me")
    monkeypatch.setattr(writer, "refusals", lambda *arguments: [])
    with (
        pytest.raises(IntegrityError, match="reserved_within_balance"),
        transaction.atomic(),
    ):
        ledger.record([listed.transfer(31)], "me")
    # Locked and reserved units are not the same ones.
    terms = Terms("LOCK_UP", "founders", listed.token, 20)
    restrictions.restrict(listed.users[0], terms, ASKER)
    with pytest.raises(IntegrityError, match="UNITS_RESERVED"), transaction.atomic():
        ledger.record([listed.transfer(11)], "me")
    ledger.record([listed.transfer(10)], "me")
    for units in (31, -71):
        with pytest.raises(Error), transaction.atomic():
            tamper(reserve.format(units), guarded=True)


def test_a_full_company_trades_between_its_holders(listed: Listed):
    approved_rule(listed.token, "MAX_HOLDERS", {"holders": 1})
    as_committed()
    token, a, b, c = listed.token.pk, listed.a, listed.b, listed.c
    ledger.record([Entry(token, Kind.TRANSFER, 10, a, b)], "me")
    with pytest.raises(judge.TransferRefused, match="MAX_HOLDERS_EXCEEDED"):
        ledger.record([Entry(token, Kind.TRANSFER, 10, a, c)], "me")
    # A holder who sells everything makes room; judged entry by entry.
    ledger.record([Entry(token, Kind.TRANSFER, 90, a, c)], "me")
    both = [Entry(token, Kind.TRANSFER, 90, c, a), Entry(token, Kind.TRANSFER, 1, a, c)]
    with pytest.raises(judge.TransferRefused, match="MAX_HOLDERS_EXCEEDED"):
        ledger.record(both, "me")


def test_limits_tell_what_the_market_may_fill(listed: Listed):
    approved_rule(listed.token, "MAX_HOLDERS", {"holders": 2})
    approved_rule(listed.token, "MAX_BALANCE", {"units": 150})
    restrictions.restrict(
        listed.users[0], Terms("LOCK_UP", "founders", listed.token, 30), ASKER
    )
    accounts = [listed.a, listed.b, listed.c]
    found = judge.limits(listed.token.pk, accounts, timezone.now())
    a, b, c = (found[account] for account in accounts)
    assert (a.may_send, a.may_receive, a.locked, a.places) == (70, 50, 30, 0)
    assert (b.may_send, b.may_receive) == (100, 50)
    assert c.may_receive == 0
    assert [refusal.code for refusal in c.receiving] == [
        "MAX_HOLDERS_EXCEEDED",
        "MAX_BALANCE_EXCEEDED",
    ]
    approved_rule(listed.token, "TRANSFERS_PAUSED", {})
    found = judge.limits(listed.token.pk, accounts, timezone.now())
    assert {(each.may_send, each.may_receive) for each in found.values()} == {(0, 0)}


def test_a_preview_names_holders_who_would_not_pass(listed: Listed):
    france = Country.objects.get(code="FR")
    facts = investors.Facts("VERIFIED", None, france, "RETAIL")
    investors.decide(listed.users[0], facts, ASKER)
    for kind, parameters, expected in (
        ("VERIFIED_HOLDERS", {}, [listed.users[1]]),
        ("COUNTRIES", {"refused": ["FR"]}, listed.users[:2]),
        ("MAX_BALANCE", {"units": 99}, listed.users[:2]),
        ("MAX_HOLDERS", {"holders": 1}, []),
    ):
        refused = rules.refused_by(listed.token, kind, parameters)
        assert sorted(u.pk for u in refused.some) == sorted(u.pk for u in expected)
    assert not TokenRule.objects.exists()


def test_what_binds_nobody_costs_no_statement(listed: Listed):
    counts = []
    for is_bound in (False, True):
        if is_bound:
            approved_rule(listed.token, "VERIFIED_HOLDERS", {})
            approved_rule(listed.token, "VERIFIED_HOLDERS", None)
            approved_rule(listed.token, "MAX_HOLDERS", {"holders": 5})
            as_committed()
        with CaptureQueriesContext(connection) as captured:
            ledger.record([listed.transfer(1) for _ in range(10)], "me")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_what_got_past_the_judge_is_found(listed: Listed):
    def found() -> list[str]:
        return [finding.rule for finding in verify() if finding.breaches]

    approved_rule(listed.token, "MAX_BALANCE", {"units": 150})
    ledger.record([listed.transfer(10)], "me")
    facts = investors.Facts("VERIFIED", None, None, "RETAIL")
    investors.decide(listed.users[0], facts, ASKER)
    assert found() == []
    tamper("UPDATE accounts_investorprofile SET verification = 'REFUSED'")
    frozen = restrictions.restrict(listed.users[0], Terms("FREEZE", "a court"), ASKER)
    tamper(
        "UPDATE issuers_restriction SET created_at = created_at - interval '1 hour'"
        f" WHERE id = '{frozen.pk}'"
    )
    assert found() == [
        "no entry broke a rule of its time",
        "each investor profile agrees with its history",
    ]


def test_an_entry_that_broke_a_rule_is_told_for_good(listed: Listed):
    def judged() -> tuple[int, int]:
        """How many entries a verification judges, and how many broke a rule."""
        [found] = [f for f in verify() if f.rule == "no entry broke a rule of its time"]
        return found.figure, found.breaches

    ledger.record([listed.transfer(1)], "me")
    frozen = restrictions.restrict(listed.users[0], Terms("FREEZE", "a court"), ASKER)
    older = (
        "UPDATE issuers_{0} SET {1} = {1} - interval '50 hours' WHERE {1} IS NOT NULL"
    )
    assert judged() == (3, 0)
    tamper(
        "UPDATE issuers_restriction SET created_at = created_at - interval '1 hour'",
        older.format("ledgertransaction", "recorded_at"),
    )
    # The first entry gave the holder the units.
    assert judged() == (0, 2)
    tamper(f"DELETE FROM issuers_restriction WHERE id = '{frozen.pk}'")
    ledger.record([listed.transfer(1)], "me")
    assert judged() == (1, 2)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("alone")
def test_nothing_of_a_holder_is_written_after_its_freeze():
    listed = Listed(empty_token(new_issuer(), "FRZ", timezone.now()))
    token, a, b = listed.token.pk, listed.a, listed.b
    done, moved = threading.Event(), [0, 0, 0]

    def move(number: int) -> None:
        while not done.is_set():
            try:
                source, target = (a, b) if number % 2 else (b, a)
                ledger.record([Entry(token, Kind.TRANSFER, 1, source, target)], "me")
                moved[number] += 1
            except judge.TransferRefused:
                pass

    def freeze(number: int) -> None:
        try:
            for _ in range(FREEZES):
                frozen = restrictions.restrict(
                    listed.users[0], Terms("FREEZE", "a court"), ASKER
                )
                seen = LedgerTransaction.objects.filter(token=token).count()
                # What was in flight has waited, and was refused.
                approved_transfer_is_refused(token, a, b)
                assert LedgerTransaction.objects.filter(token=token).count() == seen
                approved_lifting(frozen)
        finally:
            done.set()

    errors = in_threads(4, lambda number: (freeze if number == 3 else move)(number))
    assert errors == []
    assert min(moved) > 0
    assert fetch(IN_A_FREEZE, [], tuple) == [(0,)]
    assert Restriction.objects.count() == FREEZES
    assert [finding.rule for finding in verify() if finding.breaches] == []


def approved_transfer_is_refused(token: Any, source: int, target: int) -> None:
    with pytest.raises(judge.TransferRefused, match="SENDER_FROZEN"):
        ledger.record([Entry(token, Kind.TRANSFER, 1, source, target)], "me")


IN_A_FREEZE = """
    SELECT count(*) FROM issuers_ledgertransaction t
    JOIN issuers_restriction r ON r.ledger_account_id IN (t.source_id, t.target_id)
        AND t.effective_at >= r.created_at
        AND (t.effective_at < r.ended_at OR r.ended_at IS NULL)
"""
