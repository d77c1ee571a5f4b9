"""Suits the interpreter to the FIX acceptor: many threads, much that is short-lived."""

import gc
import os
import random

YOUNG_OBJECTS = 50_000


def stay_on_one_processor() -> None:
    """Keep this thread, and all that it starts, on one of the processors it may use.

    The interpreter lets one thread compute at a time. On one processor they hand over
    to each other; on several, the next one must be woken elsewhere, which takes longer
    than what it then does. Nothing happens where the system gives no choice.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})


def collect_seldom() -> None:
    """Have garbage looked for seldom, and not among what exists at this moment.

    To be called when everything has started. Versions of books come and go by the
    thousand and form no cycles; to look through them took longer than to make them.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
