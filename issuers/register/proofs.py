"""What a holder had of a token, proved by a public statement.

A proof opens the holder's leaf in the token's tree of holdings, and leads from it to
the root, from there to the token's record and to the signed line of the statement.
`templates/docs/proof.md` says how it is written, and the verifiers read it.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from issuers.register.holding_trees import TOP, pages_of
from issuers.register.merkle import siblings
from issuers.register.publication import canonical, leaf, tree_of
from issuers.register.statement_models import StatedToken
from issuers.register.sumtree import (
    ROOTS_OF_BUCKETS,
    ROOTS_OF_PAGES,
    Padding,
    bucket_of,
    bucket_path,
    bucket_root,
    commitment_of,
    page_path,
)
from partnerapi.core.database import array_text, rows_of

MOST_ENTRIES = 100
"""Entries since the statement that come with a proof."""


class HoldingProof(NamedTuple):
    """A holder's units as of a statement, and its entries from there to an instant.

    `proof` is base64url; None: the holder had no units then, which nothing proves, or
    its salt was erased. `entries` are lines of the token's chain, at most MOST_ENTRIES;
    `has_more` says that there are others.
    """

    stated: StatedToken
    record: dict[str, str]
    units: int
    proof: str | None
    entries: list[str]
    has_more: bool


def stated_at(token_id: UUID, date: datetime | None) -> StatedToken | None:
    """What the last statement at an instant said of a token; None: there was none.

    `date` None means now.
    """
    found = StatedToken.objects.filter(token=token_id)
    if date is not None:
        found = found.filter(statement__at__lte=date)
    return found.select_related("statement").order_by("-statement_id").first()


def holding_proof(
    stated: StatedToken, user_id: UUID, date: datetime | None
) -> HoldingProof:
    """The proof of a user's units, in the tree that the statement names.

    Six SQL statements at most.
    """
    record = json.loads(stated.record)
    last = int(record["entries"])
    units, proof = proved(stated, user_id, last)
    since = [stated.token_id, user_id, last, date, date]
    entries = [line for (line,) in rows_of(SINCE, since)]
    has_more = len(entries) > MOST_ENTRIES
    return HoldingProof(stated, record, units, proof, entries[:MOST_ENTRIES], has_more)


def proved(stated: StatedToken, user_id: UUID, last: int) -> tuple[int, str | None]:
    """A user's units after entry number `last`, and their proof.

    0 and None: the statement's tree has no leaf that the user's salt opens.
    """
    known = rows_of(HOLDER, [stated.token_id, user_id])
    if not known:
        return 0, None
    [(account, salt, padding_key, names)] = known
    user, number = f"User|{user_id}", stated.statement_id
    named = {commitment_of(salt, user, name): name for name in names}
    buckets = array_text({bucket_of(commitment) for commitment in named})
    leaves = [
        (owner, bucket, commitment, int(balance))
        for owner, bucket, commitment, balance in rows_of(
            LEAVES, [last, stated.token_id, buckets, number, number]
        )
    ]
    own = [leaf for leaf in leaves if leaf[0] == account and leaf[2] in named]
    if not own:
        return 0, None
    [(_, bucket, commitment, units)] = own
    beside = [of + their.to_bytes(8) for _, b, of, their in leaves if b == bucket]
    padding, pages = Padding(padding_key), pages_to(stated, bucket)
    if pages[0].get(bucket & 255) != bucket_root(beside, padding):
        return 0, None
    path = bucket_path(beside, commitment + units.to_bytes(8), padding)
    path += page_path(pages[0], bucket & 255, ROOTS_OF_BUCKETS)
    path += page_path(pages[1], bucket >> 8, ROOTS_OF_PAGES)
    return units, written_proof(stated, user, named[commitment], units, salt, path)


def pages_to(stated: StatedToken, bucket: int) -> list[dict[int, bytes]]:
    """The page of a bucket's root, and the page above it."""
    wanted = [(str(stated.token_id), number) for number in (bucket >> 8, TOP)]
    found = pages_of(wanted, stated.statement_id)
    return [found.get(one, {}) for one in wanted]


def written_proof(
    stated: StatedToken,
    user: str,
    name: str,
    units: int,
    salt: bytes,
    path: Sequence[tuple[str, bytes]],
) -> str:
    """A proof as base64url: what is deflated, with its length before it; the hashes."""
    statement = stated.statement
    tree = tree_of(statement.number, json.loads(statement.said)["tokensRoot"])
    record_salt = bytes(stated.salt)
    place = tree[0].index(leaf(record_salt, stated.record))
    record_path = siblings(tree, place)
    said = canonical(
        {
            "name": name,
            "path": [f"{side}{int.from_bytes(node[:8])}" for side, node in path],
            "record": stated.record,
            "recordPath": "".join(side for side, _ in record_path),
            "statement": statement.said,
            "units": str(units),
            "user": user,
        }
    )
    deflated = zlib.compress(said.encode(), 9)
    hashes = [base64.b64decode(statement.signature), salt, record_salt]
    hashes += [node[8:] for _, node in path]
    hashes += [node for _, node in record_path]
    proof = len(deflated).to_bytes(2) + deflated + b"".join(hashes)
    return base64.urlsafe_b64encode(proof).rstrip(b"=").decode()


HOLDER = """
    SELECT a.id, s.salt, t.padding_key, array_append(
        ARRAY(SELECT n.name FROM accounts_userholdername n WHERE n.holder_id = h.id),
        h.name)
    FROM (SELECT %s::uuid AS token_id, %s::uuid AS user_id) w
    JOIN issuers_ledgeraccount a ON a.user_id = w.user_id
    JOIN accounts_userholder h ON h.id = a.holder_id
    JOIN issuers_holdersalt s ON s.user_id = w.user_id AND s.token_id = w.token_id
    JOIN issuers_holdingtree t ON t.token_id = w.token_id
"""
LEAVES = """
    SELECT c.account_id, c.bucket, c.commitment, p.balance_after::text
    FROM (SELECT %s::bigint AS seq) w
    CROSS JOIN issuers_holdercommitment c
    CROSS JOIN LATERAL (
        SELECT x.balance_after FROM issuers_ledgerposting x
        WHERE x.token_id = c.token_id AND x.account_id = c.account_id
            AND x.seq <= w.seq
        ORDER BY x.seq DESC LIMIT 1
    ) p
    WHERE c.token_id = %s AND c.bucket = ANY (%s::int[]) AND c.since <= %s
        AND (c.until IS NULL OR c.until > %s) AND p.balance_after > 0
"""
SINCE = f"""
    SELECT l.line
    FROM (SELECT %s::uuid AS token_id, %s::uuid AS user_id) w
    JOIN issuers_ledgeraccount a ON a.user_id = w.user_id
    JOIN issuers_ledgerposting p ON p.token_id = w.token_id AND p.account_id = a.id
        AND p.seq > %s
    JOIN issuers_ledgertransaction t ON t.token_id = p.token_id AND t.seq = p.seq
        AND (%s::timestamptz IS NULL OR t.effective_at <= %s)
    JOIN register_entry_lines l ON l.token_id = p.token_id AND l.number = p.seq
    ORDER BY p.seq LIMIT {MOST_ENTRIES + 1}
"""
