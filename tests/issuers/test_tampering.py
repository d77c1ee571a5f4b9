"""Attacks with the application's role alone."""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import Error, connection, transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.people.models import User, UserHolder
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.models import Issuer, Token
from issuers.register import ledger
from issuers.register.errors import ClockSetBack
from issuers.register.ledger import Entry, Kind, Price
from issuers.register.models import (
    HolderBalance,
    LedgerPosting,
    LedgerTransaction,
    TokenLedgerHead,
    TokenPrice,
)
from issuers.register.verification import verify
from tests.approved import approved_price, approved_record, desk
from tests.characters import START, Ask, World
from tests.issuers.register import new_issuer, past, people
from tests.owner import tamper


class Register:
    """A token with 1,000 units in the treasury, and two holders with 300 and 200."""

    def __init__(self, world: World) -> None:
        self.users = people(2)
        accounts = ledger.holder_accounts(user.pk for user in self.users)
        self.a, self.b = (accounts[user.pk] for user in self.users)
        self.own = ledger.treasury(world.listed)
        self.token = world.public_token.pk
        approved_record(
            [
                Entry(self.token, Kind.MINT, 1500, None, self.own),
                Entry(self.token, Kind.ALLOCATE, 300, self.own, self.a),
                Entry(self.token, Kind.ALLOCATE, 200, self.own, self.b),
            ],
            "me",
        )
        approved_price(self.token, 12, "MANUAL", "me")

    def entry(self, **changes: Any) -> tuple[str, list[Any]]:
        """The call that enters a transfer of 10 units."""
        values = {
            "kind": "TRANSFER",
            "source_id": self.a,
            "target_id": self.b,
            "amount": 10,
            "legacy_shareholder_id": None,
            "reverses": None,
        } | changes
        return WRITE, [self.token, *values.values()]

    def hold(self) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(READ, [[self.token]])
            [(clock,)] = cursor.fetchall()
        return clock

    def state(self) -> list[Any]:
        return [
            list(model.objects.order_by("pk").values_list())
            for model in (LedgerTransaction, LedgerPosting, HolderBalance)
        ]


WRITE = (
    "SELECT * FROM register_write('me', ARRAY[%s]::uuid[], ARRAY[%s]::text[],"
    " ARRAY[%s]::bigint[], ARRAY[%s]::bigint[], ARRAY[%s]::numeric[],"
    " ARRAY['']::text[], ARRAY[%s]::uuid[], ARRAY[%s]::bigint[], '{}', '{}', '{}',"
    " NULL)"
)
READ = "SELECT clock FROM register_read(%s::uuid[], '{}', '{}', TRUE)"


@pytest.fixture
def register(world: World) -> Register:
    return Register(world)


def refuses(statement: str, parameters: Any = None, *, saying: str = ".") -> None:
    with pytest.raises(Error, match=saying), transaction.atomic():
        execute(statement, parameters)


def execute(statement: str, parameters: Any = None) -> None:
    """Run it, and what would be checked at the end of its transaction."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
    connection.check_constraints()


REFUSED = [
    "UPDATE issuers_ledgeraccount SET user_id = user_id, holder_id = holder_id",
    "UPDATE issuers_holderbalance SET user_id = user_id",
    "UPDATE issuers_holderbalance SET balance = balance + 1000000000",
    "DELETE FROM issuers_holderbalance",
    "UPDATE issuers_holdingperiod SET until = 99",
    "DELETE FROM issuers_holdingperiod",
    "UPDATE issuers_tokenledgerhead SET is_open = FALSE",
    "UPDATE issuers_tokenledgerhead SET entry_digest = entry_digest",
    "DELETE FROM issuers_tokenledgerhead",
    "UPDATE issuers_ledgertransaction SET effective_at = now()",
    "DELETE FROM issuers_ledgertransaction",
    "TRUNCATE issuers_ledgertransaction CASCADE",
    "UPDATE issuers_tokenprice SET price_cents = 1",
    "DELETE FROM issuers_ledgerposting",
    "INSERT INTO issuers_ledgerposting TABLE issuers_ledgerposting",
    "INSERT INTO issuers_ledgertransaction TABLE issuers_ledgertransaction",
    "INSERT INTO issuers_tokenprice TABLE issuers_tokenprice",
    "INSERT INTO issuers_ledgeraccount TABLE issuers_ledgeraccount",
    "INSERT INTO issuers_entrykind VALUES ('GIFT', '{HOLDER}', '{HOLDER}')",
    "UPDATE issuers_entrykind SET is_taken = FALSE",
    "SELECT register_post(now(), '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
    " '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    "UPDATE issuers_token SET created_at = created_at - interval '1 year'",
    "DELETE FROM issuers_token",
    "UPDATE accounts_userholdername SET name = 'x'",
    "UPDATE accounts_account SET status = 'CLOSED'",
    "INSERT INTO accounts_account TABLE accounts_account",
    "INSERT INTO accounts_accountstatuschange TABLE accounts_accountstatuschange",
    "INSERT INTO accounts_applicant TABLE accounts_applicant",
    "UPDATE accounts_accountstatuschange SET reason = 'x'",
    "DELETE FROM accounts_accountstatuschange",
    "UPDATE django_admin_log SET change_message = 'x'",
    "UPDATE marketdata_booklevel SET quantity = 1",
    "UPDATE marketdata_orderbookhead SET last_sequence = 0",
    "DELETE FROM marketdata_trade",
    "DELETE FROM partnerapi_idempotencyrecord",
    "UPDATE accounts_user SET is_superuser = TRUE",
    "ALTER TABLE issuers_tokenprice DISABLE TRIGGER ALL",
    "SET session_replication_role = replica",
    "DROP TRIGGER register_keep_token ON issuers_token",
    "CREATE OR REPLACE FUNCTION register_keep_token() RETURNS trigger"
    " LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TABLE public.mine (id integer)",
    "DELETE FROM django_migrations",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_what_was_written_is_not_changed(register: Register, statement: str):
    before = register.state()
    refuses(statement)
    assert register.state() == before


def test_an_honest_entry_is_accepted_and_makes_what_follows(register: Register):
    execute(*register.entry())
    legs = LedgerPosting.objects.filter(seq=4).order_by("leg")
    assert list(legs.values_list("account_id", "delta", "balance_after")) == [
        (register.a, -10, 290),
        (register.b, 10, 210),
    ]
    head = TokenLedgerHead.objects.get(token=register.token)
    assert (head.last_seq, head.supply, head.held, head.holder_count) == (
        4,
        1500,
        500,
        2,
    )
    assert [found.rule for found in verify() if found.breaches] == []


WRONG: dict[str, dict[str, Any]] = {
    "more than is owned": {"amount": 301},
    "a part of a unit": {"amount": "0.4"},
    "no number": {"amount": "NaN"},
    "without end": {"amount": "Infinity"},
    "a transfer without a source": {"source_id": None},
    "nothing moved": {"amount": 0},
    "less than nothing": {"amount": -1},
    "a kind that is none": {"kind": "GIFT"},
    "a trade": {"kind": "TRADE"},
    "a mint from someone": {"kind": "MINT"},
    "a burn to someone": {"kind": "BURN"},
    "an allocation by a holder": {"kind": "ALLOCATE"},
    "a return to a holder": {"kind": "RETURN"},
    "a delivery of nothing": {"kind": "LEGACY_DELIVERY"},
    "a reversal of another entry": {"kind": "REVERSAL", "reverses": 2},
    "a reversal of none": {"kind": "REVERSAL"},
    "a transfer that reverses": {"reverses": 2},
    "an account that is not there": {"target_id": 10**9},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_entry_that_does_not_follow_is_refused(register: Register, wrong: str):
    before = register.state()
    refuses(*register.entry(**WRONG[wrong]))
    assert register.state() == before


def test_no_more_is_made_than_is_authorized(register: Register):
    Token.objects.filter(pk=register.token).update(authorized_units=1500)
    made = {"kind": "MINT", "source_id": None, "amount": 1}
    refuses(*register.entry(**made), saying="than are authorized")
    Token.objects.filter(pk=register.token).update(authorized_units=1501)
    execute(*register.entry(**made))


def test_a_treasury_gives_tokens_of_its_issuer_only(register: Register, world: World):
    other = ledger.treasury(world.quiet)
    moved = {"kind": "RETURN", "target_id": other}
    refuses(*register.entry(**moved), saying="of the token's issuer")
    execute(*register.entry(**moved | {"target_id": register.own}))


def test_a_line_is_delivered_by_an_entry_and_by_nothing_else(
    register: Register, world: World
):
    line = LegacyShareholder.objects.create(
        issuer=world.listed, user=register.users[0], token_id=register.token,
        number_of_shares=7, price_cents=1,
    )  # fmt: skip
    refuses(
        "UPDATE issuers_legacyshareholder SET status = 'DELIVERED', ledger_seq = 1,"
        " delivered_at = now(), delivered_by = 'me' WHERE id = %s",
        [line.pk],
        saying="not delivered by the ledger",
    )
    delivery = {
        "kind": "LEGACY_DELIVERY", "source_id": None, "target_id": register.a,
        "amount": 7, "legacy_shareholder_id": line.pk,
    }  # fmt: skip
    for wrong in ({"target_id": register.b}, {"amount": 8}):
        refuses(*register.entry(**delivery | wrong), saying="that are PENDING")
    execute(*register.entry(**delivery))
    line.refresh_from_db()
    assert (line.status, line.ledger_seq) == ("DELIVERED", 4)


@pytest.mark.django_db(transaction=True)
def test_a_past_is_written_once_and_by_its_transaction_alone(world: World):
    """Else more could be written before what was answered."""
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    token = world.private_token
    mint = Entry(token.pk, Kind.MINT, 1, None, account, at=token.created_at)
    with pytest.raises(Error, match="new in this transaction"):
        ledger.write_history([token.pk], [mint], "me")
    with past(token.issuer):
        ledger.write_history([token.pk], [mint], "me")
        assert TokenLedgerHead.objects.get(token=token).is_open
        # The same transaction may go on with it.
        execute(*history(token.pk, account, "MINT", timezone.now()))
    with past(token.issuer):
        for kind, at, saying in (
            ("MINT", timezone.now(), "new in this transaction"),
            ("TRADE", timezone.now(), "new in this transaction"),
        ):
            refuses(*history(token.pk, account, kind, at), saying=saying)


def history(token: Any, account: int, kind: str, at: datetime) -> tuple[str, list[Any]]:
    return (
        "SELECT register_history('me', ARRAY[%s]::uuid[], ARRAY[%s],"
        " ARRAY[NULL]::bigint[], ARRAY[%s]::bigint[], ARRAY[1]::numeric[], ARRAY[''],"
        " ARRAY[NULL]::uuid[],"
        " ARRAY[%s]::timestamptz[], '{}', '{}', '{}', '{}')",
        [token, kind, account, at],
    )


@pytest.mark.parametrize(
    ("kind", "ago", "saying"),
    [
        ("MINT", timedelta(hours=-1), "none of them is to come"),
        ("MINT", timedelta(days=9_999), "not before the last one"),
        ("TRADE", timedelta(0), "no trades and no reversals"),
    ],
)
def test_a_past_has_times_that_rise(
    world: World, kind: str, ago: timedelta, saying: str
):
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    token = world.private_token.pk
    refuses(*history(token, account, kind, timezone.now() - ago), saying=saying)


def test_an_account_moves_by_its_history_alone(world: World, db: None):
    user = User.objects.create(type="INDIVIDUAL", first_name="Cy", last_name="Berg")
    actor, now = desk(), timezone.now()
    account = Account.objects.open(world.partner, user, actor, now)
    said = Account(partner=world.partner, user=world.owner)
    for moved, status, at, saying in (
        (account, "SUSPENDED", None, "status_change_is_a_known_move"),
        (account, "ACTIVE", now, "that of others goes on now"),
        (account, "ACTIVE", now - timedelta(days=300), "that of others goes on now"),
        (account, "PENDING", None, "accounts_account_pkey"),
        (said, "ACTIVE", None, "null value in column"),
        (said, "PENDING", now + timedelta(days=1), "nor in the future"),
    ):
        entry = moved.entry(status, actor, None)
        if at:
            entry.created_at = at
        with pytest.raises(Error, match=saying), transaction.atomic():
            Account.objects.write([entry])
    Account.objects.write([account.entry("ACTIVE", actor, None)])
    account.refresh_from_db()
    assert (account.status, account.changes) == ("ACTIVE", 2)
    assert now < account.updated_at < timezone.now()


# The traps, each in the application's own session.


@pytest.mark.django_db(transaction=True)
def test_a_change_is_recorded_when_it_is_told(world: World):
    before = timezone.now()
    actor = desk()
    account = Account.objects.open(world.partner, world.owner, actor, START)
    [change] = account.history.all()
    assert change.created_at == START
    assert before <= change.recorded_at <= timezone.now()


@pytest.mark.django_db(transaction=True)
def test_no_token_begins_in_the_past_of_an_issuer(world: World):
    late = Token(issuer=world.listed, name="Late", symbol="LATE", created_at=START)
    with transaction.atomic():
        # The database says which transaction has made an issuer, and no one else.
        Issuer.objects.update(recorded_in=RawSQL("pg_current_xact_id()::text::int", []))
        with pytest.raises(Error, match="Tables of the past have no token LATE"):
            late.save()
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_no_past_is_written_for_a_token_that_was_there(world: World):
    """A table at that time was perhaps answered, and had no units of it."""
    own = ledger.treasury(world.listed)
    at = START + timedelta(days=30)
    for event in (
        Entry(world.public_token.pk, Kind.MINT, 5, None, own, at=at),
        Price(world.public_token.pk, 5, "ISSUE", at),
    ):
        with pytest.raises(Error, match="A past is written for a token that is new"):
            ledger.write_history([world.public_token.pk], [event], "me")
    assert LedgerTransaction.objects.count() == TokenPrice.objects.count() == 0


def test_a_guard_is_attached_to_no_other_table(register: Register):
    execute("CREATE TEMP TABLE mine (LIKE issuers_ledgertransaction)")
    for function in ("issuers_count_legacy", "register_open_ledger"):
        refuses(
            "CREATE TRIGGER mine AFTER INSERT ON mine REFERENCING NEW TABLE AS entered"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
            saying="permission denied for function",
        )


def test_a_temporary_table_takes_no_table_s_place(register: Register):
    for table in ("issuers_tokenledgerhead", "issuers_ledgerposting"):
        execute(f"CREATE TEMP TABLE {table} (LIKE public.{table})")
    execute("INSERT INTO issuers_tokenledgerhead TABLE public.issuers_tokenledgerhead")
    refuses(*register.entry(amount=301), saying="is_not_negative")
    execute(*register.entry())
    for table in ("issuers_tokenledgerhead", "issuers_ledgerposting"):
        execute(f"DROP TABLE pg_temp.{table}")
    assert LedgerPosting.objects.filter(seq=4).count() == 2


def test_a_trigger_of_one_s_own_gives_no_right(register: Register):
    """pg_trigger_depth() is above 0 there."""
    execute("CREATE TEMP TABLE mine (id integer)")
    execute(
        "CREATE FUNCTION pg_temp.deep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " UPDATE public.issuers_holderbalance SET balance = 10 ^ 9; RETURN NULL;"
        " END $$"
    )
    execute(
        "CREATE TRIGGER deep AFTER INSERT ON mine FOR EACH ROW"
        " EXECUTE FUNCTION pg_temp.deep()"
    )
    refuses("INSERT INTO mine VALUES (1)", saying="permission denied for table")


def test_heads_are_locked_by_functions_alone(register: Register):
    head = "SELECT FROM issuers_tokenledgerhead FOR "
    for strength in ("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"):
        refuses(head + strength, saying="permission denied for table")
    assert register.hold() is not None


# The chains.


def chained(lines: list[str]) -> str:
    digest = bytes(32)
    for line in lines:
        # Canonical: the same members always give the same line.
        members = json.loads(line)
        assert line == json.dumps(
            members, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        digest = hashlib.sha256(digest + line.encode()).digest()
    return digest.hex()


def lines_of(view: str, token_id: Any) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT line FROM {view} WHERE token_id = %s ORDER BY number", [token_id]
        )
        return [line for (line,) in cursor.fetchall()]


def test_chains_are_what_anybody_computes_from_the_lines(register: Register):
    odd = 'Erbe "Ø"\\\t\x1f\x7f 👤\nfin'
    entry = Entry(register.token, Kind.BURN, 5, register.a, None, odd)
    approved_record([entry], odd)
    approved_price(register.token, 2**40, "NAV", odd)
    head = TokenLedgerHead.objects.get(token=register.token)
    entries = lines_of("register_entry_lines", register.token)
    assert chained(entries) == head.entry_digest.hex()
    prices = lines_of("register_price_lines", register.token)
    assert chained(prices) == head.price_digest.hex()
    last = json.loads(entries[-1])
    assert last == {
        "amount": "5",
        "chainReference": None,
        "effectiveAt": last["effectiveAt"],
        "heldAfter": "495",
        "holdersAfter": "2",
        "kind": "BURN",
        "lineVersion": "2",
        "previousDigest": None,
        "privateDigest": last["privateDigest"],
        "reverses": None,
        "sequence": "4",
        "source": f"User|{register.users[0].pk}",
        "sourceBefore": "2",
        "supplyAfter": "1495",
        "target": None,
        "targetBefore": None,
        "token": f"Token|{register.token}",
    }


# Clocks.


def set_back(token_id: Any, by: timedelta) -> None:
    """Simulate a database clock that was set back after the last entry."""
    tamper(
        "UPDATE issuers_tokenledgerhead SET last_effective_at = clock_timestamp()"
        f" + interval '{by.total_seconds()} s' WHERE token_id = '{token_id}'"
    )


def test_a_clock_that_was_set_back_a_little_is_waited_for(register: Register):
    set_back(register.token, timedelta(milliseconds=300))
    head = TokenLedgerHead.objects.get(token=register.token)
    entry = Entry(register.token, Kind.TRANSFER, 10, register.a, register.b)
    [recorded] = ledger.record([entry], "me")
    assert recorded.effective_at >= head.last_effective_at


def test_a_clock_that_was_set_back_far_is_told_in_one_sentence(register: Register):
    set_back(register.token, timedelta(hours=1))
    before = register.state()
    entry = Entry(register.token, Kind.TRANSFER, 10, register.a, register.b)
    with pytest.raises(ClockSetBack) as refused:
        ledger.record([entry], "me")
    head = TokenLedgerHead.objects.get(token=register.token)
    assert f"was written to at {head.last_effective_at}: correct" in str(refused.value)
    assert str(refused.value).startswith("The database's clock says 2")
    [result] = ledger.record_each([entry], "me")
    assert isinstance(result, ClockSetBack)
    [result] = ledger.set_prices([Price(register.token, 13, "NAV")], "feed")
    assert isinstance(result, ClockSetBack)
    assert register.state() == before


# Names.


@pytest.mark.django_db(transaction=True)
def test_a_table_of_the_past_names_its_holders_as_they_were(
    register: Register, partner: Ask
):
    [first, _] = register.users
    holder = UserHolder.objects.get(user=first)
    before = timezone.now()
    UserHolder.objects.filter(pk=holder.pk).update(name="Second")
    between = timezone.now()
    with transaction.atomic():
        UserHolder.objects.filter(pk=holder.pk).update(name="Third")
        UserHolder.objects.filter(pk=holder.pk).update(name="Fourth")
    query = """query ($date: Time) { issuer(slug: "lumen")
        { capitalizationTable(date: $date)
          { holders { userID holderName userHolder { name } } } } }"""

    def named(date: Any) -> tuple[str, str]:
        answer = partner(query, {"date": date and date.isoformat()})
        rows = answer.data["issuer"]["capitalizationTable"]["holders"]
        [row] = [row for row in rows if row["userID"] == f"User|{first.pk}"]
        return row["holderName"], row["userHolder"]["name"]

    assert named(before) == (holder.name, "Fourth")
    assert named(between) == ("Second", "Fourth")
    assert named(None) == ("Fourth", "Fourth")


def test_a_partner_keeps_the_head_of_a_ledger(
    register: Register, partner: Ask, observer: Ask, world: World
):
    query = """{ node(id: "Token|%s") { ... on Token { ledgerHead
        { sequence digest priceNumber priceDigest at } } } }"""
    head = TokenLedgerHead.objects.get(token=register.token)
    found = partner(query % register.token).data["node"]["ledgerHead"]
    assert datetime.fromisoformat(found.pop("at")) == head.last_price_at
    assert found == {
        "sequence": 3,
        "digest": head.entry_digest.hex(),
        "priceNumber": 1,
        "priceDigest": head.price_digest.hex(),
    }
    empty = partner(query % world.private_token.pk).data["node"]["ledgerHead"]
    assert (empty["sequence"], empty["digest"]) == (0, "00" * 32)
    assert datetime.fromisoformat(empty["at"]) == world.private_token.created_at
    assert observer(query % register.token).code == "FORBIDDEN"


# Identities.


AGAIN = """DO $$ DECLARE again {table}; BEGIN
    SELECT * INTO again FROM {table} WHERE id = '{id}';
    DELETE FROM {table} WHERE id = '{id}';
    INSERT INTO {table} SELECT again.*;
END $$"""
OTHER_ID = "UPDATE {table} SET id = gen_random_uuid() WHERE id = '{id}'"


@pytest.mark.parametrize("statement", [AGAIN, OTHER_ID])
@pytest.mark.parametrize(
    "table", ["issuers_issuer", "accounts_userholder", "accounts_user"]
)
def test_nobody_becomes_another_with_the_same_id(
    register: Register, world: World, table: str, statement: str
):
    """Foreign keys would be checked at the commit, and find the id."""
    user = register.users[0]
    ids = {
        "issuers_issuer": world.listed.pk,
        "accounts_userholder": UserHolder.objects.get(user=user).pk,
        "accounts_user": user.pk,
    }
    tampering = statement.format(table=table, id=ids[table])
    refuses(tampering, saying="stays|keeps its id")


@pytest.mark.django_db(transaction=True)
def test_an_issuer_that_was_deleted_has_no_past(world: World):
    issuer = new_issuer()
    with transaction.atomic():
        Issuer.objects.filter(pk=issuer.pk).delete()
    with transaction.atomic():
        issuer.save(force_insert=True)
        late = Token(issuer=issuer, name="Late", symbol="LATE", created_at=START)
        with pytest.raises(Error, match="Tables of the past have no token LATE"):
            late.save()
        transaction.set_rollback(True)


def test_no_fewer_units_are_authorized_than_there_are(register: Register):
    authorize = "UPDATE issuers_token SET authorized_units = %s WHERE id = %s"
    refuses(authorize, [1499, register.token], saying="there are 1500 units")
    execute(authorize, [1500, register.token])


def test_a_line_of_another_issuer_is_not_delivered(register: Register, world: World):
    line = LegacyShareholder.objects.create(
        issuer=world.quiet, user=register.users[0], token_id=register.token,
        number_of_shares=7, price_cents=1,
    )  # fmt: skip
    delivery = register.entry(
        kind="LEGACY_DELIVERY", source_id=None, target_id=register.a, amount=7,
        legacy_shareholder_id=line.pk,
    )  # fmt: skip
    refuses(*delivery, saying="that are PENDING")


def test_what_changed_of_a_line_stays_with_it(register: Register, world: World):
    line = LegacyShareholder.objects.create(
        issuer=world.listed, user=register.users[0], number_of_shares=7, price_cents=1
    )
    batch = LegacyImport.objects.create(
        issuer=world.listed, file_name="f", checksum_sha256="0", imported_by="ana"
    )
    line.changes.create(batch=batch, before={"number_of_shares": 6})
    refuses("DELETE FROM issuers_legacyshareholderchange", saying="stays with them")
    line.delete()
    connection.check_constraints()


@pytest.mark.django_db(transaction=True)
def test_a_profile_is_not_given_away_beside_its_account(world: World):
    user = User.objects.create(type="INDIVIDUAL", first_name="Cy", last_name="Berg")
    profile = UserHolder.objects.create(user=user, name="Cy Berg")
    own = connection.copy()
    try:
        with transaction.atomic():
            ledger.holder_accounts([user.pk])
            with own.cursor() as cursor:
                cursor.execute("SET lock_timeout = '50ms'")
                with pytest.raises(Error, match="lock timeout"):
                    cursor.execute(GIVE_AWAY, [world.owner.pk, profile.pk])
        with own.cursor() as cursor:
            for isolation in ("READ COMMITTED", "REPEATABLE READ"):
                cursor.execute(f"SET default_transaction_isolation = '{isolation}'")
                with pytest.raises(Error, match=r"has an account|READ COMMITTED"):
                    cursor.execute(GIVE_AWAY, [world.owner.pk, profile.pk])
    finally:
        own.close()


GIVE_AWAY = "UPDATE accounts_userholder SET user_id = %s WHERE id = %s"


def test_the_staff_s_log_has_the_database_s_times(world: World):
    LogEntry.objects.log_actions(world.owner.pk, [world.owner], CHANGE, "Changed.")
    before = timezone.now()
    LogEntry.objects.bulk_create(
        LogEntry(user=world.owner, action_flag=CHANGE, action_time=START)
        for _ in range(2)
    )
    times = LogEntry.objects.values_list("action_time", flat=True)
    assert len([at for at in times if at >= before]) == 2
