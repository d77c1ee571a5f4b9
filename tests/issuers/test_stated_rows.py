"""What statements say of other tables, and that the owner's rewrites are seen."""

import base64
import hashlib
import io
import json
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.payments.paying import name_bank, order_payments
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.register.stated_rows import TABLES
from issuers.register.statement_models import StatedRows
from issuers.register.statements import private_key, write_statement
from partnerapi.sandbox.data.approvals import ASKER, colleague
from tests.accounts.money import deposit as deposit_of
from tests.accounts.money import new_account, new_partner
from tests.accounts.test_cash_chains import LARGER
from tests.accounts.test_payments import approved
from tests.issuers.register import SET_BACK, new_statement_key
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)
from tests.owner import tamper

pytestmark = pytest.mark.django_db(transaction=True)
LATER = timedelta(hours=2)
"""A statement covers rows that are older than an hour."""


def verify(statement: Path) -> str:
    said = io.StringIO()
    with suppress(CommandError):
        call_command("verify", "register", against=statement, stdout=said)
    return said.getvalue()


@pytest.fixture
def write(settings: Any, tmp_path: Path) -> Any:
    """Writes the statement of an instant from now on."""
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()
    key = private_key(settings.PARTNER_API_STATEMENT_KEY)

    def write(later: timedelta = LATER) -> Path:
        return write_statement(tmp_path, key, timezone.now() + later)

    return write


@pytest.fixture
def trading() -> None:
    """Two clients with money, units, orders, a trade and a freeze, by two people."""
    token = new_market()
    buyer, seller = new_clients(2)
    deposit(buyer, 100_000)
    give(token, {seller: 50})
    placed(token, sell(seller, 5, 100))
    placed(token, buy(buyer, 5, 100))
    restrictions.restrict(seller.user, Terms("FREEZE", "a court"), ASKER)


REWRITES = {
    "a deposit of more": (LARGER, "cash_entry_lines"),
    "another decider": (
        "UPDATE accounts_approvaldecision SET decided_by_id = (SELECT u.id"
        " FROM accounts_user u WHERE u.id <> decided_by_id LIMIT 1)",
        "accounts_approvaldecision",
    ),
    "no outcome": (
        "DELETE FROM accounts_approvaloutcome WHERE request_id ="
        " (SELECT request_id FROM accounts_approvaloutcome LIMIT 1)",
        "accounts_approvaloutcome",
    ),
    "a mint by one person": (
        "UPDATE accounts_approvalpolicy SET is_required = FALSE WHERE kind = 'MINT'",
        "The policy of MINT is",
    ),
    "no freeze": ("DELETE FROM issuers_restriction", "issuers_restriction"),
    "a freeze of another reason": (
        "UPDATE issuers_restriction SET reason = 'a mistake'",
        "issuers_restriction",
    ),
    "no change of a row": (
        "DELETE FROM accounts_rowchange WHERE id ="
        " (SELECT max(id) FROM accounts_rowchange WHERE id NOT IN"
        " (SELECT change_id FROM accounts_staffchange))",
        "accounts_rowchange",
    ),
    "another actor of an order": (
        "UPDATE trading_orderevent SET actor = 'another'",
        "trading_orderevent",
    ),
    "an event less": (
        "DELETE FROM issuers_event WHERE id = (SELECT id FROM issuers_event LIMIT 1)",
        "issuers_event",
    ),
}


@pytest.mark.parametrize("what", REWRITES)
def test_each_of_the_owners_nine_rewrites_is_seen(trading: None, write: Any, what: str):
    statement = write()
    tampering, found = REWRITES[what]
    assert found not in verify(statement)
    tamper(tampering)
    assert found in verify(statement)


NOT_STATED = {
    "they are chains, whose heads a statement has, or make them": {
        "accounts_cashposting", "issuers_erasure", "issuers_ledgertransaction",
        "issuers_redactedline", "issuers_tokenprice",
    },
    "a statement has them itself, or is made of them": {
        "accounts_approvalpolicy", "accounts_passkey", "accounts_passkeyvoucher",
        "issuers_holdercommitment", "issuers_holdersalt", "issuers_holdingpage",
        "issuers_holdingtree", "issuers_recordinstant", "issuers_statedrows",
        "issuers_statedtoken",
        "issuers_statement", "issuers_statementkey", "issuers_token",
        "issuers_witness", "issuers_witnesskey",
    },
    "they are derived from what is stated, and verify compares them": {
        "accounts_account", "accounts_cashaccount", "accounts_cashhead",
        "issuers_issuercash",
        "accounts_investorprofile", "accounts_soleamount", "accounts_staffchange",
        "accounts_total", "accounts_totalchange", "issuers_articletocome",
        "issuers_eventcount", "issuers_eventhead", "issuers_holderbalance",
        "issuers_holdingperiod", "issuers_issuerterm", "issuers_judgedledger",
        "issuers_ledgeraccount", "issuers_ledgerposting", "issuers_tokenledgerhead",
        "issuers_unnumberedevent", "marketdata_bookchange", "marketdata_booklevel",
        "marketdata_booksnapshot", "marketdata_orderbookhead",
        "issuers_offering", "issuers_subscription", "marketdata_tradingday",
        "trading_auction", "trading_auctionfill", "trading_canceltimer",
        "trading_execution",
        "trading_executionfee", "trading_orderfee",
        "trading_market", "trading_order", "trading_registertold",
    },
    "their rows change, and accounts_rowchange has each change": {
        "accounts_apikey", "accounts_holderimport", "accounts_partner",
        "accounts_pepper", "accounts_user", "accounts_user_groups",
        "accounts_user_user_permissions", "accounts_userholder",
        "accounts_withdrawal", "auth_group", "auth_group_permissions",
        "django_session", "otp_totp_totpdevice",
    },
    "they prove nothing of units, cash or approvals": {
        "accounts_applicant", "accounts_country", "accounts_deskkey",
        "accounts_deskmember", "accounts_desknotice", "accounts_keyscope",
        "accounts_recoverycode", "accounts_staffnotice", "auth_permission",
        "axes_accessattempt", "axes_accessattemptexpiration",
        "axes_accessfailurelog", "axes_accesslog", "django_content_type",
        "issuers_article", "issuers_deliveryjob", "issuers_deliverystep",
        "issuers_document", "issuers_entrykind",
        "issuers_industryclassificationbenchmark", "issuers_issuer",
        "issuers_issuerfinancialdata", "issuers_issuergrant",
        "issuers_legacyimport", "issuers_legacyshareholderchange",
        "marketdata_conformancereport",
        "marketdata_fixlease", "marketdata_fixsession", "partnerapi_export",
        "partnerapi_exportmember", "partnerapi_failedsignin",
        "partnerapi_idempotencyrecord", "partnerapi_importjob", "partnerapi_jobrun",
        "partnerapi_requestcount", "partnerapi_webhookdelivery",
        "partnerapi_webhookendpoint", "partnerapi_webhooklease",
        "trading_clocklease", "trading_issueddocument", "trading_refusedorder",
    },
}  # fmt: skip


def test_every_table_is_stated_or_says_why_not():
    """A new table belongs into TABLES, or here with its reason."""
    tables = {
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
    }
    unstated = [name for names in NOT_STATED.values() for name in names]
    stated = {table.name for table in TABLES} - {"cash_entry_lines"}
    assert sorted(tables) == sorted([*unstated, *stated])


REWRITTEN_PAYMENTS = {
    "accounts_payee": "UPDATE accounts_payee SET name = 'Bob'",
    "accounts_houseaccount": "UPDATE accounts_houseaccount SET name = 'Bob'",
    "accounts_paymentfile": "UPDATE accounts_paymentfile SET content = 'Bob'",
    "accounts_paymentorder": "DELETE FROM accounts_paymentorder",
    "accounts_bankline": "UPDATE accounts_bankline SET text = 'Bob'",
}


def test_rewritten_payments_are_seen(write: Any):
    account = new_account(new_partner())
    deposit_of(account, 100_000)
    ana = colleague(ASKER).email or ""
    name_bank("Partner Platform", "FR7630006000011234567890189", ana)
    order_payments([approved(account, 100).pk], ana, timezone.now())
    statement = write()
    for table, rewrite in REWRITTEN_PAYMENTS.items():
        assert f"The rows of {table}" not in verify(statement)
        tamper(rewrite)
        assert f"The rows of {table}" in verify(statement)


def test_a_later_statement_covers_what_earlier_ones_did(trading: None, write: Any):
    write()
    second = write(2 * LATER)
    assert len(TABLES) == StatedRows.objects.filter(statement=2).count()
    assert not StatedRows.objects.filter(statement=2).exclude(rows=0).exists()
    tamper("UPDATE trading_orderevent SET actor = 'another'")
    assert "The rows of trading_orderevent until" in verify(second)


def test_digests_that_were_made_again_are_seen(trading: None, write: Any):
    statement = write()
    tamper("UPDATE issuers_statedrows SET seed = sha256(seed)")
    assert "The rows of trading_orderevent until" in verify(statement)
    tamper("UPDATE issuers_statedrows SET digest = sha256(seed)")
    assert "What earlier statements say of trading_orderevent" in verify(statement)
    tamper("DELETE FROM issuers_statedrows")
    assert "What earlier statements say of trading_orderevent" in verify(statement)


def test_a_row_of_the_past_that_came_later_is_seen(trading: None, write: Any):
    statement = write()
    tamper(
        "INSERT INTO accounts_rowchange (at, table_name, row_id, operation, who,"
        " source, request_id)"
        " VALUES ('2020-01-01Z', 'x', '1', 'UPDATE', 'me', 'SQL', '')"
    )
    assert "The rows of accounts_rowchange until" in verify(statement)


def test_the_public_digests_tell_nothing_of_rows(trading: None, write: Any):
    """The same rows have other digests in another statement."""
    stated = []
    for _ in range(2):
        file = write()
        details = Client().get("/statements/1").content.splitlines()[2]
        stated.append(json.loads(details)["tables"])
        tamper(SET_BACK)
        file.unlink()
    first, second = stated
    assert {*first} == {*second} == {table.stated_name for table in TABLES}
    full = {"trading_orderevent", "issuers_event", "cash_entry_lines"}
    assert not any(first[name] == second[name] for name in full)


def test_events_that_may_be_pruned_are_not_compared(trading: None, write: Any):
    statement = write()
    tamper(
        "UPDATE issuers_statedrows SET until = until - interval '60 days'"
        " WHERE name = 'issuers_event'; DELETE FROM issuers_event"
    )
    said = verify(statement)
    assert "The rows of issuers_event" not in said


def test_a_statement_of_the_release_before_is_still_compared(
    trading: None, write: Any, settings: Any
):
    """It names columns, and digests all rows of a table at once."""
    statement = write()
    said = json.loads(statement.read_bytes().partition(b"\n")[0])
    [until] = {one["until"] for one in said["tables"]}
    orders = next(one for one in TABLES if one.name == "trading_orderevent")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ROW(actor, number)::text FROM trading_orderevent"
            " ORDER BY token_id, number"
        )
        lines = [f"{line}\n" for (line,) in cursor.fetchall()]
    said["tables"] = [
        {
            "table": orders.name,
            "columns": ["actor", "number"],
            "until": until,
            "rows": len(lines),
            "digest": hashlib.sha256("".join(lines).encode()).hexdigest(),
        }
    ]
    del said["policies"]
    line = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    signature = private_key(settings.PARTNER_API_STATEMENT_KEY).sign(line)
    statement.write_bytes(line + b"\n" + base64.b64encode(signature) + b"\n")
    assert "The rows of trading_orderevent" not in verify(statement)
    tamper("UPDATE trading_orderevent SET actor = 'another'")
    assert "The rows of trading_orderevent until" in verify(statement)
