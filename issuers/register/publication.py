"""Public statements of the register: signed, numbered, and read without a key.

A statement is a line of canonical JSON (RFC 8785), its Ed25519 signature, and the
statement's details. The line names the SHA-256 of the statement before, the root of a
Merkle tree over the tokens' records, and the SHA-256 of the details, another line: the
digests of the other tables and the keys of deciders. So a proof of one record is short.

A leaf of the tree is the SHA-256 of a zero byte, a salt of 16 random bytes and the
record, so a root tells nothing of a record. A node is the SHA-256 of a byte 1 and both
its children (as in RFC 6962); leaves stand in the order of their bytes.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.db import IntegrityError, transaction

from issuers.register import merkle
from issuers.register.chains import Chain, digest_after
from issuers.register.erasure_records import erasures_now, lock_erasures
from issuers.register.holding_trees import HoldingTrees, Stated
from issuers.register.statement_models import (
    StatedRows,
    StatedToken,
    Statement,
    StatementKey,
)
from partnerapi.core.times import to_rfc3339

EMPTY = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""


class DatabaseSetBack(Exception):
    """The database has lost statements that a kept file names; the message says so."""


class AnotherPublished(Exception):
    """Another process has published a statement meanwhile; the message says so."""


class HoldingsDisagree(Exception):
    """What holders have is not what is held; the message says so."""


def canonical(said: Mapping[str, Any]) -> str:
    """RFC 8785, for texts, small integers and what is made of them."""
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_id(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def leaf(salt: bytes, record: str) -> bytes:
    return hashlib.sha256(b"\0" + salt + record.encode()).digest()


def parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def levels(leaves: Iterable[bytes]) -> list[list[bytes]]:
    """The levels of the tree over records, from its leaves to its root."""
    return merkle.levels(sorted(leaves), parent)


def root_of(tree: Sequence[Sequence[bytes]]) -> bytes:
    return tree[-1][0] if tree[-1] else EMPTY


def path_of(tree: Sequence[Sequence[bytes]], of: bytes) -> list[str]:
    """The siblings from a leaf to the root: L or R for their side, and 64 digits."""
    path = merkle.siblings(tree, tree[0].index(of))
    return [f"{side}{node.hex()}" for side, node in path]


@lru_cache(maxsize=2)
def tree_of(number: int, root: str) -> list[list[bytes]]:
    """The tree of a statement; another of its number has another root."""
    stated = StatedToken.objects.filter(statement_id=number)
    return levels([leaf(bytes(s), r) for s, r in stated.values_list("salt", "record")])


def trees_of(tokens: Sequence[Mapping[str, Any]], at: datetime) -> HoldingTrees:
    """The trees of holdings of tokens with their heads, in one state of the database.

    Raises:
        HoldingsDisagree: a tree has more or fewer units than the head says are held.
    """
    last = Statement.objects.order_by("-number").first()
    records = StatedToken.objects.filter(statement=last).values_list("record")
    before = {}
    for said in (json.loads(record) for (record,) in records):
        if "holdingsRoot" in said:
            root = int(said["held"]).to_bytes(8) + bytes.fromhex(said["holdingsRoot"])
            _, _, token = said["token"].partition("|")
            before[token] = Stated(int(said["entries"]), root)
    listed = [token["token"] for token in tokens]
    trees = HoldingTrees(listed, before, last.number if last else 0)
    trees.follow(at, last.at if last else None)
    for token in tokens:
        units = int.from_bytes(trees.roots[token["token"]][:8])
        if units != int(token["held"]):
            raise HoldingsDisagree(
                f"The holders of {token['symbol']} have {units:,} units, and its head "
                f"says that {int(token['held']):,} are held: run verify register."
            )
    return trees


def publish(
    content: Mapping[str, Any],
    trees: HoldingTrees,
    rows: Sequence[StatedRows],
    key: Ed25519PrivateKey,
    at: datetime,
    least: int,
) -> Statement:
    """Sign and store the public part of what `take_statement` found at an instant.

    `least` is the number of the last statement that a file names.

    Raises:
        AnotherPublished: another process published the statement of this number, or
            erased a person.
        DatabaseSetBack: the database has no statement of this number.
    """
    public = key.public_key()
    number = trees.last + 1
    if number <= least:
        raise DatabaseSetBack(
            f"The files know statement {least}, and the database's last one is "
            f"{number - 1}: an older state of the database was restored. Keep the "
            "files, and start another directory."
        )
    records = {
        token["token"]: canonical(
            {name: str(value) for name, value in token.items() if name != "token"}
            | {
                "at": to_rfc3339(at),
                "holdingsRoot": trees.roots[token["token"]][8:].hex(),
                "statement": str(number),
                "token": f"Token|{token['token']}",
            }
        )
        for token in content["tokens"]
    }
    salts = {token: secrets.token_bytes(16) for token in records}
    tree = levels([leaf(salts[token], record) for token, record in records.items()])
    details = canonical(
        {
            "deciders": sorted(one["publicKey"] for one in content["passkeys"]),
            "erasures": content["erasures"],
            "names": content["names"]["digest"],
            "tables": {one["table"]: one["digest"] for one in content["tables"]},
        }
    )
    last = Statement.objects.filter(number=trees.last).first()
    said = canonical(
        {
            "at": to_rfc3339(at),
            "details": hashlib.sha256(details.encode()).hexdigest(),
            "key": key_id(public),
            "number": number,
            "previousDigest": last.digest if last else None,
            "tokensRoot": root_of(tree).hex(),
        }
    )
    with transaction.atomic():
        lock_erasures()
        if erasures_now() != content["erasures"]:
            raise AnotherPublished(
                "A person was erased meanwhile, and no statement was written. "
                "Repeat the command."
            )
        # Of two processes, the second waits here until the first has committed.
        try:
            statement = Statement.objects.create(
                number=number,
                at=at,
                said=said,
                details=details,
                signature=base64.b64encode(key.sign(said.encode())).decode(),
                key_id=key_id(public),
            )
        except IntegrityError:
            raise AnotherPublished(
                f"Another process was writing statement {number}, and has published "
                "it. This one wrote none."
            ) from None
        introduced(public, at)
        StatedToken.objects.bulk_create(
            StatedToken(
                statement=statement, token_id=token, record=r, salt=salts[token]
            )
            for token, r in records.items()
        )
        for one in rows:
            one.statement = statement
        StatedRows.objects.bulk_create(rows)
        trees.save(number)
    return statement


def stated_is_true(stated: StatedToken) -> str | None:
    """What is wrong with a record, its statement and the lines that it covers.

    Both chains are computed from their lines, which takes a second for 100,000. None:
    nothing is wrong. It needs a transaction.
    """
    statement, record = stated.statement, json.loads(stated.record)
    signer = Ed25519PublicKey.from_public_bytes(bytes(statement.key.public_key))
    try:
        signer.verify(base64.b64decode(statement.signature), statement.said.encode())
    except InvalidSignature:
        return f"{statement} is not signed by its key {statement.key_id}."
    tree = tree_of(statement.number, json.loads(statement.said)["tokensRoot"])
    if leaf(bytes(stated.salt), stated.record) not in tree[0]:
        return f"{statement} does not have this record."
    for chain, count, digest in (
        (Chain.ENTRIES, "entries", "entryDigest"),
        (Chain.PRICES, "prices", "priceDigest"),
    ):
        last = int(record[count])
        if digest_after(chain, stated.token_id, last) != (last, record[digest]):
            return f"The {count} up to {last:,} are not those that were stated."
    return None


def introduced(key: Ed25519PublicKey, at: datetime) -> None:
    """Store a key that signs for the first time, if no earlier key introduced it."""
    if not StatementKey.objects.filter(pk=key_id(key)).exists():
        StatementKey.objects.create(
            id=key_id(key), public_key=key.public_bytes_raw(), since=at
        )


def introduce_key(new: Ed25519PublicKey, by: Ed25519PrivateKey, at: datetime) -> str:
    """Store the next key, with the present key's signature; return its id."""
    introduced(by.public_key(), at)
    signer = key_id(by.public_key())
    said = canonical(introduction(key_id(new), new.public_bytes_raw(), signer, at))
    StatementKey.objects.create(
        id=key_id(new),
        public_key=new.public_bytes_raw(),
        since=at,
        introduced_by_id=signer,
        signature=base64.b64encode(by.sign(said.encode())).decode(),
    )
    return key_id(new)


def introduction(key: str, public: bytes, signer: str, at: datetime) -> dict[str, str]:
    """What a key signs of the one after it."""
    return {
        "introducedBy": signer,
        "kid": key,
        "since": to_rfc3339(at),
        "x": base64.urlsafe_b64encode(public).rstrip(b"=").decode(),
    }


def published_keys() -> dict[str, Any]:
    """All keys that have signed or will sign, as a JWK set (RFC 7517, RFC 8037).

    A key that no earlier one introduced, and is not the first, is a break.
    """
    listed: list[dict[str, Any]] = []
    for key in StatementKey.objects.order_by("since", "id"):
        said: dict[str, Any] = introduction(
            key.pk, bytes(key.public_key), key.introduced_by_id or "", key.since
        )
        listed.append(
            said
            | {
                "alg": "EdDSA",
                "crv": "Ed25519",
                "introducedBy": key.introduced_by_id,
                "isBreak": key.introduced_by_id is None and bool(listed),
                "kty": "OKP",
                "signature": key.signature,
                "use": "sig",
            }
        )
    return {"keys": listed}
