"""Accounts against a dictionary, by every author; races; other partners' ids."""

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from accounts.access import Scope
from accounts.accounts.models import (
    Account,
    AccountStatus,
    AccountStatusChange,
    Actor,
    InvalidStatusTransition,
)
from accounts.cash.models import CashAccount, CashHead
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import ASKER, approved_key
from tests.approved import desk
from tests.characters import START, Ask, World
from tests.owner import as_owner, remove_approvals, remove_keys
from tests.tiers import count
from tests.waiting import until_waiting_for_a_lock

STATUSES = ["PENDING", "ACTIVE", "SUSPENDED", "CLOSED", "REJECTED"]
# From the reference, word for word and apart from the code's own table.
STAFF_MAY = {
    ("PENDING", "ACTIVE"),
    ("PENDING", "REJECTED"),
    ("ACTIVE", "SUSPENDED"),
    ("SUSPENDED", "ACTIVE"),
}
CLOSE = {("ACTIVE", "CLOSED"), ("SUSPENDED", "CLOSED")}
PARTNER_MAY = {("ACTIVE", "SUSPENDED"), ("SUSPENDED", "ACTIVE")} | CLOSE
MAY = {"partner": PARTNER_MAY, "staff": STAFF_MAY, "two of staff": STAFF_MAY | CLOSE}
ACTORS = {
    "partner": Actor("broker_one", is_staff=False),
    "staff": Actor(ASKER, is_staff=True),
    "two of staff": Actor(ASKER, True, "ben@staff.example"),
}
CHANGE = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) {
    previousStatus
    account { status statusReason statusHistory(first: 100) { totalCount } }
  }
}
"""
NODES = "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Account { status } } }"
NODE = "query ($id: ID!) { node(id: $id) { id } }"
ACCOUNT = "query ($id: String!) { account(id: $id) { id status } }"
# Ids of another partner's accounts, and how many of them are asked one by one.
IDS = int(os.environ.get("ACCOUNT_IDS", "100"))


def make_user(number: int = 0) -> User:
    return User(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name=f"Lund {number}"
    )


def open_account(partner: Partner, status: str = "PENDING") -> Account:
    user = make_user()
    user.save()
    account = Account.objects.open(partner, user, desk(), START)
    if status != "PENDING":
        account.change_status(status, desk(), None)
    return account


class Accounts(RuleBasedStateMachine):
    """Three accounts, changed by their partner, by staff and by an operator at once.

    `model` maps an account to its history: (status before, status, reason, actor).
    """

    ask: Ask
    partner: Partner

    @initialize()
    def open_accounts(self) -> None:
        self.accounts = [open_account(self.partner) for _ in range(3)]
        # As someone read them who has not looked since.
        self.stale = [Account.objects.get(pk=a.pk) for a in self.accounts]
        first: Any = (None, "PENDING", None, ASKER)
        self.model = {account.pk: [first] for account in self.accounts}
        self.sent: list[tuple[str, dict[str, Any], Any]] = []

    def expect(self, number: int, who: str, status: str, reason: str | None) -> Any:
        """What the status was, and whether the move is refused; noted if it is not."""
        history = self.model[self.accounts[number].pk]
        before = history[-1][1]
        legal = (before, status) in MAY[who]
        if legal:
            history.append((before, status, reason, ACTORS[who].name))
        return before, not legal and before != status

    numbers = st.integers(0, 2)
    statuses = st.sampled_from(STATUSES)
    reasons = st.none() | st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9
    )

    @rule(number=numbers, status=statuses, reason=reasons)
    def partner_asks(self, number: int, status: str, reason: str | None) -> None:
        account = self.accounts[number]
        before, refused = self.expect(number, "partner", status, reason)
        values = {
            "accountID": f"Account|{account.pk}",
            "status": status,
            "reason": reason,
        }
        key = str(uuid.uuid4())
        answer = self.ask(CHANGE, {"input": values}, **{"Idempotency-Key": key})
        self.sent.append((key, values, answer.body))
        if refused:
            allowed = {after for b, after in PARTNER_MAY if b == before}
            assert answer.code == "INVALID_STATUS_TRANSITION"
            assert set(answer.errors[0]["extensions"]["allowedStatuses"]) == allowed
            assert answer.body["data"] == {"updateAccountStatus": None}
            return
        history = self.model[account.pk]
        assert answer.data["updateAccountStatus"] == {
            "previousStatus": before,
            "account": {
                "status": status,
                "statusReason": history[-1][2],
                "statusHistory": {"totalCount": len(history)},
            },
        }

    @rule(data=st.data())
    def partner_asks_again(self, data: st.DataObject) -> None:
        if self.sent:
            key, values, body = data.draw(st.sampled_from(self.sent))
            again = self.ask(CHANGE, {"input": values}, **{"Idempotency-Key": key})
            assert again.body == body
            assert again.headers["Idempotent-Replayed"] == "true"

    @rule(
        number=numbers,
        status=statuses,
        reason=reasons,
        who=st.sampled_from(["staff", "two of staff"]),
        stale=st.booleans(),
    )
    def staff_change(
        self, number: int, status: str, reason: str | None, who: str, stale: bool
    ) -> None:
        account = (self.stale if stale else self.accounts)[number]
        before, refused = self.expect(number, who, status, reason)
        if refused:
            with pytest.raises(InvalidStatusTransition) as raised:
                account.change_status(status, ACTORS[who], reason)
            allowed = {after for b, after in MAY[who] if b == before}
            assert set(raised.value.details["allowedStatuses"]) == allowed
        else:
            previous = account.change_status(status, ACTORS[who], reason)
            assert previous == before
            assert account.status == status

    @rule(
        number=numbers,
        status=statuses,
        reason=reasons.filter(lambda text: text is None or text.strip()),
        dry_run=st.booleans(),
    )
    def operator_commands(
        self, number: int, status: str, reason: str | None, dry_run: bool
    ) -> None:
        account, who = self.accounts[number], "staff"
        command = [str(account.pk), status, f"--staff={ACTORS[who].name}"]
        command += [f"--reason={reason}"] * (reason is not None)
        command += ["--dry-run"] * dry_run
        history = self.model[account.pk].copy()
        _, refused = self.expect(number, who, status, reason and reason.strip())
        if dry_run:
            self.model[account.pk] = history
        with pytest.raises(CommandError) if refused else nullcontext():
            call_command("account", "status", *command, stdout=StringIO())

    @invariant()
    def database_holds_what_the_dictionary_does(self) -> None:
        found: dict[Any, list[Any]] = {pk: [] for pk in self.model}
        entries = AccountStatusChange.objects.filter(account__in=self.accounts)
        for e in entries.order_by("account", "number"):
            history = found[e.account_id]
            history.append((e.previous_status, e.status, e.reason, e.actor))
            assert e.number == len(history)
        assert found == self.model
        for account in Account.objects.filter(pk__in=self.model):
            history = self.model[account.pk]
            assert account.changes == len(history)
            assert (account.status, account.status_reason) == history[-1][1:3]


@pytest.mark.usefixtures("one_person")
def test_statuses_are_those_of_a_dictionary(
    world: World, partner: Ask, unlimited_budgets: None
):
    Accounts.ask, Accounts.partner = partner, world.partner
    for name in ("ana", "ben"):
        User.objects.create(
            type=User.Type.INDIVIDUAL,
            first_name=name,
            last_name="Staff",
            email=f"{name}@staff.example",
            is_staff=True,
        )
    run_state_machine_as_test(
        Accounts,
        settings=hypothesis_settings(
            max_examples=count(3, 10), stateful_step_count=30, deadline=None
        ),
    )


@pytest.fixture
def committed(
    patient_locks: None, keeps_rows: None, transactional_db: None
) -> Iterator[Partner]:
    """A partner that other threads see, removed with all it has come to own."""
    partner = Partner.objects.create(login="broker_one", name="Broker One")
    yield partner
    users = list(partner.accounts.values_list("user", flat=True))
    with as_owner():
        IdempotencyRecord.objects.filter(partner=partner).delete()
        AccountStatusChange.objects.filter(account__partner=partner).delete()
        for model in (CashHead, CashAccount):
            model.objects.exclude(kind__in=["BANK", "FEES", "SUSPENSE"]).delete()
        partner.accounts.all().delete()
        remove_keys(partner)
        partner.delete()
        User.objects.filter(pk__in=users).delete()
        remove_approvals()


def in_thread(work: Any) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("CLOSED", "SUSPENDED", []),
        ("SUSPENDED", "CLOSED", "SUSPENDED"),
        ("SUSPENDED", "SUSPENDED", "SUSPENDED"),
    ],
)
def test_of_two_that_saw_active_the_later_sees_what_the_earlier_did(
    first: str, second: str, outcome: Any, committed: Partner
):
    account = open_account(committed, "ACTIVE")
    mine, theirs = (Account.objects.get(pk=account.pk) for _ in range(2))
    assert mine.status == theirs.status == "ACTIVE"
    found: list[Any] = []

    def change_theirs() -> None:
        try:
            found.append(theirs.change_status(second, ACTORS["partner"], "b"))
        except InvalidStatusTransition as error:
            found.append(error.details["allowedStatuses"])

    with transaction.atomic():
        assert mine.change_status(first, ACTORS["partner"], "a") == "ACTIVE"
        thread = in_thread(change_theirs)
        until_waiting_for_a_lock()
        assert found == []
    thread.join()
    assert found == [outcome]
    moves = [(e.previous_status, e.status) for e in account.history.all()]
    expected = [(None, "PENDING"), ("PENDING", "ACTIVE"), ("ACTIVE", first)]
    if (first, second) == ("SUSPENDED", "CLOSED"):
        expected.append(("SUSPENDED", "CLOSED"))
    assert moves == expected


def test_many_at_once_make_one_history(committed: Partner, unlimited_budgets: None):
    account = open_account(committed, "ACTIVE")
    ask = Ask(approved_key(committed, list(Scope))[1])
    moved: list[tuple[str, str, str]] = []

    def by_api(name: str) -> None:
        for number in range(20):
            status = ["SUSPENDED", "ACTIVE"][number % 2]
            values = {"accountID": f"Account|{account.pk}", "status": status}
            key = {"Idempotency-Key": str(uuid.uuid4())}
            reason = {"reason": f"{name}{number}"}
            answer = ask(CHANGE, {"input": values | reason}, **key)
            previous = answer.data["updateAccountStatus"]["previousStatus"]
            moved.append((previous, status, f"{name}{number}"))

    def by_staff(name: str) -> None:
        mine = Account.objects.get(pk=account.pk)
        for number in range(20):
            status, reason = ["SUSPENDED", "ACTIVE"][number % 2], f"{name}{number}"
            previous = mine.change_status(status, ACTORS["staff"], reason)
            moved.append((previous, status, reason))

    jobs = [(by_api, "a"), (by_api, "b"), (by_staff, "c"), (by_staff, "d")]
    threads = [in_thread(lambda w=work, n=name: w(n)) for work, name in jobs]
    for thread in threads:
        thread.join()
    assert len(moved) == 80
    entries = list(account.history.all())
    assert [e.number for e in entries] == list(range(1, len(entries) + 1))
    chain = [e.status for e in entries]
    assert [e.previous_status for e in entries] == [None, *chain[:-1]]
    told = sorted(move for move in moved if move[0] != move[1])
    assert sorted((e.previous_status, e.status, e.reason) for e in entries[2:]) == told
    times = [e.created_at for e in entries]
    assert times == sorted(times)


OPENED = (AccountStatus.PENDING, AccountStatus.ACTIVE)


@pytest.fixture
def their_ids(world: World) -> list[str]:
    """Ids of another partner's accounts, each of a user of its own."""
    users = User.objects.bulk_create([make_user(n) for n in range(IDS)])
    accounts = [Account(partner=world.observer, user=user) for user in users]
    staff = desk()
    Account.objects.write(
        [a.entry(status, staff, None) for a in accounts for status in OPENED]
    )
    return [f"Account|{account.pk}" for account in accounts]


def hundreds(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), 100):
        yield ids[start : start + 100]


def test_never_shows_another_partners_accounts(
    world: World, their_ids: list[str], partner: Ask, unlimited_budgets: None
):
    owner = Ask(approved_key(world.observer, list(Scope))[1])
    for ids in hundreds(their_ids):
        shown = owner(NODES, {"ids": ids}).data["nodes"]
        assert shown == [{"id": id, "status": "ACTIVE"} for id in ids]
        assert partner(NODES, {"ids": ids}).body == {"data": {"nodes": [None] * 100}}
    unknown = f"Account|{uuid.uuid4()}"
    theirs, refusals = set(their_ids), set()
    for id in [*their_ids, unknown, "Account|0", "nonsense"]:
        known = {"id": id} if id in theirs else None
        assert owner(NODE, {"id": id}).data == {"node": known}
        assert partner(NODE, {"id": id}).body == {"data": {"node": None}}
        assert partner(ACCOUNT, {"id": id}).body == {"data": {"account": None}}
        shown = owner(ACCOUNT, {"id": id}).data["account"]
        assert shown == (known and known | {"status": "ACTIVE"})
        headers = {"Idempotency-Key": str(uuid.uuid4()), "X-Request-Id": "same"}
        values = {"accountID": id, "status": "SUSPENDED"}
        refused = partner(CHANGE, {"input": values}, **headers)
        refusals.add(str(refused.body))
    [only] = refusals
    assert "You have no account with this id." in only
    assert not Account.objects.filter(status="SUSPENDED").exists()
    assert AccountStatusChange.objects.count() == 2 * IDS
