"""How work that takes long tells how far it has come."""

from collections.abc import Callable

Advance = Callable[[int], object]
"""Is told how many more are done."""
Begin = Callable[[str, int], Advance]
"""Is told a piece of work and how many there are to do."""
