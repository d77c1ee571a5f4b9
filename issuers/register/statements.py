"""Signed statements of the register, to be kept outside the database.

A statement is a file of two lines: a JSON object, and the base64 of the Ed25519
signature of that line's UTF-8. The object names all issuers; for each token, its
issuer, its creation, how many entries and prices there are and the digests of their
chains; for each table of TABLES, how many of its rows are older than an hour and a
digest of their commitments; a digest of the commitments to the names that holders had;
the last erasure of a person; the passkeys of staff that were vouched for, and the kinds
of requests that are decided with one. It also names the public statement that was
signed with it, by number and digest.

A person who rewrites covered rows must also forge the statement: the database's owner
has neither its key nor access to the place where it is kept.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.db import connection, transaction

from accounts.approvals.models import ApprovalPolicy
from accounts.approvals.verification import kinds_signed, passkeys_stated
from accounts.passkeys.models import Passkey
from issuers.register.chains import Chain, digest_after
from issuers.register.erasure_records import erasure_differences, erasures_now
from issuers.register.holding_trees import SETTLED, HoldingTrees
from issuers.register.publication import publish, trees_of
from issuers.register.stated_names import name_differences, names_stated
from issuers.register.stated_rows import (
    TABLES,
    digest_over,
    state_rows,
    table_differences,
)
from issuers.register.statement_models import StatedRows
from partnerapi.core.database import SCHEMA_FIRST

CHAINS = {
    "entries": (Chain.ENTRIES, "entryDigest"),
    "prices": (Chain.PRICES, "priceDigest"),
}


class WrongStatementError(Exception):
    """The file is not a statement of this platform; the message says why."""


def write_statement(directory: Path, key: Ed25519PrivateKey, at: datetime) -> Path:
    """Publish the statement of `at`, the present instant; return the operator's file.

    Raises:
        OSError: the directory cannot be written.
        AnotherPublished: another process has published a statement meanwhile, or
            erased a person.
        DatabaseSetBack: the last file names a statement that the database lacks.
        HoldingsDisagree: what holders have is not what is held.
        WrongStatementError: the last file is none.
    """
    earlier = sorted(directory.glob("register-*.statement"))
    content, trees, rows = take_statement(at)
    least = last_named(earlier[-1]) if earlier else 0
    public = publish(content, trees, rows, key, at, least)
    said = content | {
        "statement": public.number,
        "statementDigest": public.digest,
        "previous": earlier[-1].name if earlier else None,
        "previousDigest": digest_of(earlier[-1]) if earlier else None,
        "publicKey": public_text(key.public_key()),
    }
    line = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    path = directory / f"register-{at:%Y%m%dT%H%M%SZ}.statement"
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        file.write(line + b"\n" + base64.b64encode(key.sign(line)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    Passkey.objects.note_listed([one["passkey"] for one in said["passkeys"]])
    return path


def last_named(file: Path) -> int:
    """The number of the public statement that a file names; 0: it is older than these.

    Raises:
        WrongStatementError: it is no statement.
    """
    try:
        said = json.loads(file.read_bytes().partition(b"\n")[0])
    except ValueError:
        raise WrongStatementError(
            f"{file.name} is no statement: it was altered. Keep it apart as evidence."
        ) from None
    return said.get("statement", 0)


def take_statement(
    at: datetime,
) -> tuple[dict[str, Any], HoldingTrees, list[StatedRows]]:
    """The content of a statement, its trees, and what it says of rows of other tables.

    All are of one state of the database.
    """
    until = at - SETTLED
    with one_state(), connection.cursor() as cursor:
        cursor.execute(HEADS)
        tokens = [
            dict(zip(TOKEN_MEMBERS, row, strict=True))
            | {"createdAt": row[3].isoformat()}
            for row in cursor.fetchall()
        ]
        cursor.execute("SELECT id::text FROM issuers_issuer ORDER BY id")
        issuers = [issuer for (issuer,) in cursor.fetchall()]
        stated = [state_rows(table, until) for table in TABLES]
        tables = [
            {
                "table": table.stated_name,
                "until": until.isoformat(),
                "rows": sum(one.rows for one in parts),
                "digest": digest_over(parts),
            }
            for table, parts in zip(TABLES, stated, strict=True)
        ]
        policies = policies_now()
        passkeys, signed_kinds = passkeys_stated(), kinds_signed()
        trees = trees_of(tokens, at)
        names, erasures = names_stated(trees), erasures_now()
    content = {
        "at": at.isoformat(),
        "issuers": issuers,
        "tokens": tokens,
        "tables": tables,
        "names": names,
        "erasures": erasures,
        "passkeys": passkeys,
        "policies": policies,
        "signedKinds": signed_kinds,
    }
    return content, trees, [parts[-1] for parts in stated]


def read_statement(path: Path, key: Ed25519PublicKey) -> dict[str, Any]:
    """What a statement's file says.

    Raises:
        OSError: it cannot be read.
        WrongStatementError: it is not signed with this key.
    """
    line, _, signature = path.read_bytes().partition(b"\n")
    try:
        key.verify(base64.b64decode(signature, validate=False), line)
        said: dict[str, Any] = json.loads(line)
    except (InvalidSignature, ValueError):
        raise WrongStatementError(
            f"{path.name} is not signed with the key {public_text(key)}: it was "
            "altered, or comes from another installation."
        ) from None
    return said


def differences(said: dict[str, Any], at: datetime) -> Iterator[str]:
    """Differences between the register at the instant `at` and a statement, a sentence
    each.
    """
    with one_state():
        yield from token_differences(said)
        for token in said["tokens"]:
            for chain, (view, digest) in CHAINS.items():
                count, now = digest_after(view, token["token"], token[chain])
                if (count, now) != (token[chain], token[digest]):
                    yield (
                        f"The {chain} of {token['symbol']} up to {token[chain]:,} are "
                        f"not those that were stated: {count:,} are left, and their "
                        f"digest is {now}, not {token[digest]}."
                    )
        yield from late_additions(said)
        yield from table_differences(said["tables"], at)
        yield from policy_differences(said.get("policies", policies_now()))
        yield from erasure_differences(said.get("erasures"))
        yield from name_differences(said)


def policies_now() -> dict[str, dict[str, Any]]:
    """Which actions need a second person, by kind."""
    return {
        policy.kind: {
            "isRequired": policy.is_required,
            "fromAmount": policy.from_amount and str(policy.from_amount),
            "fromTotal": policy.from_total and str(policy.from_total),
            "allowsCode": policy.allows_code,
        }
        for policy in ApprovalPolicy.objects.order_by("kind")
    }


def policy_differences(stated: dict[str, Any]) -> Iterator[str]:
    """Policies that are others now; only the owner of the tables changes them."""
    now = policies_now()
    for kind in sorted(stated.keys() | now.keys()):
        if stated.get(kind) != now.get(kind):
            yield (
                f"The policy of {kind} is {json.dumps(now.get(kind))}, and was stated "
                f"as {json.dumps(stated.get(kind))}."
            )


def late_additions(said: dict[str, Any]) -> Iterator[str]:
    """Entries and prices added later, with times before the statement's."""
    settled = datetime.fromisoformat(said["at"]) - SETTLED
    with connection.cursor() as cursor:
        for token in said["tokens"]:
            for chain, statement in ADDED.items():
                cursor.execute(statement, [token["token"], token[chain], settled])
                [(added, first)] = cursor.fetchall()
                if added:
                    yield (
                        f"The {chain} of {token['symbol']} were {token[chain]:,}, and "
                        f"{added:,} later ones have times from {first} on, before the "
                        "statement."
                    )


def token_differences(said: dict[str, Any]) -> Iterator[str]:
    """Tokens that past tables now list differently."""
    stated = {one["token"]: one for one in said["tokens"]}
    issuers = set(said["issuers"])
    settled = datetime.fromisoformat(said["at"]) - SETTLED
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, issuer_id, created_at, symbol FROM issuers_token")
        found = {str(token): others for token, *others in cursor.fetchall()}
    for token, one in stated.items():
        if token not in found:
            yield f"Token {one['symbol']} no longer exists."
        elif (one["issuer"], one["createdAt"]) != (
            str(found[token][0]),
            found[token][1].isoformat(),
        ):
            yield f"The issuer or creation time of token {one['symbol']} has changed."
    for token in found.keys() - stated.keys():
        issuer, created_at, symbol = found[token]
        if str(issuer) in issuers and created_at < settled:
            yield (
                f"Token {symbol} is not in the statement, but its creation time is "
                f"{created_at}."
            )


@contextmanager
def one_state() -> Iterator[None]:
    """A transaction whose statements all see the same state of the database."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(SCHEMA_FIRST)
        yield


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def private_key(text: str) -> Ed25519PrivateKey:
    """A key from the base64 of its 32 bytes.

    Raises:
        ValueError: it is something else.
    """
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text, validate=True))


def public_key(text: str) -> Ed25519PublicKey:
    """A public key from the base64 of its 32 bytes.

    Raises:
        ValueError: it is something else.
    """
    return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))


def public_text(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes_raw()).decode()


TOKEN_MEMBERS = (
    "token", "symbol", "issuer", "createdAt", "entries", "entryDigest", "prices",
    "priceDigest", "supply", "held", "holders",
)  # fmt: skip
HEADS = """
    SELECT h.token_id::text, t.symbol, t.issuer_id::text, t.created_at, h.last_seq,
        encode(h.entry_digest, 'hex'), h.last_price, encode(h.price_digest, 'hex'),
        h.supply::text, h.held::text, h.holder_count
    FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
    ORDER BY h.token_id
"""
ADDED = {
    "entries": """
        SELECT count(*), min(effective_at) FROM issuers_ledgertransaction
        WHERE token_id = %s AND seq > %s AND effective_at < %s
    """,
    "prices": """
        SELECT count(*), min(effective_at) FROM issuers_tokenprice
        WHERE token_id = %s AND number > %s AND effective_at < %s
    """,
}
