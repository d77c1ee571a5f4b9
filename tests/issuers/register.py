"""The register in tests: emptied, and written with a history of its own."""

import contextlib
import uuid
from collections.abc import Iterator
from datetime import datetime

from django.db import connection

from accounts.models import User
from issuers.models import Issuer, Token
from issuers.register import ledger

GUARDED = (
    "issuers_ledgertransaction",
    "issuers_ledgerposting",
    "issuers_tokenprice",
    "accounts_userholder",
    "marketdata_orderbookhead",
    "marketdata_bookchange",
    "marketdata_trade",
)


@contextlib.contextmanager
def unguarded_register() -> Iterator[None]:
    """Let the owner of the tables do with them what their triggers refuse."""
    alter("DISABLE")
    yield
    alter("ENABLE")


def alter(state: str) -> None:
    with connection.cursor() as cursor:
        # Checks that wait for the end of the transaction would hold the tables.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for table in GUARDED:
            cursor.execute(f"ALTER TABLE {table} {state} TRIGGER USER")


def new_issuer() -> Issuer:
    name = f"i{uuid.uuid4().hex}"
    owner = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    return Issuer.objects.create(
        trading_name=name, slug=name, trading_location="Lyon", owner=owner
    )


def empty_token(issuer: Issuer, symbol: str, at: datetime) -> Token:
    return Token.objects.create(
        issuer=issuer, name=symbol, symbol=symbol, created_at=at
    )


def people(count: int) -> list[User]:
    """Users by their ids, with profiles and ledger accounts."""
    users = User.objects.bulk_create(
        User(type=User.Type.INDIVIDUAL, first_name="Holder", last_name=str(number))
        for number in range(count)
    )
    ledger.holder_accounts(user.pk for user in users)
    return sorted(users, key=lambda user: str(user.pk))
