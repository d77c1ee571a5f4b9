"""The register in tests: issuers, tokens and holders of its own."""

import base64
import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from accounts.people.models import User
from issuers.models import Issuer, Token
from issuers.register import ledger
from tests.owner import tamper

SET_BACK = """DELETE FROM issuers_holdersalt; DELETE FROM issuers_holdercommitment;
    DELETE FROM issuers_holdingtree; DELETE FROM issuers_holdingpage;
    DELETE FROM issuers_statedtoken; DELETE FROM issuers_statedrows;
    DELETE FROM issuers_statement"""
"""What a restored database lacks of its statements."""


def new_statement_key() -> str:
    """A value of PARTNER_API_STATEMENT_KEY."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def new_issuer() -> Issuer:
    name = f"i{uuid.uuid4().hex}"
    owner = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    return Issuer.objects.create(
        trading_name=name, slug=name, trading_location="Lyon", owner=owner
    )


def empty_token(issuer: Issuer, symbol: str, at: datetime) -> Token:
    with past(issuer):
        return Token.objects.create(
            issuer=issuer, name=symbol, symbol=symbol, created_at=at
        )


@contextmanager
def past(*issuers: Issuer) -> Iterator[None]:
    """A transaction that may write the issuers' past, as if it had made them."""
    named = ", ".join(f"'{issuer.pk}'" for issuer in issuers)
    with transaction.atomic():
        tamper(
            "UPDATE issuers_issuer SET recorded_in = register_transaction(0)"
            f" WHERE id IN ({named})"
        )
        yield


def people(count: int) -> list[User]:
    """Users by their ids, with profiles and ledger accounts."""
    users = User.objects.bulk_create(
        User(type=User.Type.INDIVIDUAL, first_name="Holder", last_name=str(number))
        for number in range(count)
    )
    ledger.holder_accounts(user.pk for user in users)
    return sorted(users, key=lambda user: str(user.pk))
