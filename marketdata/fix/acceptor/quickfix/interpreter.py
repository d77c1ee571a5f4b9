"""Suits the interpreter to the FIX acceptor: much that is short-lived."""

import gc

YOUNG_OBJECTS = 50_000


def collect_seldom() -> None:
    """Have garbage looked for seldom, and not among what exists at this moment.

    To be called when everything has started. Versions of books come and go by the
    thousand and form no cycles; to look through them took longer than to make them.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
