"""The token bucket of one process. Redis holds those that processes share."""

from time import monotonic


class Bucket:
    """Holds at most `capacity`, regains `refill` a second, and begins full.

    For one thread at a time.
    """

    __slots__ = ("at", "capacity", "left", "refill")

    def __init__(self, capacity: float, refill: float) -> None:
        self.capacity = capacity
        self.refill = refill
        self.left = float(capacity)
        self.at = monotonic()

    @property
    def level(self) -> float:
        """What the bucket holds now; below 0 where more was spent."""
        now = monotonic()
        self.left = min(self.capacity, self.left + (now - self.at) * self.refill)
        self.at = now
        return self.left

    def take(self, amount: float) -> bool:
        """Take the amount, or nothing where the bucket holds less."""
        if self.level < amount:
            return False
        self.left -= amount
        return True

    def spend(self, amount: float) -> None:
        """Take the amount, even where the bucket holds less; below 0, give it back."""
        self.left = min(self.capacity, self.level - amount)

    def fill_to(self, level: float) -> None:
        """Hold so much from now on."""
        self.left = level
        self.at = monotonic()

    @property
    def debt_seconds(self) -> float:
        """Seconds until the bucket holds 0 again; 0 where it does."""
        return max(0.0, -self.level / self.refill)
