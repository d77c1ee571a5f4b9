import sys
from collections.abc import Iterable
from typing import TypeVar

from rich.progress import track

Item = TypeVar("Item")


def shown(work: Iterable[Item], title: str, total: int) -> Iterable[Item]:
    """The same items, with a progress bar where someone watches."""
    quiet = not sys.stdout.isatty()
    return track(work, title, total=total, transient=True, disable=quiet)
