"""What partners do with exports: ask for one, wait, download."""

import gzip
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.test import Client
from django.utils import timezone

from accounts.accounts.models import Account
from issuers.register import ledger
from issuers.register.ledger import Entry, Price
from partnerapi.exports import rows, writing
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.exports.models import Export
from partnerapi.exports.writing import write_exports
from partnerapi.schema import schema
from tests.approved import desk
from tests.characters import Ask, World
from tests.issuers.register import people

CREATE = """
mutation ($input: CreateExportInput!) { createExport(input: $input) { export {
  id connection status date rows sizeBytes url expiresAt reason
} } }
"""
EXPORT = """
query ($id: ID!) { export(id: $id) {
  id connection status date rows sizeBytes url expiresAt reason
} }
"""
SECONDS = 60


@dataclass
class Partner:
    """A partner's program, with a key."""

    ask: Ask
    http: Client = field(default_factory=Client)

    def create(self, connection: str, **members: Any) -> str:
        """Ask for an export; its id."""
        answer = self.try_to_create(connection, **members)
        export = answer.data["createExport"]["export"]
        assert export["status"] == "WAITING"
        return export["id"]

    def try_to_create(self, connection: str, key: str = "", **members: Any) -> Any:
        variables = {"input": {"connection": connection, **members}}
        return self.ask(CREATE, variables, **{"Idempotency-Key": key or str(uuid4())})

    def export(self, id: str) -> dict[str, Any]:
        return self.ask(EXPORT, {"id": id}).data["export"]

    def get(self, id: str, **headers: str) -> Any:
        return self.http.get(self.export(id)["url"], headers=headers)

    def lines(self, id: str) -> list[dict[str, Any]]:
        """The rows of the file that is downloaded."""
        content = b"".join(self.get(id).streaming_content)
        return [orjson.loads(line) for line in gzip.decompress(content).splitlines()]


def uuid_of(id: str) -> UUID:
    return UUID(id.partition("|")[2])


def write() -> None:
    assert write_exports(schema, SECONDS) is False


@pytest.fixture
def client_of(partner: Ask) -> Partner:
    return Partner(partner)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of three rows, and members of two of them at most."""
    for_tests = {n: replace(e, page_rows=3) for n, e in CONNECTIONS.items()}
    monkeypatch.setattr(rows, "CONNECTIONS", for_tests)
    monkeypatch.setattr(writing, "TEXT_BYTES", 700)


@pytest.fixture
def register(world: World) -> list[int]:
    """Holders of two tokens, and 30 entries; the accounts of the register."""
    accounts = [*ledger.holder_accounts(user.pk for user in people(10)).values()]
    first, second = world.public_token.pk, world.private_token.pk
    ledger.record([Entry(first, "MINT", 9, None, a) for a in accounts], "me")
    ledger.set_prices([Price(first, 25, "NAV")], "me")
    ledger.record([Entry(second, "MINT", 5, None, a) for a in accounts[:4]], "me")
    sold = [Entry(first, "TRANSFER", 9, accounts[0], a) for a in accounts[1:2]]
    ledger.record(sold, "me")
    return accounts


@pytest.fixture
def clients(world: World) -> list[Account]:
    opened = []
    for number, user in enumerate(people(7)):
        at = timezone.now() - timedelta(days=7 - number)
        account = Account.objects.open(world.partner, user, desk(), at)
        if number % 2:
            account.change_status("ACTIVE", desk(), "Checked")
        opened.append(account)
    return opened


@pytest.fixture
def ready(small_pages: None, register: list[int], client_of: Partner) -> str:
    """An export that can be downloaded: its id."""
    token = Export.Connection.TRANSACTIONS
    id = client_of.create(token, tokenID=token_id(client_of))
    write()
    return id


def token_id(partner: Partner) -> str:
    return partner.ask('{ token(symbol: "LUM") { id } }').data["token"]["id"]
