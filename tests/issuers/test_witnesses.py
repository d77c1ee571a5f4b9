"""Partners sign public statements as witnesses, and anyone reads who did."""

import base64
import uuid
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.test import Client
from django.utils import timezone

from accounts.keys.models import Partner
from issuers.register.statement_models import Witness, WitnessKey
from issuers.register.statements import write_statement
from tests.characters import Ask, World

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("unlimited_budgets"),
]

ACKNOWLEDGE = """mutation ($input: AcknowledgeStatementInput!) {
  acknowledgeStatement(input: $input) {
    number witnesses { partner publicKey signature at } } }"""


@pytest.fixture
def line(world: World, tmp_path: Path) -> str:
    """The line of statement 1."""
    write_statement(tmp_path, Ed25519PrivateKey.generate(), timezone.now())
    return Client().get("/statements/1").content.decode().splitlines()[0]


def new_key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def sign(key: Ed25519PrivateKey, line: str, number: int = 1) -> dict[str, Any]:
    return {
        "input": {
            "number": number,
            "publicKey": text(key.public_key().public_bytes_raw()),
            "signature": text(key.sign(line.encode())),
        }
    }


def test_a_statement_shows_who_witnessed_it(line: str, partner: Ask, world: World):
    assert Client().get("/statements/1/witnesses").json() == {"witnesses": []}
    key = Ed25519PrivateKey.generate()
    for _ in range(2):
        said = partner(ACKNOWLEDGE, sign(key, line), **new_key()).data
        assert [
            one["partner"] for one in said["acknowledgeStatement"]["witnesses"]
        ] == [WitnessKey.objects.get().partner.login]
    [witness] = Client().get("/statements/1/witnesses").json()["witnesses"]
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(witness["publicKey"]))
    public.verify(base64.b64decode(witness["signature"]), line.encode())
    document = "query ($id: ID!) { token(id: $id) { statement { %s } } }"
    stated = partner(
        document % "witnesses { partner publicKey signature at }",
        {"id": f"Token|{world.public_token.pk}"},
    ).data["token"]["statement"]
    assert stated["witnesses"] == [witness]


def test_a_wrong_signature_is_refused(line: str, partner: Ask):
    key = Ed25519PrivateKey.generate()
    good = sign(key, line)["input"]
    for wrong, argument in (
        (sign(key, line + " ")["input"], "input.signature"),
        (good | {"signature": "?"}, "input.signature"),
        (good | {"publicKey": "c2hvcnQ="}, "input.publicKey"),
    ):
        answer = partner(ACKNOWLEDGE, {"input": wrong}, **new_key())
        assert answer.code == "BAD_USER_INPUT"
        assert answer.errors[0]["extensions"]["argument"] == argument
    for number in (2, 2**64 - 1):
        answer = partner(ACKNOWLEDGE, sign(key, line, number), **new_key())
        assert answer.code == "NOT_FOUND"
    assert not Witness.objects.exists()
    assert not WitnessKey.objects.exists()


def test_a_key_is_of_one_partner(line: str, partner: Ask, observer: Ask, world: World):
    key = Ed25519PrivateKey.generate()
    assert observer(ACKNOWLEDGE, sign(key, line), **new_key()).code == "FORBIDDEN"
    other = Partner.objects.create(login="other", name="Other")
    public = sign(key, line)["input"]["publicKey"]
    WitnessKey.objects.create(partner=other, public_key=public, since=timezone.now())
    answer = partner(ACKNOWLEDGE, sign(key, line), **new_key())
    assert answer.errors[0]["message"] == "`publicKey` is the key of another partner."
    assert not Witness.objects.exists()
