"""Merkle trees: a node without a sibling is its own parent."""

from collections.abc import Callable, Sequence

Parent = Callable[[bytes, bytes], bytes]
"""Makes the node above two."""


def above(nodes: Sequence[bytes], parent: Parent) -> list[bytes]:
    """The level above one."""
    whole = len(nodes) & ~1
    pairs = zip(nodes[0:whole:2], nodes[1:whole:2], strict=True)
    return [parent(left, right) for left, right in pairs] + list(nodes[whole:])


def levels(leaves: list[bytes], parent: Parent) -> list[list[bytes]]:
    """The levels of the tree, from its leaves to its root."""
    found = [leaves]
    while len(found[-1]) > 1:
        found.append(above(found[-1], parent))
    return found


def siblings(tree: Sequence[Sequence[bytes]], place: int) -> list[tuple[str, bytes]]:
    """The siblings from the leaf at a place to the root, with their sides: L or R."""
    path = []
    for level in tree[:-1]:
        sibling = place ^ 1
        if sibling < len(level):
            path.append(("L" if sibling < place else "R", level[sibling]))
        place //= 2
    return path
