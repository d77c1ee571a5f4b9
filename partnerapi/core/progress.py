"""The progress reports of long work."""

from collections.abc import Callable

Advance = Callable[[int], object]
"""Receives how many more are done."""
Begin = Callable[[str, int], Advance]
"""Receives a piece of work and how many there are to do."""
