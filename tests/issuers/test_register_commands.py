import io
import re

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction

from accounts.people.models import User, UserHolder
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import LedgerTransaction, TokenPrice
from tests.administration import READER
from tests.characters import World
from tests.issuers.register import people
from tests.owner import as_committed, tamper

STAFF = "ana@example.com"


@pytest.fixture
def staff(db):
    return User.objects.create(
        type=User.Type.INDIVIDUAL,
        first_name="Ana",
        last_name="Lund",
        email=STAFF,
        is_staff=True,
    )


@pytest.fixture
def holder(db):
    return User.objects.create(
        type=User.Type.INDIVIDUAL,
        first_name="Bo",
        last_name="Berg",
        email="bo@example.com",
    )


def run(name, *arguments):
    output = io.StringIO()
    call_command(name, *map(str, arguments), "--staff", STAFF, stdout=output)
    return output.getvalue().strip()


def entries(token):
    rows = LedgerTransaction.objects.filter(token=token).order_by("seq")
    return list(rows.values_list("kind", "amount", "actor", "reason", "held_after"))


def test_units_are_made_moved_and_destroyed(world: World, staff, holder):
    token = world.public_token
    why = ("--reason", "Because")
    assert (
        run("ledger", "mint", "lum", "1_000", *why)
        == "Created 1,000 units of LUM (entry 1); supply 1,000."
    )
    moves = [
        (300, "treasury", "bo@example.com", ()),
        (50, "bo@example.com", world.owner.lei, ()),
        (1, "bo@example.com", world.owner.pk, ("--forced",)),
        (51, world.owner.lei, "treasury", ()),
    ]
    for number, source, target, more in moves:
        run(
            "ledger",
            "transfer",
            "LUM",
            number,
            "--from",
            source,
            "--to",
            target,
            *why,
            *more,
        )
    assert (
        run("ledger", "burn", "LUM", 1, *why)
        == "Destroyed 1 unit of LUM (entry 6); supply 999."
    )
    assert entries(token) == [
        ("MINT", 1000, STAFF, "Because", 0),
        ("ALLOCATE", 300, STAFF, "Because", 300),
        ("TRANSFER", 50, STAFF, "Because", 300),
        ("FORCED_TRANSFER", 1, STAFF, "Because", 300),
        ("RETURN", 51, STAFF, "Because", 249),
        ("BURN", 1, STAFF, "Because", 249),
    ]


def test_a_dry_run_checks_and_writes_nothing(world: World, staff, holder):
    why = ("--reason", "x", "--dry-run")
    dry = "(dry run: nothing was written)"
    assert run("ledger", "mint", "LUM", 7, *why) == (
        f"7 units of LUM would be created; supply 7 {dry}"
    )
    assert run("ledger", "set-price", "LUM", 7, "--dry-run") == (
        f"The price of LUM would be 7 cents per unit; no price before {dry}"
    )
    assert run("market", "open-secondary", "LUM", *why) == (
        f"LUM would move to the secondary market {dry}"
    )
    with pytest.raises(CommandError, match="entry needs. Nothing was written"):
        run("ledger", "burn", "LUM", 1, *why)
    assert entries(world.public_token) == []
    world.public_token.ledger_head.refresh_from_db()
    assert not world.public_token.ledger_head.is_open
    assert TokenPrice.objects.count() == LogEntry.objects.count() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["ledger", "mint", "NONE", 1], "There is no token NONE"),
        (["ledger", "mint", "LUM", 0], "an entry must move at least 1 unit"),
        (["ledger", "mint", "LUM", 2**64], "1 more than 2⁶⁴−1"),
        (
            ["ledger", "mint", "LUM", 1, "--to", "x@example.com"],
            "There is no user x@example.com",
        ),
        (
            [
                "ledger", "transfer", "LUM", 1, "--from", "treasury", "--to",
                "bo@example.com",
            ],
            "the treasury of Lumen has 0 units of LUM, 1 fewer than the 1",
        ),
        (
            ["ledger", "transfer", "LUM", 1, "--from", "treasury", "--to", "treasury"],
            "TRANSFER of LUM cannot go from the treasury of Lumen: it goes from a",
        ),
        (
            [
                "ledger", "transfer", "LUM", 1, "--forced", "--from", "treasury",
                "--to", "bo@example.com",
            ],
            "--forced is for transfers between two holders",
        ),
    ],
)  # fmt: skip
def test_refuses_by_naming_the_rule(world: World, staff, holder, arguments, reason):
    with pytest.raises(CommandError, match=re.escape(reason)):
        run(*arguments, "--reason", "x")
    assert LedgerTransaction.objects.count() == 0


@pytest.mark.parametrize(
    "text", ["12,50", "12,00", "1,250", "1.5", "1_00", "-1", ",", "9" * 5000]
)
def test_what_could_mean_another_amount_is_refused(world: World, staff, text):
    with pytest.raises(CommandError, match="Write|digits only"):
        run("ledger", "set-price", "LUM", text)
    assert TokenPrice.objects.count() == 0


def test_authorized_units_bound_the_supply(world: World, staff):
    Token.objects.filter(symbol="LUM").update(authorized_units=10)
    run("ledger", "mint", "LUM", 8, "--reason", "x")
    with pytest.raises(CommandError, match="11 units, 1 more than the 10 that are"):
        run("ledger", "mint", "LUM", 3, "--reason", "x")


def test_prices_follow_each_other(world: World, staff):
    run("ledger", "mint", "LUM", 2**40, "--reason", "x")
    assert run("ledger", "set-price", "LUM", 1250).endswith("; no price before.")
    assert run("ledger", "set-price", "LUM", 1310, "--source", "NAV").endswith(
        "; 1,250 before."
    )
    rows = TokenPrice.objects.order_by("number")
    assert list(rows.values_list("number", "price_cents", "source", "recorded_by")) == [
        (1, 1250, "MANUAL", STAFF),
        (2, 1310, "NAV", STAFF),
    ]
    with pytest.raises(CommandError, match="more than 2⁶³−1 cents"):
        run("ledger", "set-price", "LUM", 2**23)
    with pytest.raises(CommandError, match="more than 2⁶³−1 cents"):
        run("ledger", "mint", "LUM", 2**54, "--reason", "x")


def test_the_secondary_market_opens_once_and_for_good(world: World, staff):
    opened = run("market", "open-secondary", "LUM", "--reason", "Offering closed")
    assert opened == "LUM is now on the secondary market."
    [entry] = LogEntry.objects.all()
    assert (entry.user, entry.object_id) == (staff, str(world.public_token.pk))
    assert entry.get_change_message() == "Opened the secondary market: Offering closed"
    with pytest.raises(CommandError, match="is already on the secondary market"):
        run("market", "open-secondary", "LUM", "--reason", "x")
    with pytest.raises(IntegrityError, match="cannot go back"), transaction.atomic():
        Token.objects.filter(symbol="LUM").update(market_type="PRIMARY_MARKET")


@pytest.fixture
def register(world: World):
    users = people(3)
    accounts = ledger.holder_accounts(user.pk for user in users)
    a, b, c = (accounts[user.pk] for user in users)
    own = ledger.treasury(world.listed)
    token = world.public_token.pk
    ledger.record(
        [
            Entry(token, "MINT", 1000, None, own),
            Entry(token, "ALLOCATE", 300, own, a),
            Entry(token, "ALLOCATE", 200, own, b),
            Entry(token, "TRANSFER", 100, a, c),
        ],
        "me",
    )
    ledger.set_price(token, 12, "MANUAL", "me")
    ledger.set_price(token, 13, "MANUAL", "me")
    fourth = LedgerTransaction.objects.get(token=token, seq=4)
    ledger.record([ledger.reversal_of(fourth, "Typing error")], "me")
    return token


def test_an_entry_is_reversed_whole_and_once(register, world: World, staff):
    why = ("--reason", "Typing error")
    said = "Entry 3 of LUM (ALLOCATE, 200 units)"
    assert run("ledger", "reverse", "lum", 3, *why, "--dry-run") == (
        f"{said} would be reversed; supply 1,000 (dry run: nothing was written)"
    )
    assert run("ledger", "reverse", "lum", 3, *why) == (
        f"{said} is reversed by entry 6; supply 1,000."
    )
    assert entries(register)[-1] == ("REVERSAL", 200, STAFF, "Typing error", 300)
    for number, reason in (
        (1, "the treasury of Lumen has 700 units of LUM, 300 fewer than the 1000"),
        (3, "Entry 3 of LUM has already been reversed. Nothing was written."),
        (6, "LUM has no reversible entry 6. Nothing was written."),
        (7, "LUM has no entry 7. Nothing was written."),
    ):
        with pytest.raises(CommandError, match=re.escape(reason)):
            run("ledger", "reverse", "LUM", number, *why)
    assert verified()[-1] == "All 31 rules hold."


def verified():
    as_committed()
    output = io.StringIO()
    call_command("verify", "register", stdout=output)
    return output.getvalue().splitlines()


def test_a_register_that_was_written_by_the_rules_holds(register):
    lines = verified()
    assert lines[-1] == "All 31 rules hold."
    assert (
        "entries are numbered from 1 without gaps, up to the head's number: 5, ok"
        in lines
    )
    assert len(lines) == 32
    assert all(line.endswith(", ok") for line in lines[:-1])


@pytest.mark.parametrize(
    ("tampering", "rule"),
    [
        ("UPDATE issuers_ledgertransaction SET amount = 101 WHERE seq = 4", "postings"),
        ("DELETE FROM issuers_ledgertransaction WHERE seq = 5", "without gaps"),
        ("DELETE FROM issuers_ledgerposting WHERE seq = 5", "its postings"),
        ("UPDATE issuers_ledgerposting SET balance_after = 1 WHERE seq = 2", "the sum"),
        (
            "UPDATE issuers_tokenprice SET price_cents = 11 WHERE number = 1",
            ("are unchanged since"),
        ),
        ("DELETE FROM issuers_tokenprice WHERE number = 1", "prices are numbered"),
        (
            "UPDATE issuers_ledgertransaction SET actor = 'x' WHERE seq = 1",
            ("name their private parts"),
        ),
        (
            "UPDATE issuers_ledgertransaction SET effective_at = '2020-01-01Z' "
            "WHERE seq = 3",
            "never decrease",
        ),
        (
            "UPDATE issuers_ledgertransaction SET holders_after = 9 WHERE seq = 2",
            "and holders after it",
        ),
        ("UPDATE issuers_holderbalance SET balance = 1", "that of the last posting"),
        ("UPDATE issuers_holderbalance SET user_id = NULL", "accounts to their users"),
        ("DELETE FROM issuers_holdingperiod", "holding periods match"),
        ("UPDATE issuers_holdingperiod SET until = 99", "holding periods match"),
        (
            "UPDATE accounts_userholder SET user_id = (SELECT owner_id FROM "
            "issuers_issuer LIMIT 1) WHERE id = (SELECT max(holder_id::text)::uuid "
            "FROM issuers_ledgeraccount)",
            "accounts to their users",
        ),
        ("UPDATE issuers_tokenledgerhead SET supply = 1001", "Σ balances = supply"),
        ("UPDATE issuers_tokenledgerhead SET price_cents = 1", "each head equals"),
        (
            "ALTER TABLE issuers_tokenledgerhead DROP CONSTRAINT "
            "ledger_value_of_supply_within_bounds; "
            "UPDATE issuers_tokenledgerhead SET price_cents = 2::bigint ^ 60",
            "supply × price",
        ),
        ("DELETE FROM issuers_tokenledgerhead", "has a head"),
        (
            "ALTER TABLE issuers_token DISABLE TRIGGER register_keep_token",
            "guards equal those",
        ),
        (
            "ALTER TABLE accounts_userholder DISABLE TRIGGER register_keep_holder",
            "guards equal those",
        ),
        (
            "CREATE TABLE dummy (id integer);"
            "CREATE TRIGGER register_keep_token BEFORE UPDATE ON dummy"
            " EXECUTE FUNCTION register_keep_token();"
            "DROP TRIGGER register_keep_token ON issuers_token",
            "guards equal those",
        ),
        (
            "CREATE OR REPLACE FUNCTION register_keep_token() RETURNS trigger"
            " LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
            "guards equal those",
        ),
        (
            "ALTER TABLE issuers_tokenledgerhead"
            " DROP CONSTRAINT ledger_value_of_supply_within_bounds",
            "guards equal those",
        ),
        ("DROP INDEX ledger_entry_is_reversed_once", "guards equal those"),
        ("UPDATE issuers_tokenledgerhead SET is_open = FALSE", "is open"),
        (
            "CREATE OR REPLACE VIEW register_price_lines AS"
            " SELECT token_id, number, 'x' AS line, 'x' AS private, salt,"
            " private_digest FROM issuers_tokenprice",
            "guards equal those",
        ),
        ("GRANT UPDATE ON issuers_ledgertransaction TO PUBLIC", "guards equal those"),
        (
            "GRANT UPDATE (reason) ON issuers_ledgertransaction TO PUBLIC",
            "guards equal",
        ),
        (
            "ALTER TABLE issuers_ledgertransaction ALTER recorded_at SET DEFAULT now()",
            "guards equal those",
        ),
        (
            "CREATE RULE kept AS ON INSERT TO issuers_tokenprice DO INSTEAD NOTHING",
            "guards equal those",
        ),
        ("UPDATE issuers_token SET authorized_units = 1", "than authorized"),
        *[
            (statement, "guards equal those")
            for statement in (
                "ALTER TABLE issuers_ledgerposting SET UNLOGGED",
                "CREATE TABLE more () INHERITS (issuers_ledgertransaction)",
                "CREATE TABLE above (token_id uuid NOT NULL);"
                "ALTER TABLE issuers_ledgertransaction INHERIT above",
                "CREATE FUNCTION accounts_lock(integer) RETURNS void LANGUAGE sql"
                " SECURITY DEFINER AS ''",
                "CREATE FUNCTION lei_is_valid(varchar) RETURNS boolean LANGUAGE sql"
                " IMMUTABLE AS 'SELECT TRUE'",
                "ALTER TABLE issuers_issuer ALTER tag_line TYPE varchar(200)"
                ' COLLATE "C"',
                "ALTER FUNCTION register_mark(uuid[]) STRICT",
                "ALTER VIEW register_price_lines SET (security_invoker = TRUE)",
                "GRANT CREATE ON SCHEMA public TO PUBLIC",
                "GRANT EXECUTE ON FUNCTION register_keep_token() TO CURRENT_USER,"
                f" {READER}",
                f"ALTER DEFAULT PRIVILEGES GRANT INSERT ON TABLES TO {READER}",
                "CREATE FUNCTION door(said text) RETURNS void LANGUAGE plpgsql"
                " SECURITY DEFINER AS 'BEGIN EXECUTE said; END'",
                "CREATE FUNCTION sha256(text) RETURNS bytea LANGUAGE sql"
                " RETURN NULL::bytea",
                "CREATE OPERATOR public.=== (LEFTARG = text, RIGHTARG = text,"
                " FUNCTION = texteq)",
                "ALTER ROLE CURRENT_USER SET search_path = elsewhere, public",
                "CREATE OR REPLACE FUNCTION partnerapi_analyze(tables text[])"
                " RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE tables[1]; END'",
                "DROP TRIGGER partnerapi_keep_answers ON partnerapi_idempotencyrecord",
            )
        ],
    ],
)
def test_tampering_by_the_owner_of_the_tables_is_found(
    register, tampering, rule, capsys
):
    tamper(tampering)
    output = io.StringIO()
    with pytest.raises(CommandError, match="rules are broken, marked above"):
        call_command("verify", "register", stdout=output)
    broken = [line for line in output.getvalue().splitlines() if "BROKEN" in line]
    assert [line for line in broken if rule in line]


@pytest.mark.parametrize(
    "table",
    ["issuers_ledgertransaction", "issuers_ledgerposting", "issuers_tokenprice"],
)
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET seq = 1", "DELETE FROM {}", "TRUNCATE {} CASCADE"]
)
def test_nobody_changes_what_was_written(register, table, statement):
    if table == "issuers_tokenprice":
        statement = statement.replace("seq", "number")
    connection.check_constraints()
    with (
        pytest.raises(ProgrammingError, match="permission denied for table"),
        transaction.atomic(),
    ):
        connection.cursor().execute(statement.format(table))
    assert verified()[-1] == "All 31 rules hold."


def test_a_profile_with_an_account_stays_its_users(register, holder):
    [user] = people(1)
    UserHolder.objects.filter(user=user).update(name="Renamed")
    with (
        pytest.raises(IntegrityError, match="are transferred to that user"),
        transaction.atomic(),
    ):
        UserHolder.objects.filter(user=user).update(user=holder)
    free = User.objects.create(type="INDIVIDUAL", first_name="Cy", last_name="Berg")
    UserHolder.objects.create(user=free, name="Cy Berg")
    assert UserHolder.objects.filter(user=free).update(user=holder) == 1
    assert verified()[-1] == "All 31 rules hold."
