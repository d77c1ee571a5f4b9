"""The progress reports of long work."""

from collections.abc import Callable

Advance = Callable[[int], object]
"""Is told how many more are done."""
Begin = Callable[[str, int], Advance]
"""Is told a piece of work and how many there are to do."""
