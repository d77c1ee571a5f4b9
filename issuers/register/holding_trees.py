"""The holdings of each token as Merkle sum trees, as of each public statement.

A holder gets a salt with its first units of a token, and a commitment for each of its
names. A statement rebuilds the buckets of holders who have had entries or another name
since the statement before it, and the pages of these buckets.
"""

import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from issuers.register.statement_models import HoldingPage, HoldingTree
from issuers.register.sumtree import (
    EMPTY,
    EMPTY_BUCKET,
    ROOTS_OF_BUCKETS,
    ROOTS_OF_PAGES,
    Padding,
    bucket_of,
    bucket_root,
    commitment_of,
    page_root,
    read_page,
    written_page,
)
from partnerapi.core.chains import rows_of
from partnerapi.core.database import array_text

TOP = 256
"""The page of the roots of pages."""
SETTLED = timedelta(hours=1)
"""What is older has been committed: no transaction takes as long."""
LEAF = 40
"""Bytes of a leaf: its commitment, its units."""
LINES = 10_000
"""How many lines are written at once."""


class Stated(NamedTuple):
    """What the statement before says of a token; its root has 40 bytes."""

    entries: int
    root: bytes


class HoldingTrees:
    """The trees of a statement, in one state of the tables; and how to keep them."""

    def __init__(
        self, tokens: Iterable[str], before: Mapping[str, Stated], last: int
    ) -> None:
        """The trees of `tokens`, as they are in the statement before, number `last`."""
        self.last = last
        self.before = {token: before[token] for token in tokens if token in before}
        self.roots = {token: stated.root for token, stated in self.before.items()}
        self.fresh = [token for token in tokens if token not in before]
        self.made_keys: dict[str, bytes] = {}
        self.salts: list[str] = []
        self.commitments: list[str] = []
        self.made: list[bytes] = []
        """Commitments of holders and names that no statement has yet."""
        self.gone: dict[bytes, tuple[str, int]] = {}
        """Commitments that others follow: their token and account."""
        self.pages: dict[tuple[str, int], bytes] = {}

    def follow(self, at: datetime, since: datetime | None) -> None:
        """Make the trees of `at`; the statement before was of `since`."""
        leaves: dict[str, dict[int, list[bytes]]] = defaultdict(dict)
        for token in self.fresh:
            leaves[token] = {}
        self.note(leaves, rows_of(ALL, [at, array_text(self.fresh)]), fresh=True)
        if self.before:
            tokens = array_text(self.before)
            seqs = array_text(stated.entries for stated in self.before.values())
            names = since and since - SETTLED
            changed = rows_of(CHANGED, [tokens, seqs, tokens, names, at])
            self.note(leaves, changed, fresh=False)
            self.complete(leaves)
        keys = self.padding_keys(leaves)
        touched = {token: {bucket >> 8 for bucket in leaves[token]} for token in leaves}
        wanted = [(t, n) for t in touched if t in self.before for n in touched[t]]
        wanted += [(token, TOP) for token in touched if token in self.before]
        pages = pages_of(wanted, self.last)
        for token, buckets in leaves.items():
            padding = Padding(keys[token])
            for bucket, found in buckets.items():
                page = pages.setdefault((token, bucket >> 8), {})
                put(page, bucket & 255, bucket_root(found, padding), EMPTY_BUCKET)
            top = pages.setdefault((token, TOP), {})
            for number in touched[token]:
                root = page_root(pages[token, number], ROOTS_OF_BUCKETS)
                put(top, number, root, EMPTY[8])
            self.roots[token] = page_root(top, ROOTS_OF_PAGES)
        self.pages = {named: written_page(nodes) for named, nodes in pages.items()}

    def note(
        self,
        leaves: dict[str, dict[int, list[bytes]]],
        rows: Iterable[tuple[Any, ...]],
        fresh: bool,
    ) -> None:
        """Note which buckets holders are in, and the leaves that no table has yet."""
        salts, commitments = [], []
        for token, account, user, name, salt, commitment, units in rows:
            buckets = leaves[token]
            is_new = commitment is None
            if is_new and salt is None:
                salt = secrets.token_bytes(16)
                salts.append(f"{user}\t{token}\t\\\\x{salt.hex()}\n")
            # Without its salt, a holder keeps the commitment that it has.
            made = salt and commitment_of(salt, f"User|{user}", name)
            if not is_new and made and made != commitment:
                self.gone[commitment] = token, account
                buckets.setdefault(bucket_of(commitment), [])
                is_new = True
            if is_new:
                commitment, bucket = made, bucket_of(made)
                self.made.append(made)
                commitments.append(f"{token}\t{account}\t{bucket}\t\\\\x{made.hex()}")
            found = buckets.setdefault(bucket_of(commitment), [])
            if (is_new or fresh) and units != "0":
                found.append(commitment + int(units).to_bytes(8))
        self.salts += salts
        self.commitments += commitments

    def complete(self, leaves: Mapping[str, dict[int, list[bytes]]]) -> None:
        """Add the leaves that the tables have of the buckets."""
        touched = [
            (token, bucket) for token in self.before for bucket in leaves.get(token, ())
        ]
        arguments = [array_text(column) for column in zip(*touched, strict=True)]
        if not arguments:
            return
        for token, bucket, found in rows_of(LEAVES, arguments):
            listed = [found[at : at + LEAF] for at in range(0, len(found), LEAF)]
            leaves[token][bucket] += (
                [leaf for leaf in listed if leaf[:32] not in self.gone]
                if self.gone
                else listed
            )

    def padding_keys(self, tokens: Iterable[str]) -> dict[str, bytes]:
        with connection.cursor() as cursor:
            cursor.execute(KEYS, [array_text(tokens)])
            keys = dict(cursor.fetchall())
        self.made_keys = {t: secrets.token_bytes(32) for t in tokens if t not in keys}
        return keys | self.made_keys

    def save(self, number: int) -> None:
        """Keep what is new, with the statement of this number."""
        HoldingTree.objects.bulk_create(
            HoldingTree(token_id=token, padding_key=key)
            for token, key in self.made_keys.items()
        )
        HoldingPage.objects.bulk_create(
            HoldingPage(token_id=token, page=page, statement_number=number, nodes=nodes)
            for (token, page), nodes in self.pages.items()
        )
        with connection.cursor() as cursor:
            tokens, accounts = [
                array_text(side[place] for side in self.gone.values())
                for place in (0, 1)
            ]
            cursor.execute(FOLLOWED, [number, tokens, accounts])
            with cursor.copy(COPY_SALTS) as target:
                for place in range(0, len(self.salts), LINES):
                    target.write("".join(self.salts[place : place + LINES]))
            end = f"\t{number}\n"
            with cursor.copy(COPY_COMMITMENTS) as target:
                for place in range(0, len(self.commitments), LINES):
                    lines = self.commitments[place : place + LINES]
                    target.write(end.join(lines) + end)


def put(page: dict[int, bytes], place: int, node: bytes, empty: bytes) -> None:
    """Write a node into a page, which leaves out empty ones."""
    if node == empty:
        page.pop(place, None)
    else:
        page[place] = node


def pages_of(
    wanted: Iterable[tuple[str, int]], statement: int
) -> dict[tuple[str, int], dict[int, bytes]]:
    """Pages of tokens' trees as of a statement; a page that never was is left out."""
    columns = [array_text(column) for column in zip(*wanted, strict=True)]
    found = rows_of(PAGES, [*(columns or ["{}", "{}"]), statement])
    return {(token, number): read_page(nodes) for token, number, nodes in found}


# Almost none got another name after the statement's instant.
HOLDERS = """
    SELECT b.token_id::text, a.id, a.user_id::text, coalesce(n.name, h.name),
        s.salt, c.commitment, b.balance::text
    FROM {balances} b
    JOIN issuers_ledgeraccount a ON a.id = b.account_id
    JOIN accounts_userholder h ON h.id = a.holder_id
    LEFT JOIN (
        SELECT DISTINCT ON (l.holder_id) l.holder_id, l.name
        FROM accounts_userholdername l WHERE l.replaced_at > %s
        ORDER BY l.holder_id, l.replaced_at, l.id
    ) n ON n.holder_id = h.id
    LEFT JOIN issuers_holdersalt s
        ON s.user_id = a.user_id AND s.token_id = b.token_id
    LEFT JOIN issuers_holdercommitment c ON c.token_id = b.token_id
        AND c.account_id = a.id AND c.until IS NULL
"""
ALL = (
    HOLDERS.format(balances="issuers_holderbalance")
    + " WHERE b.token_id = ANY (%s::uuid[])"
)
CHANGED = """
    WITH changed AS MATERIALIZED (
        SELECT p.token_id, p.account_id
        FROM unnest(%s::uuid[], %s::bigint[]) AS n (token_id, seq)
        JOIN issuers_ledgerposting p ON p.token_id = n.token_id AND p.seq > n.seq
        UNION
        SELECT c.token_id, c.account_id
        FROM accounts_userholdername n
        JOIN issuers_ledgeraccount a ON a.holder_id = n.holder_id
        JOIN issuers_holdercommitment c ON c.token_id = ANY (%s::uuid[])
            AND c.account_id = a.id AND c.until IS NULL
        WHERE n.replaced_at >= %s
    )
""" + HOLDERS.format(
    balances="(changed JOIN issuers_holderbalance USING (token_id, account_id))"
)
# Units beyond 2⁶³ are sent as the negative number of the same 8 bytes.
LEAVES = """
    SELECT c.token_id::text, c.bucket, string_agg(c.commitment || int8send((b.balance
        - CASE WHEN b.balance < 9223372036854775808 THEN 0
            ELSE 18446744073709551616 END)::bigint), '')
    FROM unnest(%s::uuid[], %s::int[]) AS n (token_id, bucket)
    JOIN issuers_holdercommitment c
        ON c.token_id = n.token_id AND c.bucket = n.bucket AND c.until IS NULL
    JOIN issuers_holderbalance b
        ON b.token_id = c.token_id AND b.account_id = c.account_id AND b.balance > 0
    GROUP BY c.token_id, c.bucket
"""
KEYS = """
    SELECT token_id::text, padding_key FROM issuers_holdingtree
    WHERE token_id = ANY (%s::uuid[])
"""
PAGES = """
    SELECT n.token_id::text, n.page, p.nodes
    FROM unnest(%s::uuid[], %s::int[]) AS n (token_id, page)
    CROSS JOIN LATERAL (
        SELECT x.nodes FROM issuers_holdingpage x
        WHERE x.token_id = n.token_id AND x.page = n.page AND x.statement_number <= %s
        ORDER BY x.statement_number DESC LIMIT 1
    ) p
"""
FOLLOWED = """
    UPDATE issuers_holdercommitment c SET until = %s
    FROM unnest(%s::uuid[], %s::bigint[]) AS n (token_id, account_id)
    WHERE c.token_id = n.token_id AND c.account_id = n.account_id AND c.until IS NULL
"""
COPY_SALTS = "COPY issuers_holdersalt (user_id, token_id, salt) FROM STDIN"
COPY_COMMITMENTS = """
    COPY issuers_holdercommitment (token_id, account_id, bucket, commitment, since)
    FROM STDIN
"""
