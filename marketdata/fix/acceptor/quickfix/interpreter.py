"""Suits the process to the FIX acceptor: much that is short-lived."""

import contextlib
import ctypes
import gc

YOUNG_OBJECTS = 50_000
MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""
LARGE_BYTES = 131_072


def collect_seldom() -> None:
    """Have garbage looked for seldom, and not among what exists at this moment.

    To be called when everything has started. Versions of books come and go by the
    thousand and form no cycles; to look through them took longer than to make them.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


def return_large_blocks() -> None:
    """Have memory of LARGE_BYTES and more go back to the system when it is freed.

    glibc gives it back until the first is freed, and keeps blocks of that size from
    then on: of each TLS connection that was ever open at once with others, 256 KB.
    """
    # Other libraries have no such thing.
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE_BYTES)
