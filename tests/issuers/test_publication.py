"""Public statements: what anyone reads without a key and checks by the documents."""

import base64
import hashlib
import io
import json
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.publication import (
    AnotherPublished,
    levels,
    path_of,
    publish,
)
from issuers.register.statement_models import RecordInstant, Statement
from issuers.register.statements import private_key, take_statement
from partnerapi.core.times import to_rfc3339
from partnerapi.operations.tasks import state_record_instants
from tests.approved import approved_price, approved_record
from tests.characters import Ask, World
from tests.issuers.register import SET_BACK, empty_token, new_statement_key, people
from tests.owner import tamper

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person", "unlimited_budgets"),
]

STATED = """query ($id: ID!) { token(id: $id) {
  statement { number at record salt path line signature }
  ledgerHead { sequence digest priceDigest signed statement }
} }"""


@pytest.fixture
def write(settings: Any, tmp_path: Path) -> Any:
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()

    def write(**options: Any) -> str:
        said = io.StringIO()
        call_command(
            "export", "register-statement", directory=tmp_path, stdout=said, **options
        )
        return said.getvalue()

    return write


@pytest.fixture
def token(world: World) -> Any:
    token = world.public_token.pk
    [a, b] = ledger.holder_accounts(user.pk for user in people(2)).values()
    approved_record(
        [Entry(token, "MINT", 100, None, a), Entry(token, "TRANSFER", 30, a, b)], "me"
    )
    approved_price(token, 500, "NAV", "me")
    return token


def get(path: str) -> Any:
    response = Client().get(path)
    assert response.status_code == 200
    assert not response.cookies
    return response


def verified(line: str, signature: str) -> dict[str, Any]:
    """A line that is signed by a published key; the documentation's way."""
    said = json.loads(line)
    keys = get("/.well-known/partner-api-keys.json").json()["keys"]
    [x] = [key["x"] for key in keys if key["kid"] == said["key"]]
    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(x + "="))
    public.verify(base64.b64decode(signature), line.encode())
    assert line == json.dumps(
        said, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return said


def root_from(stated: dict[str, Any]) -> str:
    text = bytes.fromhex(stated["salt"]) + stated["record"].encode()
    node = hashlib.sha256(b"\0" + text).digest()
    for sibling in stated["path"]:
        other = bytes.fromhex(sibling[1:])
        pair = other + node if sibling[0] == "L" else node + other
        node = hashlib.sha256(b"\1" + pair).digest()
    return node.hex()


def test_a_partner_proves_what_is_stated_of_a_token(
    token: Any, world: World, write: Any, partner: Ask
):
    before = partner(STATED, {"id": f"Token|{token}"}).data["token"]
    assert before["statement"] is before["ledgerHead"]["statement"] is None
    assert before["ledgerHead"]["signed"] is False
    for number in range(5):
        empty_token(world.quiet, f"T{number}", world.public_token.created_at)
    write()
    found = partner(STATED, {"id": f"Token|{token}"}).data["token"]
    stated, head = found["statement"], found["ledgerHead"]
    said = verified(stated["line"], stated["signature"])
    assert root_from(stated) == said["tokensRoot"]
    assert (head["signed"], head["statement"], said["number"]) == (True, 1, 1)
    assert json.loads(stated["record"]) == {
        "at": stated["at"],
        "createdAt": world.public_token.created_at.isoformat(),
        "entries": "2",
        "entryDigest": head["digest"],
        "held": "100",
        "holders": "2",
        "holdingsRoot": json.loads(stated["record"])["holdingsRoot"],
        "issuer": str(world.listed.pk),
        "priceDigest": head["priceDigest"],
        "prices": "1",
        "statement": "1",
        "supply": "100",
        "symbol": "LUM",
        "token": f"Token|{token}",
    }
    line, signature, details = get("/statements/1").content.decode().splitlines()
    assert (line, signature) == (stated["line"], stated["signature"])
    assert hashlib.sha256(details.encode()).hexdigest() == said["details"]
    assert sorted(json.loads(details)) == ["deciders", "erasures", "names", "tables"]
    assert Client().get("/statements/2").status_code == 404
    forged = stated | {"record": stated["record"].replace('"100"', '"101"')}
    assert root_from(forged) != said["tokensRoot"]
    approved_price(token, 501, "NAV", "me")
    assert partner(STATED, {"id": f"Token|{token}"}).data["token"]["ledgerHead"] == (
        head
        | {
            "signed": False,
            "priceDigest": Token.objects.get(pk=token).ledger_head.price_digest.hex(),
        }
    )


def test_a_stranger_learns_nothing_of_a_token(
    token: Any, world: World, write: Any, stranger: Ask
):
    write()
    line, _, _ = get("/statements/1").content.decode().splitlines()
    tokens = Token.objects.values_list("pk", "symbol")
    assert not any(str(pk) in line or symbol in line for pk, symbol in tokens)
    refused = stranger(STATED, {"id": f"Token|{token}"}).body
    assert refused["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def test_each_statement_names_the_one_before(token: Any, write: Any):
    for _ in range(3):
        write()
    listed = get("/statements").json()["statements"]
    assert [one["number"] for one in listed] == [3, 2, 1]
    lines = [get(one["address"]).content.decode().splitlines() for one in listed]
    for one, (line, signature, _), earlier in zip(
        listed, lines, [*listed[1:], None], strict=True
    ):
        said = verified(line, signature)
        assert hashlib.sha256(line.encode()).hexdigest() == one["digest"]
        assert said["previousDigest"] == (earlier and earlier["digest"])
    paged = get("/statements?before=2").json()["statements"]
    assert [one["number"] for one in paged] == [1]
    assert Client().get("/statements?before=x").status_code == 404
    again = Client().get("/statements/1", headers={"if-none-match": "no"})
    etag = {"if-none-match": again["ETag"]}
    assert Client().get("/statements/1", headers=etag).status_code == 304


def test_a_statement_follows_each_record_instant(
    token: Any, write: Any, settings: Any, tmp_path: Path
):
    settings.PARTNER_API_STATEMENTS = str(tmp_path)
    later = timezone.now() + timedelta(days=30)
    said = write(at=later, reason="Dividend")
    assert said == f"The register will be stated when {to_rfc3339(later)} is over.\n"
    for refused in ({"at": later, "reason": "Dividend"}, {"at": later, "reason": None}):
        with pytest.raises(CommandError, match="stated already|Give a --reason"):
            write(**refused)
    state_record_instants()
    assert not Statement.objects.exists()
    tamper("UPDATE issuers_recordinstant SET at = clock_timestamp()")
    [instant] = RecordInstant.objects.all()
    state_record_instants()
    state_record_instants()
    [statement] = Statement.objects.all()
    assert statement.at >= instant.at


def test_a_key_is_introduced_by_the_one_before(token: Any, write: Any, settings: Any):
    write()
    following = new_statement_key()
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(following))
    public = private.public_key().public_bytes_raw()
    text = base64.b64encode(public).decode()
    assert "Introduced key " in write(introduce=text)
    with pytest.raises(CommandError, match="introduced before"):
        write(introduce=text)
    with pytest.raises(CommandError, match="not the base64 of 32 bytes"):
        write(introduce="short")
    settings.PARTNER_API_STATEMENT_KEY = following
    write()
    line, signature, _ = get("/statements/2").content.decode().splitlines()
    verified(line, signature)
    first, second = get("/.well-known/partner-api-keys.json").json()["keys"]
    assert (first["introducedBy"], first["isBreak"], second["isBreak"]) == (
        None,
        False,
        False,
    )
    signed = {name: second[name] for name in ("introducedBy", "kid", "since", "x")}
    by = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(first["x"] + "="))
    canonical = json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()
    by.verify(base64.b64decode(second["signature"]), canonical)
    with pytest.raises(InvalidSignature):
        by.verify(base64.b64decode(second["signature"]), canonical + b" ")
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()
    write()
    *_, lost = get("/.well-known/partner-api-keys.json").json()["keys"]
    assert (lost["introducedBy"], lost["isBreak"]) == (None, True)


def test_no_statement_is_written_over_a_database_that_was_set_back(
    token: Any, write: Any
):
    write()
    tamper(SET_BACK)
    with pytest.raises(CommandError, match="an older state of the database"):
        write()


def test_of_two_at_once_the_second_says_so(token: Any, settings: Any):
    key = private_key(new_statement_key())
    at = timezone.now()
    first, second = take_statement(at), take_statement(at)
    assert publish(*first, key, at, 0).number == 1
    with pytest.raises(AnotherPublished, match="was writing statement 1, and has"):
        publish(*second, key, at, 0)
    assert get("/statements").json()["statements"][0]["number"] == 1


def test_no_statement_follows_a_file_that_was_spoiled(
    token: Any, write: Any, tmp_path: Path
):
    write()
    [file] = tmp_path.glob("*.statement")
    file.write_bytes(b"")
    with pytest.raises(CommandError, match="is no statement: it was altered"):
        write()


def test_a_statement_of_another_history_has_its_own_tree(
    token: Any, write: Any, partner: Ask, tmp_path: Path
):
    """A restored database may sign a number a second time."""
    roots = []
    for _ in range(2):
        write()
        stated = partner(STATED, {"id": f"Token|{token}"}).data["token"]["statement"]
        roots.append(json.loads(stated["line"])["tokensRoot"])
        assert (stated["number"], root_from(stated)) == (1, roots[-1])
        tamper(SET_BACK)
        for file in tmp_path.glob("*.statement"):
            file.unlink()
    assert roots[0] != roots[1]


def test_an_address_of_no_statement_is_not_found(db: None):
    for number in ("0", str(2**63), "9" * 40, "x"):
        assert Client().get(f"/statements/{number}").status_code == 404
    assert get("/statements").json() == {"statements": []}
    assert get("/.well-known/partner-api-keys.json").json() == {"keys": []}


def test_a_tree_of_any_size_has_a_path_for_each_leaf():
    for size in range(1, 20):
        leaves = [secrets.token_bytes(32) for _ in range(size)]
        tree = levels(leaves)
        for leaf in leaves:
            node = leaf
            for sibling in path_of(tree, leaf):
                other = bytes.fromhex(sibling[1:])
                pair = other + node if sibling[0] == "L" else node + other
                node = hashlib.sha256(b"\1" + pair).digest()
            assert node == tree[-1][0]
