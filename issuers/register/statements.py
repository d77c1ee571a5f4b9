"""Signed statements of the register, to be kept outside the database.

A statement is a file of two lines: a JSON object, and the base64 of the Ed25519
signature of that line's UTF-8. The object names all issuers; for each token, its
issuer, its creation, how many entries and prices there are and the digests of their
chains; for each table of TABLES, how many of its rows are older than an hour and a
digest of their commitments; a digest of the commitments to the names that holders had;
the last erasure of a person; the passkeys of
staff that were vouched for, and the kinds of requests that are decided with one. It
also names the public statement that was signed with it, by number and digest.

A person who rewrites covered rows must also forge the statement: the database's owner
has neither its key nor access to the place where it is kept.
"""

import base64
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
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
from issuers.register.holding_trees import SETTLED, HoldingTrees
from issuers.register.names import name_at
from issuers.register.publication import erasures_now, publish, trees_of
from issuers.register.stated_rows import (
    TABLES,
    Kept,
    digest_over,
    rows_differ,
    state_rows,
)
from issuers.register.statement_models import (
    Erasure,
    HolderCommitment,
    RedactedLine,
    StatedRows,
    Statement,
)
from issuers.register.sumtree import commitment_of
from partnerapi.core.chains import after, rows_of
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
        AnotherPublished: another process has published a statement meanwhile.
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
        stated = said["names"]
        if "until" not in stated:
            rows, now = names_now(said["statement"])
        elif Erasure.objects.exists():
            return
        else:
            until = datetime.fromisoformat(stated["until"])
            rows, now = names_digest(said["tokens"], until)
        if (rows, now) != (stated["rows"], stated["digest"]):
            yield (
                f"The names of holders as of {said['at']} are not those that were "
                f"stated: {rows:,} instead of {stated['rows']:,}, and their digest is "
                f"{now}, not {stated['digest']}."
            )


def names_stated(trees: HoldingTrees) -> dict[str, Any]:
    """How many commitments to holders and names there are, and the digest over them.

    A statement adds the commitments that it makes. The first of this form adds all.
    """
    before, digest = first_of_names(), bytes(32)
    made = [*trees.made]
    if before is None:
        known = HolderCommitment.objects.values_list("commitment", flat=True)
        made += [bytes(one) for one in known]
    else:
        last = Statement.objects.get(number=trees.last)
        digest = bytes.fromhex(json.loads(last.details or "{}")["names"])
    count = HolderCommitment.objects.count() + len(trees.made)
    return {"rows": count, "digest": digest_with(digest, made).hex()}


def digest_with(digest: bytes, made: list[bytes]) -> bytes:
    return hashlib.sha256(digest + b"".join(sorted(made))).digest()


def first_of_names() -> int | None:
    """The number of the first statement that has commitments to names."""
    found = Statement.objects.filter(details__contains='"erasures":')
    return found.order_by("number").values_list("number", flat=True).first()


def names_now(number: int) -> tuple[int, str]:
    """What statement `number` would say of names, by what holders were called then."""
    first, digest, count = first_of_names() or 0, bytes(32), 0
    groups = groupby(rows_of(NAMED, [number]), lambda row: max(row[0], first))
    last = first - 1
    for since, rows in groups:
        for _ in range(last + 1, since):
            digest = digest_with(digest, [])
        made = [
            bytes(commitment)
            if salt is None and is_erased
            else commitment_of(salt or b"", f"User|{user}", name)
            for _, commitment, salt, is_erased, user, name in rows
        ]
        digest, count, last = digest_with(digest, made), count + len(made), since
    for _ in range(last + 1, number + 1):
        digest = digest_with(digest, [])
    return count, digest.hex()


def erasure_differences(stated: dict[str, Any] | None) -> Iterator[str]:
    """What the records of erasures do not say as they were written, or do not cover."""
    digest, heads = bytes(32), {0: bytes(32).hex()}
    lines: set[tuple[str, int, str, str]] = set()
    parts: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    unsalted: set[str] = set()
    for erasure in Erasure.objects.order_by("number"):
        digest = after(digest, erasure.line)
        heads[erasure.number] = digest.hex()
        if digest != bytes(erasure.digest):
            yield f"The record of {str(erasure).lower()} was altered."
        said = json.loads(erasure.line)
        unsalted |= {*said["unsalted"]}
        lines |= {
            (one["token"], one["number"], one["digestBefore"], one["digestAfter"])
            for one in said["lines"]
        }
        for part in said["stated"] or ():
            parts[part["name"], part["statement"]] |= part["erased"]
    if stated and heads.get(stated["number"]) != stated["digest"]:
        yield f"The records of erasures up to {stated['number']} are not those stated."
    redacted = {
        (str(o.token_id), o.number, o.digest_before.hex(), o.digest_after.hex())
        for o in RedactedLine.objects.all()
    }
    if redacted != lines:
        yield "The redacted lines of entries are not those of the records of erasures."
    known = StatedRows.objects.exclude(erased=None)
    if {(one.name, one.statement_id): one.erased for one in known} != parts:
        yield "The erased rows of statements are not those of the records of erasures."
    if {key for (key,) in rows_of(UNSALTED, [])} != unsalted:
        yield "Private parts without a salt are not those of the records of erasures."


def not_compared(said: dict[str, Any]) -> list[str]:
    """What cannot be compared with a statement, since persons were erased after it."""
    last = said.get("erasures", {"number": 0})["number"]
    notes = []
    for erasure in Erasure.objects.filter(number__gt=last).order_by("number"):
        rows = json.loads(erasure.line)["rows"]
        of = ", ".join(f"{count:,} of {name}" for name, count in sorted(rows.items()))
        notes.append(
            f"not comparable after erasure {erasure.number}, but by their commitments: "
            f"the person's names, and rows: {of}"
        )
    return notes


def table_differences(tables: list[dict[str, Any]], at: datetime) -> Iterator[str]:
    """Tables of a statement whose covered rows have changed."""
    for stated in tables:
        # Older statements name the columns, and digest all rows at once.
        if "columns" not in stated:
            yield from rows_differ(stated, at)
            continue
        table = next(one for one in TABLES if one.name == stated["table"])
        if any(table.name in json.loads(e.line)["rows"] for e in Erasure.objects.all()):
            continue
        until = datetime.fromisoformat(stated["until"])
        rows, now = table_digest(table, stated["columns"], until)
        if (rows, now) != (stated["rows"], stated["digest"]):
            yield (
                f"The rows of {table.name} until {stated['until']} are not those "
                f"that were stated: {rows:,} instead of {stated['rows']:,}, and "
                f"their digest is {now}, not {stated['digest']}."
            )


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


def table_digest(table: Kept, columns: list[str], until: datetime) -> tuple[int, str]:
    """How many rows are older, and the SHA-256 of their lines, each with its end."""
    listed = ", ".join(f"{table.name}.{column}" for column in columns)
    count, digest = 0, hashlib.sha256()
    for (line,) in rows_of(
        f"SELECT ROW({listed})::text FROM {table.name} WHERE {table.time} < %s"
        f" ORDER BY {table.key}",
        [until],
    ):
        count += 1
        digest.update(f"{line}\n".encode())
    return count, digest.hexdigest()


def names_digest(tokens: list[dict[str, Any]], until: datetime) -> tuple[int, str]:
    """How many holders the stated entries name, and the SHA-256 of their names.

    Each has a line: the user's id, a space and the name as JSON in ASCII.
    """
    count, digest = 0, hashlib.sha256()
    stated = [[one["token"] for one in tokens], [one["entries"] for one in tokens]]
    for holders, said in rows_of(NAMES, [until, *stated]):
        count += holders
        ascii_lines = NOT_IN_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], said)
        digest.update(ascii_lines.encode())
    return count, digest.hexdigest()


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
NOT_IN_ASCII = re.compile(r"[^\n -~]+")
"""What PostgreSQL leaves in a JSON text, and `json.dumps` escapes."""
# A row for each holder takes Python five times as long.
NAMES = f"""
    SELECT count(*), string_agg(concat(n.user_id, ' ', to_json(n.name), chr(10)), ''
        ORDER BY n.user_id)
    FROM (
        SELECT a.user_id, {name_at("h", "%s")} AS name,
            row_number() OVER (ORDER BY a.user_id) / 100 AS part
        FROM issuers_ledgeraccount a JOIN accounts_userholder h ON h.id = a.holder_id
        WHERE a.id IN (
            SELECT p.account_id
            FROM unnest(%s::uuid[], %s::bigint[]) AS n (token_id, seq)
            JOIN issuers_ledgerposting p ON p.token_id = n.token_id AND p.seq <= n.seq)
    ) n
    GROUP BY n.part ORDER BY n.part
"""
NAMED = f"""
    SELECT c.since, c.commitment, s.salt, e.person_id IS NOT NULL, a.user_id::text,
        {name_at("h", "t.at")}
    FROM issuers_holdercommitment c
    JOIN issuers_statement t ON t.number = c.since
    JOIN issuers_ledgeraccount a ON a.id = c.account_id
    JOIN accounts_userholder h ON h.id = a.holder_id
    LEFT JOIN issuers_holdersalt s ON s.user_id = a.user_id AND s.token_id = c.token_id
    LEFT JOIN (SELECT DISTINCT person_id FROM issuers_erasure) e
        ON e.person_id = a.user_id
    WHERE c.since <= %s ORDER BY c.since
"""
UNSALTED = """
    SELECT ROW(token_id, seq)::text FROM issuers_ledgertransaction
    WHERE private_digest IS NOT NULL AND salt IS NULL
    UNION ALL
    SELECT ROW(cash_account_id, number)::text FROM accounts_cashposting
    WHERE private_digest IS NOT NULL AND salt IS NULL
"""
