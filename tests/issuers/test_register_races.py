"""Many writers and readers of one register at once."""

import contextlib
import random
import threading
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from accounts.people.models import User, UserHolder
from issuers.models import Token
from issuers.register import ledger
from issuers.register.captable import CapitalizationTable, capitalization_tables
from issuers.register.errors import InsufficientBalance
from issuers.register.ledger import Entry
from issuers.register.models import HolderBalance, LedgerAccount, TokenLedgerHead
from issuers.register.verification import verify
from partnerapi.core.errors import RequestTimeout
from tests.approved import approved_record
from tests.issuers.register import empty_token, new_issuer, people
from tests.threads import in_threads
from tests.waiting import PATIENCE_SECONDS, until_waiting_for_a_lock

BATCHES = 20
WRITERS, READS = 4, 10
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]


@pytest.fixture
def register():
    issuer = new_issuer()
    tokens = [empty_token(issuer, f"R{n}", datetime.now().astimezone()) for n in (1, 2)]
    users = people(20)
    accounts = list(ledger.holder_accounts(user.pk for user in users).values())
    approved_record(
        [
            Entry(token.pk, "MINT", 100, None, account)
            for token in tokens
            for account in accounts
        ],
        "me",
    )
    return issuer, [token.pk for token in tokens], accounts


def test_crossing_transfers_lose_nothing_and_never_deadlock(register):
    _, tokens, accounts = register
    done, refused = [0] * 16, [0] * 16

    def cross(number):
        dice = random.Random(number)
        for _ in range(BATCHES):
            # Tokens and accounts in any order; some batches move more than there is.
            entries = []
            for _ in range(dice.randrange(1, 5)):
                source, target = dice.sample(accounts, 2)
                token = dice.choice(tokens)
                entries.append(
                    Entry(token, "TRANSFER", dice.randrange(1, 60), source, target)
                )
            try:
                done[number] += len(ledger.record(entries, "me"))
            except InsufficientBalance:
                refused[number] += 1
            # There are more threads than connections in the pool.
            connection.close()

    assert in_threads(16, cross) == []
    assert min(done) > 0
    assert sum(refused) > 0
    heads = TokenLedgerHead.objects.filter(token__in=tokens)
    assert sum(head.last_seq for head in heads) == 40 + sum(done)
    assert [int(head.supply) for head in heads] == [2000, 2000]
    assert HolderBalance.objects.filter(balance__lt=0).count() == 0
    assert [finding.rule for finding in verify() if finding.breaches] == []


def test_readers_among_writers_see_whole_tables_that_stay(register):
    issuer, tokens, accounts = register
    written, answers = [], []

    def write(number):
        dice = random.Random(number)
        try:
            for _ in range(BATCHES):
                source, target = dice.sample(accounts, 2)
                # One unit of each token, always together.
                both = [Entry(token, "TRANSFER", 1, source, target) for token in tokens]
                with contextlib.suppress(InsufficientBalance):
                    ledger.record(both, "me")
        finally:
            written.append(number)

    def read():
        least = READS
        while least > 0 or len(written) < WRITERS:
            least -= 1
            [table] = capitalization_tables([str(issuer.pk)], None, True)
            for holder in table.holders:
                assert len({b.balance for b in holder.token_balances}) == 1
            assert [token.held for token in table.tokens] == [2000, 2000]
            answers.append(table)

    assert in_threads(7, lambda n: write(n) if n < WRITERS else read()) == []
    assert len(answers) > 20
    for table in answers[:: len(answers) // 20]:
        at = datetime.fromisoformat(table.date)
        assert capitalization_tables([str(issuer.pk)], at, True) == [table]


def test_a_reader_of_now_waits_for_a_writer_and_one_of_the_past_does_not(register):
    issuer, tokens, accounts = register
    ids = [str(issuer.pk)]
    heads = TokenLedgerHead.objects.filter(token__in=tokens)
    past = min(head.last_effective_at for head in heads)
    approved_record([Entry(tokens[0], "BURN", 1, accounts[0])], "me")
    approved_record([Entry(tokens[1], "BURN", 1, accounts[0])], "me")
    answers = {}

    def ask(name, at):
        [answers[name]] = capitalization_tables(ids, at, True)
        connection.close()

    with transaction.atomic():
        [entry] = approved_record([Entry(tokens[0], "BURN", 9, accounts[0])], "me")
        now = threading.Thread(target=ask, args=("now", None))
        then = threading.Thread(target=ask, args=("then", past))
        now.start()
        then.start()
        then.join(PATIENCE_SECONDS)
        until_waiting_for_a_lock()
        assert set(answers) == {"then"}
    now.join()
    assert [t.supply for t in answers["then"].tokens] == [2000, 2000]
    assert [t.supply for t in answers["now"].tokens] == [1990, 1999]
    assert datetime.fromisoformat(answers["now"].date) > entry.effective_at > past


def test_a_table_of_the_present_is_read_without_writing(register):
    issuer, _, _ = register
    with transaction.atomic():
        [table] = capitalization_tables([str(issuer.pk)], None, True)
        assert transaction_id() is None
    assert [t.supply for t in table.tokens] == [2000, 2000]


def transaction_id() -> int | None:
    """The id of the open transaction, once it has written anything."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned()::text::bigint")
        [(number,)] = cursor.fetchall()
    return number


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_was_answered_while_writers_held_their_locks_stays(register, is_kept):
    issuer, tokens, accounts = register
    ids = [str(issuer.pk)]
    for number in range(6):
        answers: list[CapitalizationTable] = []

        def ask(at: datetime | None) -> None:
            answers.extend(capitalization_tables(ids, at, True))  # noqa: B023
            connection.close()

        with transaction.atomic():
            token = tokens[number % 2]
            burn = Entry(token, "BURN", 1, accounts[number])
            [entry] = approved_record([burn], "me")
            held_at = entry.effective_at
            times = [None, *(held_at + n * timedelta.resolution for n in (-1, 0, 1))]
            readers = [threading.Thread(target=ask, args=[at]) for at in times]
            for reader in readers:
                reader.start()
            until_waiting_for_a_lock(len(times))
            transaction.set_rollback(not is_kept)
        for reader in readers:
            reader.join()
        assert len(answers) == len(times)
        for table in answers:
            at = datetime.fromisoformat(table.date)
            assert capitalization_tables(ids, at, True) == [table]


def test_a_reader_waits_for_who_writes_in_more_ledgers_than_are_marked(register):
    issuer, tokens, accounts = register
    answers: list[CapitalizationTable] = []

    def ask() -> None:
        answers.extend(capitalization_tables([str(issuer.pk)], None, True))
        connection.close()

    many = [str(uuid4()) for _ in range(120)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT register_read(%s::uuid[], '{}', '{}', TRUE)", [many])
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            " AND pid = pg_backend_pid()"
        )
        assert cursor.fetchall() == [(1,)]
        approved_record([Entry(tokens[0], "BURN", 9, accounts[0])], "me")
        reader = threading.Thread(target=ask)
        reader.start()
        until_waiting_for_a_lock()
        assert answers == []
    reader.join()
    assert [t.supply for t in answers[0].tokens] == [1991, 2000]


def test_a_reader_waits_for_a_name_that_is_being_changed(register):
    issuer, _, _ = register
    ids = [str(issuer.pk)]
    [before] = capitalization_tables(ids, None, True)
    answers: list[CapitalizationTable] = []

    def ask() -> None:
        answers.extend(capitalization_tables(ids, None, True))
        connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        profile = UserHolder.objects.first()
        UserHolder.objects.filter(pk=profile.pk).update(name="Another")
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        reader = threading.Thread(target=ask)
        reader.start()
        until_waiting_for_a_lock()
        assert answers == []
    reader.join()
    at = datetime.fromisoformat(before.date)
    assert capitalization_tables(ids, at, True) == [before]
    at = datetime.fromisoformat(answers[0].date)
    assert capitalization_tables(ids, at, True) == answers


def test_a_reader_does_not_wait_for_writers_of_other_ledgers(register):
    _, tokens, accounts = register
    other = new_issuer()
    answers: list[CapitalizationTable] = []

    def ask() -> None:
        answers.extend(capitalization_tables([str(other.pk)], None, True))
        connection.close()

    with transaction.atomic():
        approved_record([Entry(tokens[0], "BURN", 9, accounts[0])], "me")
        reader = threading.Thread(target=ask)
        reader.start()
        reader.join(PATIENCE_SECONDS)
        assert [table.tokens for table in answers] == [[]]


def test_a_reader_of_what_is_settled_waits_for_nobody(register):
    issuer, tokens, accounts = register
    ids = [str(issuer.pk)]
    answers = []

    def ask(at: datetime) -> None:
        answers.extend(capitalization_tables(ids, at, True))
        connection.close()

    before = database_time()
    with transaction.atomic():
        approved_record([Entry(tokens[0], "BURN", 9, accounts[0])], "me")
        Token.objects.create(issuer=issuer, name="N", symbol="N")
        reader = threading.Thread(target=ask, args=[before])
        reader.start()
        reader.join(PATIENCE_SECONDS)
        assert [t.supply for t in answers[0].tokens] == [2000, 2000]
    # The answer stays the same, also after the writer has ended.
    [again] = capitalization_tables(ids, before, True)
    assert again == answers[0]


def test_a_reader_that_can_lock_nothing_answers_for_what_is_settled(register):
    issuer, tokens, accounts = register
    ids = [str(issuer.pk)]
    answers = []

    def ask() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            answers.extend(capitalization_tables(ids, None, True))
        connection.close()

    with transaction.atomic():
        began = database_time()
        [entry] = approved_record([Entry(tokens[0], "BURN", 9, accounts[0])], "me")
        reader = threading.Thread(target=ask)
        reader.start()
        reader.join(PATIENCE_SECONDS)
        [table] = answers
        assert [t.supply for t in table.tokens] == [2000, 2000]
        assert datetime.fromisoformat(table.date) <= began < entry.effective_at
    [again] = capitalization_tables(ids, datetime.fromisoformat(table.date), True)
    assert again == table
    ask()
    assert [t.supply for t in answers[1].tokens] == [1991, 2000]


def database_time() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [(now,)] = cursor.fetchall()
    return now


def test_a_reader_gives_up_on_a_writer_that_does_not_end(register):
    issuer, tokens, accounts = register
    caught = []

    def ask(_):
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 100")
        with pytest.raises(RequestTimeout) as error:
            capitalization_tables([str(issuer.pk)], None, False)
        caught.append(error.value.code)

    with transaction.atomic():
        approved_record([Entry(tokens[0], "BURN", 9, accounts[0])], "me")
        assert in_threads(1, ask) == []
    assert caught == ["TIMEOUT"]


def test_a_token_that_is_being_made_is_waited_for():
    issuer = new_issuer()
    answers = []

    def ask():
        answers.extend(capitalization_tables([str(issuer.pk)], None, False))
        connection.close()

    with transaction.atomic():
        token = Token.objects.create(issuer=issuer, name="N", symbol="N")
        reader = threading.Thread(target=ask)
        reader.start()
        until_waiting_for_a_lock()
        assert answers == []
    reader.join()
    assert [t.token_id for t in answers[0].tokens] == [str(token.pk)]


def test_accounts_are_opened_once_by_many():
    users = User.objects.bulk_create(
        User(type=User.Type.INDIVIDUAL, first_name="A", last_name=str(n))
        for n in range(30)
    )
    ids = [user.pk for user in users]
    found = []

    def open_accounts(number):
        wanted = ids[:]
        random.Random(number).shuffle(wanted)
        found.append(ledger.holder_accounts(wanted))

    assert in_threads(8, open_accounts) == []
    assert all(accounts == found[0] for accounts in found)
    assert len(found[0]) == 30


def profiled():
    """A user with a profile but no account, and one without either."""
    users = User.objects.bulk_create(
        User(type=User.Type.INDIVIDUAL, first_name="P", last_name=str(n))
        for n in range(2)
    )
    UserHolder.objects.create(user=users[0], name="P")
    return users


def test_a_profile_given_away_meanwhile_gets_no_account_for_its_old_user():
    old, new = profiled()
    given = threading.Event()

    def give():
        with transaction.atomic():
            UserHolder.objects.filter(user=old).update(user=new)
            given.set()
            until_waiting_for_a_lock()

    def open_account():
        given.wait()
        ledger.holder_accounts([old.pk])

    assert in_threads(2, lambda number: [give, open_account][number]()) == []
    assert UserHolder.objects.filter(user=new).exists()
    assert not LedgerAccount.objects.exclude(holder__user=F("user")).exists()


def test_a_profile_whose_account_is_being_opened_is_not_given_away():
    old, new = profiled()
    opened = threading.Event()

    def open_account():
        with transaction.atomic():
            ledger.holder_accounts([old.pk])
            opened.set()
            until_waiting_for_a_lock()

    def give():
        opened.wait()
        UserHolder.objects.filter(user=old).update(user=new)

    [refused] = in_threads(2, lambda number: [open_account, give][number]())
    assert isinstance(refused, IntegrityError)
    assert LedgerAccount.objects.filter(holder__user=F("user"), user=old).exists()
