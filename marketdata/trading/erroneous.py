"""The rule of clearly erroneous trades: a price far from the one before, and a request
soon after the trade.

The shape and the numbers are those of Nasdaq's rule 11890 in regular hours. Staff who
decide on a bust see both facts; a bust beyond the rule remains their decision.
"""

from datetime import datetime, timedelta

from marketdata.trading.models import Execution, Market
from marketdata.trading.moving import standing
from partnerapi.core.money import euros

ASKED_WITHIN = timedelta(minutes=30)
BASIS_POINTS = 10_000
LEAST_DISTANCES = ((2_500, 1_000), (5_000, 500), (None, 300))
"""By the highest price before, in cents: the basis points from which a trade is far."""


def least_distance(before: int) -> int:
    """From how many basis points on a trade is far; `before` is cents."""
    return next(
        least for most, least in LEAST_DISTANCES if most is None or before <= most
    )


def is_far(price: int, before: int) -> bool:
    return abs(price - before) * BASIS_POINTS >= least_distance(before) * before


def price_before(execution: Execution) -> int | None:
    """That of the last earlier trade that stands, else the reference price; cents."""
    earlier = standing(execution.token_id).filter(sequence__lt=execution.sequence)
    last = earlier.values_list("price", flat=True).first()
    if last is not None:
        return last
    markets = Market.objects.filter(token=execution.token_id)
    return markets.values_list("reference_price", flat=True).first()


def facts(execution: Execution, filed_at: datetime) -> list[tuple[str, str, str]]:
    """What the rule compares, as rows of a preview."""
    before = price_before(execution)
    minutes = int((filed_at - execution.at).total_seconds() // 60)
    rows = [("Requested after the trade", "", f"{minutes:,} minutes")]
    if before:
        percent = abs(execution.price - before) * 100 / before
        distance = f"{percent:,.1f} % from {euros(before)}"
        rows.append(("Distance from the price before", "", distance))
    return rows


def beyond(execution: Execution, filed_at: datetime) -> list[str]:
    """Why the trade is not clearly erroneous by the rule, a sentence each."""
    said = []
    before = price_before(execution)
    if before and not is_far(execution.price, before):
        least = least_distance(before) / 100
        said.append(
            "Not clearly erroneous: the price is less than "
            f"{least:g} % from the price before."
        )
    if filed_at - execution.at > ASKED_WITHIN:
        said.append(
            "Requested late: a bust is requested within "
            f"{ASKED_WITHIN.seconds // 60} minutes of the trade."
        )
    return said
