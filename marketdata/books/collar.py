"""The price limits of an internal market."""


def collar(reference: int, bps: int) -> tuple[int, int]:
    """The lowest and the highest limit around a reference price, cents."""
    away = reference * bps // 10_000
    return max(reference - away, 1), reference + away
