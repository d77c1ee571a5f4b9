"""The largest integers that the API carries."""

MAX_EXACT_INTEGER = 2**53 - 1
"""JSON readers that keep numbers as doubles round beyond it."""
MAX_UINT64 = 2**64 - 1
MIN_INT64 = -(2**63)
MAX_INT64 = 2**63 - 1
