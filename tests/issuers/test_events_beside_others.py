"""Events while many write at once: numbered in the order of commits, without gaps."""

import random
import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Event, EventHead, Token, UnnumberedEvent
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import TokenLedgerHead
from partnerapi.sandbox.data.approvals import approved_grant
from tests.approved import desk
from tests.issuers.register import empty_token, new_issuer, people
from tests.threads import in_threads
from tests.waiting import until_waiting_for_a_lock

ROUNDS, WRITERS = 15, 6
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]


@pytest.fixture
def tokens() -> list[Token]:
    return [
        empty_token(new_issuer(), f"E{number}", timezone.now()) for number in range(3)
    ]


@pytest.fixture
def partners(tokens: list[Token]) -> list[Partner]:
    """One with every issuer, one with the first two, one with the last two."""
    made = [Partner.objects.create(login=f"p{n}", name=f"P{n}") for n in range(3)]
    grants = [(0, None), (1, 0), (1, 1), (2, 1), (2, 2)]
    for partner, token in grants:
        issuer = None if token is None else tokens[token].issuer
        approved_grant(made[partner], issuer)
    return made


class Follower:
    """Reads one partner's events as they come, and what the register says then."""

    def __init__(self, partner: Partner) -> None:
        self.partner = partner
        self.sequence = 0
        self.mirror: dict[UUID, int] = {}
        self.problems: list[str] = []

    def read(self) -> None:
        events = Event.objects.filter(
            partner=self.partner, sequence__gt=self.sequence
        ).order_by("sequence")
        for event in events:
            if event.sequence != self.sequence + 1:
                self.problems.append(f"{event.sequence} after {self.sequence}")
            self.sequence = event.sequence
            if event.type == "REGISTER_CHANGED":
                assert event.token_id
                assert event.ledger_sequence
                entries = TokenLedgerHead.objects.get(pk=event.token_id).last_seq
                if entries < event.ledger_sequence:
                    self.problems.append(f"{event} before its entries")
                if event.ledger_sequence <= self.mirror.get(event.token_id, 0):
                    self.problems.append(f"{event} out of order")
                self.mirror[event.token_id] = event.ledger_sequence


def test_each_follower_sees_every_commit_once_and_in_order(
    tokens: list[Token], partners: list[Partner]
):
    users = people(12)
    accounts = list(ledger.holder_accounts(user.pk for user in users).values())
    opened = [
        Account.objects.open(partners[n % 3], user, desk(), timezone.now())
        for n, user in enumerate(users)
    ]
    followers = [Follower(partner) for partner in partners]
    ended = threading.Event()

    def work(number: int) -> None:
        if number >= WRITERS:
            follower = followers[number - WRITERS]
            while not ended.is_set():
                follower.read()
            return
        write(number)
        with counted:
            left.pop()
            if not left:
                ended.set()

    counted, left = threading.Lock(), list(range(WRITERS))

    def write(number: int) -> None:
        try:
            dice = random.Random(number)
            for turn in range(ROUNDS):
                # In any order: what is locked at the commit is locked in one order.
                chosen = dice.sample(tokens, dice.randrange(1, 3))
                with transaction.atomic():
                    ledger.record(
                        [
                            Entry(token.pk, "MINT", 1, None, dice.choice(accounts))
                            for token in chosen
                        ],
                        "me",
                    )
                    if turn % 4 == 3:
                        transaction.set_rollback(True)
                account = opened[number * 2 + turn % 2]
                status = ("ACTIVE", "SUSPENDED")[turn // 2 % 2]
                account.change_status(status, desk(), None)
        except BaseException:
            ended.set()
            raise

    assert in_threads(WRITERS + len(followers), work) == []
    for follower in followers:
        follower.read()
        assert follower.problems == []
        head = EventHead.objects.get(partner=follower.partner)
        assert follower.sequence == head.last_sequence
        accounts_told = Event.objects.filter(
            partner=follower.partner, type="ACCOUNT_STATUS_CHANGED"
        ).count()
        changes = sum(account.history.count() for account in opened)
        assert 0 < accounts_told < changes
    heads = {h.pk: h.last_seq for h in TokenLedgerHead.objects.all()}
    first, second, third = [token.pk for token in tokens]
    assert followers[0].mirror == heads
    assert followers[1].mirror == {key: heads[key] for key in (first, second)}
    assert followers[2].mirror == {key: heads[key] for key in (second, third)}
    assert not UnnumberedEvent.objects.exists()


def test_a_writer_that_has_not_committed_holds_nobody_up(
    tokens: list[Token], partners: list[Partner]
):
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    errors: list[Any] = []

    def write(number: int) -> None:
        ledger.record([Entry(tokens[1].pk, "MINT", 1, None, account)], "me")

    with transaction.atomic():
        ledger.record([Entry(tokens[0].pk, "MINT", 1, None, account)], "me")
        errors += in_threads(1, write)
    assert errors == []
    told = Event.objects.filter(partner=partners[0], type="REGISTER_CHANGED")
    assert list(told.order_by("sequence").values_list("token_id", flat=True)) == [
        tokens[1].pk,
        tokens[0].pk,
    ]


def test_a_grant_waits_for_who_numbers_by_grants_and_they_for_it(
    tokens: list[Token], partners: list[Partner]
):
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    late = partners[2]

    def write(number: int) -> None:
        ledger.record([Entry(tokens[0].pk, "MINT", 1, None, account)], "me")

    errors: list[BaseException] = []
    thread = threading.Thread(target=lambda: errors.extend(in_threads(1, write)))
    with transaction.atomic():
        approved_grant(late, tokens[0].issuer)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        thread.start()
        until_waiting_for_a_lock()
    thread.join()
    assert errors == []
    told = Event.objects.filter(partner=late).order_by("-sequence")[:2]
    assert [event.type for event in told] == ["REGISTER_CHANGED", "GRANT_CHANGED"]
