"""Merkle sum trees: a root says the sum of units, and a path proves one holder's.

A node is 40 bytes: its units as a big-endian number of 8 bytes, and a SHA-256. The hash
of a leaf is that of a zero byte, the units and the holder's commitment; the hash of
another node is that of a byte 1 and its two children, and its units are their sum. So
the hash covers each child's units: with the total alone, a prover could invent the sum
of a sibling.

A commitment's first 16 bits are its bucket. In a bucket leaves stand in the order of
their commitments; each has a sibling without units, whose hash is an HMAC of the
commitment, so that a proof names no other holder's leaf. A node without a sibling is
its own parent there. Above the 65,536 buckets the tree is complete; an empty bucket is
40 zero bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from issuers.register.merkle import above, levels, siblings

NODE = 40
EMPTY_BUCKET = bytes(NODE)
NO_UNITS = bytes(8)


def commitment_of(salt: bytes, user_id: str, name: str) -> bytes:
    """What stands for a holder; a `user_id` is that of the API."""
    return sha256(salt + f"{user_id}{name}".encode()).digest()


def bucket_of(commitment: bytes) -> int:
    return int.from_bytes(commitment[:2])


def parent(left: bytes, right: bytes) -> bytes:
    """The node above two.

    Raises:
        OverflowError: the sum of the units is not below 2⁶⁴.
    """
    units = int.from_bytes(left[:8]) + int.from_bytes(right[:8])
    return units.to_bytes(8) + sha256(b"\1" + left + right).digest()


class Padding:
    """The siblings of leaves, by HMAC-SHA-256 (RFC 2104) with a token's key."""

    def __init__(self, key: bytes) -> None:
        block = key.ljust(sha256().block_size, b"\0")
        self.inner = bytes(byte ^ 0x36 for byte in block)
        self.outer = bytes(byte ^ 0x5C for byte in block)

    def beside(self, commitment: bytes) -> bytes:
        inner = sha256(self.inner + commitment).digest()
        return NO_UNITS + sha256(self.outer + inner).digest()

    def pairs(self, leaves: Iterable[bytes]) -> list[bytes]:
        """The parents of leaves and their siblings; a leaf is commitment and units."""
        inner, outer = self.inner, self.outer
        return [
            (units := leaf[32:])
            + sha256(
                b"\1"
                + units
                + sha256(b"\0" + units + (commitment := leaf[:32])).digest()
                + NO_UNITS
                + sha256(outer + sha256(inner + commitment).digest()).digest()
            ).digest()
            for leaf in leaves
        ]


def leaf_node(leaf: bytes) -> bytes:
    units = leaf[32:]
    return units + sha256(b"\0" + units + leaf[:32]).digest()


def bucket_root(leaves: Iterable[bytes], padding: Padding) -> bytes:
    """The root of a bucket; a leaf is 32 bytes of commitment and 8 of units."""
    nodes = padding.pairs(sorted(leaves))
    while len(nodes) > 1:
        nodes = above(nodes, parent)
    return nodes[0] if nodes else EMPTY_BUCKET


def bucket_path(
    leaves: Iterable[bytes], leaf: bytes, padding: Padding
) -> list[tuple[str, bytes]]:
    """The siblings from a leaf to its bucket's root, with their sides."""
    ordered = sorted(leaves)
    tree = levels(padding.pairs(ordered), parent)
    return [("R", padding.beside(leaf[:32])), *siblings(tree, ordered.index(leaf))]


def empties(levels: int) -> list[bytes]:
    """An empty bucket, and the empty nodes above it."""
    found = [EMPTY_BUCKET]
    for _ in range(levels):
        found.append(parent(found[-1], found[-1]))
    return found


EMPTY = empties(16)
"""Nodes of each level without units, from the buckets to the root."""
ROOTS_OF_BUCKETS, ROOTS_OF_PAGES = EMPTY[:8], EMPTY[8:16]
"""The empty nodes of both kinds of pages, level by level."""


def page_levels(
    nodes: Mapping[int, bytes], empty: Sequence[bytes]
) -> list[Mapping[int, bytes]]:
    """The levels of 256 nodes, of which those that are not given are empty."""
    levels = [nodes]
    for none in empty:
        last = levels[-1]
        levels.append(
            {
                place: parent(last.get(2 * place, none), last.get(2 * place + 1, none))
                for place in {place // 2 for place in last}
            }
        )
    return levels


def page_root(nodes: Mapping[int, bytes], empty: Sequence[bytes]) -> bytes:
    none = parent(empty[-1], empty[-1])
    return page_levels(nodes, empty)[-1].get(0, none)


def page_path(
    nodes: Mapping[int, bytes], place: int, empty: Sequence[bytes]
) -> list[tuple[str, bytes]]:
    """The siblings from a node of a page to the page's root, with their sides."""
    path = []
    for level, none in zip(page_levels(nodes, empty), empty, strict=False):
        path.append(("L" if place % 2 else "R", level.get(place ^ 1, none)))
        place //= 2
    return path


def written_page(nodes: Mapping[int, bytes]) -> bytes:
    return b"".join(place.to_bytes() + nodes[place] for place in sorted(nodes))


def read_page(page: bytes) -> dict[int, bytes]:
    step = 1 + NODE
    starts = range(0, len(page), step)
    return {page[start]: page[start + 1 : start + step] for start in starts}
