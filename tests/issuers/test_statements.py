"""Signed statements, and that they betray what even the tables' owner rewrites."""

import base64
import hashlib
import io
import itertools
import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.people.models import UserHolder
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry, Price
from issuers.register.models import LedgerTransaction
from issuers.register.reasons import ReasonCode
from issuers.register.stated_names import names_digest
from issuers.register.statements import (
    differences,
    private_key,
    read_statement,
    write_statement,
)
from tests.approved import desk
from tests.characters import World
from tests.issuers.register import empty_token, new_issuer, new_statement_key, people
from tests.owner import as_owner

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person"),
]


@pytest.fixture
def key(settings: Any) -> str:
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()
    return settings.PARTNER_API_STATEMENT_KEY


@pytest.fixture
def token(key: str) -> Token:
    issuer = new_issuer()
    token = empty_token(issuer, "STATED", timezone.now())
    one, other = (user.ledger_account.pk for user in people(2))
    ledger.record(
        [
            Entry(token.pk, "MINT", 100, target=one, reason="the first"),
            Entry(token.pk, "TRANSFER", 30, one, other, reason="sold"),
        ],
        "ana@example.com",
    )
    ledger.set_prices([Price(token.pk, 500, "MANUAL")], "ana@example.com")
    return token


@pytest.fixture
def statement(token: Token, tmp_path: Path) -> Path:
    call_command(
        "export", "register-statement", directory=tmp_path, stdout=io.StringIO()
    )
    [written] = tmp_path.glob("*.statement")
    return written


def verify(statement: Path, **options: Any) -> str:
    said = io.StringIO()
    try:
        call_command("verify", "register", against=statement, stdout=said, **options)
    except CommandError as error:
        return f"{said.getvalue()}{error}"
    return said.getvalue()


def test_what_was_stated_holds_while_the_register_goes_on(
    token: Token, statement: Path
):
    holder = ledger.holder_accounts([people(1)[0].pk])
    [account] = holder.values()
    ledger.record([Entry(token.pk, "MINT", 5, target=account)], "ana@example.com")
    said = verify(statement)
    assert f"the register agrees with {statement.name}: 36, ok" in said
    assert said.splitlines()[-1].startswith("All ")


def test_it_names_the_heads_of_each_token(token: Token, statement: Path):
    said = json.loads(statement.read_text().splitlines()[0])
    token.ledger_head.refresh_from_db()
    assert said["tokens"] == [
        {
            "token": str(token.pk),
            "symbol": "STATED",
            "issuer": str(token.issuer_id),
            "createdAt": token.created_at.isoformat(),
            "entries": 2,
            "entryDigest": bytes(token.ledger_head.entry_digest).hex(),
            "prices": 1,
            "priceDigest": bytes(token.ledger_head.price_digest).hex(),
            "supply": "100",
            "held": "100",
            "holders": 2,
        }
    ]
    assert said["previous"] is None


def test_each_names_the_one_before_it(token: Token, statement: Path):
    later = statement.with_name("register-99991231T235959Z.statement")
    statement.rename(later)
    call_command(
        "export", "register-statement", directory=later.parent, stdout=io.StringIO()
    )
    [new] = [path for path in later.parent.glob("*.statement") if path != later]
    assert json.loads(new.read_text().splitlines()[0])["previous"] == later.name


REWRITTEN = """
    UPDATE issuers_tokenledgerhead SET
        entry_digest = register_chain_entries(
            token_id, 0, decode(repeat('00', 32), 'hex')),
        price_digest = register_chain_prices(
            token_id, 0, decode(repeat('00', 32), 'hex'))
"""


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        (
            "UPDATE issuers_ledgertransaction SET reason = 'given' WHERE seq = 2",
            "The entries of STATED up to 2",
        ),
        (
            "UPDATE issuers_tokenprice SET price_cents = 900",
            "The prices of STATED up to 1",
        ),
        (
            "DELETE FROM issuers_tokenprice; "
            "UPDATE issuers_tokenledgerhead SET last_price = 0, last_price_at = NULL,"
            " price_cents = NULL",
            "The prices of STATED up to 1",
        ),
        (
            "UPDATE issuers_ledgeraccount SET user_id = CASE user_id"
            " WHEN (SELECT min(user_id::text)::uuid FROM issuers_ledgeraccount)"
            " THEN gen_random_uuid() ELSE user_id END",
            "The entries of STATED up to 2",
        ),
        (
            "UPDATE issuers_token SET created_at = created_at - interval '1 day'",
            "The issuer or creation time of token STATED has changed.",
        ),
        (
            "INSERT INTO issuers_token (id, issuer_id, name, symbol, created_at,"
            " market_type, visibility, network)"
            " SELECT gen_random_uuid(), issuer_id, 'Late', 'LATE', '2020-01-01Z',"
            " market_type, visibility, network FROM issuers_token",
            "Token LATE is not in the statement, but its creation time is 2020-01-01",
        ),
        (
            "INSERT INTO issuers_tokenprice (token_id, number, price_cents, source,"
            " effective_at, recorded_by) SELECT token_id, 2, 5, 'NAV', '2020-01-01Z',"
            " 'me' FROM issuers_tokenprice; "
            "UPDATE issuers_tokenledgerhead SET last_price = 2, price_cents = 5",
            "The prices of STATED were 1, and 1 later ones have times from 2020-01-01",
        ),
        (
            "UPDATE accounts_userholder SET name = 'Someone else'",
            "The names of holders as of",
        ),
    ],
)
def test_finds_what_the_owner_rewrote_and_digested_anew(
    token: Token, statement: Path, tampering: str, found: str
):
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(tampering)
        cursor.execute(REWRITTEN)
    said = verify(statement)
    assert found in said
    assert f"the register agrees with {statement.name}: 36, BROKEN " in said


# What the owner makes of each column of an entry.
TAMPERED = {
    "kind": "CASE kind WHEN 'MINT' THEN 'ALLOCATE' ELSE 'MINT' END",
    "source_id": "{stranger}",
    "target_id": "{stranger}",
    "amount": "amount + 1",
    "effective_at": "effective_at - interval '1 us'",
    "recorded_at": "recorded_at - interval '1 us'",
    "supply_after": "supply_after + 1",
    "held_after": "held_after - 1",
    "holders_after": "holders_after + 1",
    "actor": "'bo@example.com'",
    "reason": "reason || '.'",
    "reason_code": "'GIFT'",
    "chain_reference": "'0x1'",
    "legacy_shareholder_id": "gen_random_uuid()",
    "reverses": "1",
    "source_before": "coalesce(source_before, 0) + 1",
    "target_before": "coalesce(target_before, 0) + 1",
    "previous_digest": "sha256(salt)",
    "salt": "substr(sha256(salt), 1, 16)",
    "private_digest": "sha256(private_digest)",
}
DIGESTED_ANEW = """
    UPDATE issuers_ledgertransaction SET private_digest = sha256(salt || convert_to(
        register_entry_detail(actor, legacy_shareholder_id, reason, recorded_at),
        'UTF8'))
"""
KEPT = "CREATE TEMP TABLE kept AS TABLE issuers_ledgertransaction"
BACK = """
    DELETE FROM issuers_ledgertransaction;
    INSERT INTO issuers_ledgertransaction TABLE kept
"""


def test_each_tampering_with_an_entry_is_refused_or_seen(token: Token, statement: Path):
    """Whether the owner digests private parts and chains anew, or chains only."""
    stranger, source = (user.ledger_account.pk for user in people(2))
    mint = Entry(token.pk, "MINT", 1, target=source, code=ReasonCode.ISSUE)
    ledger.record([mint], "ana@example.com")
    key = private_key(settings.PARTNER_API_STATEMENT_KEY)
    path = write_statement(statement.parent, key, timezone.now())
    said = read_statement(path, key.public_key())
    assert set(TAMPERED) == {
        field.attname for field in LedgerTransaction._meta.concrete_fields
    } - {"token_id", "seq"}
    refused = 0
    tried = list(itertools.product((1, 2, 3), TAMPERED, ("", DIGESTED_ANEW)))
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(KEPT)
        assert list(differences(said, timezone.now())) == []
        for number, column, anew in tried:
            value = TAMPERED[column].format(stranger=stranger)
            update = f"UPDATE issuers_ledgertransaction SET {column} = {value}"
            try:
                cursor.execute(f"{update} WHERE seq = {number}")
            except IntegrityError:
                refused += 1
                continue
            cursor.execute(anew + ";" + REWRITTEN if anew else REWRITTEN)
            found = list(differences(said, timezone.now()))
            is_back = column == "private_digest" and anew
            assert bool(found) is not is_back, (number, column, anew)
            cursor.execute(BACK)
            cursor.execute(REWRITTEN)
        assert list(differences(said, timezone.now())) == []
    assert len(tried) - refused >= 54


def test_the_digest_of_names_is_of_a_line_for_each_holder(token: Token):
    holders = people(102)
    accounts = ledger.holder_accounts([holder.pk for holder in holders])
    entries = [Entry(token.pk, "MINT", 1, target=a) for a in accounts.values()]
    ledger.record(entries, "ana@example.com")
    strange = 'Ærø "A" \\ \t\x7f\u2028 山😀'
    UserHolder.objects.filter(user=holders[50]).update(name=strange)
    stated = [{"token": str(token.pk), "entries": 2 + len(entries)}]
    named = UserHolder.objects.filter(ledger_account__isnull=False)
    rows = [*named.order_by("user").values_list("user_id", "name")]
    lines = "".join(f"{user} {json.dumps(name)}\n" for user, name in rows)
    digest = hashlib.sha256(lines.encode()).hexdigest()
    assert strange in dict(rows).values()
    assert names_digest(stated, timezone.now()) == (len(rows), digest)


def test_finds_a_token_in_the_past_of_an_issuer_without_any(key: str, tmp_path: Path):
    issuer = new_issuer()
    call_command(
        "export", "register-statement", directory=tmp_path, stdout=io.StringIO()
    )
    empty_token(issuer, "LATE", timezone.now() - timedelta(days=2))
    [statement] = tmp_path.glob("*.statement")
    assert ("Token LATE is not in the statement, but its creation time is ") in verify(
        statement
    )


def test_finds_what_the_owner_rewrote_of_other_histories(
    world: World, key: str, tmp_path: Path
):
    user = world.owner
    actor = desk()
    Account.objects.open(world.partner, user, actor, timezone.now())
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE accounts_accountstatuschange"
            " SET recorded_at = recorded_at - interval '1 day'"
        )
    call_command(
        "export", "register-statement", directory=tmp_path, stdout=io.StringIO()
    )
    [statement] = tmp_path.glob("*.statement")
    stated = json.loads(statement.read_text().splitlines()[0])["tables"]
    assert stated[0]["table"] == "accounts_accountstatuschange"
    assert stated[0]["rows"] > 0
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_accountstatuschange SET reason = 'another'")
    assert "The rows of accounts_accountstatuschange until" in verify(statement)


def forged(statement: Path) -> None:
    line, signature = statement.read_bytes().splitlines()
    statement.write_bytes(
        line.replace(b'"entries":2', b'"entries":1') + b"\n" + signature
    )


def shortened(statement: Path) -> None:
    statement.write_bytes(statement.read_bytes()[:50])


def emptied(statement: Path) -> None:
    statement.write_bytes(b"")


@pytest.mark.parametrize("spoil", [forged, shortened, emptied])
def test_a_statement_that_was_changed_is_refused(
    statement: Path, spoil: Callable[[Path], None]
):
    spoil(statement)
    assert "is not signed with the key" in verify(statement)


def test_needs_the_key_that_signed_it(statement: Path, settings: Any):
    public = json.loads(statement.read_text().splitlines()[0])["publicKey"]
    settings.PARTNER_API_STATEMENT_KEY = ""
    assert "The signer's key is unknown" in verify(statement)
    assert "All " in verify(statement, public_key=public)
    assert "is not the base64" in verify(statement, public_key="short")
    other = base64.b64encode(secrets.token_bytes(32)).decode()
    assert "is not signed with the key" in verify(statement, public_key=other)


def test_says_what_is_missing(settings: Any, tmp_path: Path, db: None):
    settings.PARTNER_API_STATEMENT_KEY = ""
    with pytest.raises(CommandError, match="PARTNER_API_STATEMENT_KEY is not set"):
        call_command("export", "register-statement", directory=tmp_path)
    said = io.StringIO()
    call_command("export", "register-statement", new_key=True, stdout=said)
    settings.PARTNER_API_STATEMENT_KEY = said.getvalue().strip().partition("=")[2]
    settings.PARTNER_API_STATEMENTS = ""
    with pytest.raises(CommandError, match="PARTNER_API_STATEMENTS is not set"):
        call_command("export", "register-statement")
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export", "register-statement", directory=tmp_path / "file")
