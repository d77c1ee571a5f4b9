"""What statements say of the names of holders, without saying a name.

The digest is a chain: each statement adds the commitments that it makes. The first
statements digest the names themselves, and are not compared after an erasure.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from issuers.register.holding_trees import HoldingTrees
from issuers.register.names import name_at
from issuers.register.statement_models import Erasure, HolderCommitment, Statement
from issuers.register.sumtree import commitment_of
from partnerapi.core.chains import rows_of


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


def name_differences(said: dict[str, Any]) -> Iterator[str]:
    """Whether holders have other names than a statement says; a sentence if so."""
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
