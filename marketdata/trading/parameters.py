"""Parameters of markets: their requests, and what two people decide."""

import json
import logging
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from issuers.models import Token
from issuers.register.approvals import token_facts, token_links
from marketdata.models import TradingDay
from marketdata.trading.models import (
    Market,
    MarketParameters,
    TradingModel,
)
from marketdata.trading.models.parameters import Parameters
from partnerapi.core.database import execute
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.core.money import euros, plural

logger = logging.getLogger(__name__)


class ParametersRefused(Exception):
    """The market cannot have these parameters; the message says why."""


def in_force(at: datetime) -> QuerySet[MarketParameters]:
    """The parameters of each market at an instant.

    A market has a copy of them (`Market`), which every order reads.
    """
    begun = MarketParameters.objects.filter(valid_from__lte=at)
    return begun.order_by("token", "-valid_from", "-id").distinct("token")


def latest(token_id: UUID) -> MarketParameters:
    """The parameters that were decided last, in force or to come."""
    decided = MarketParameters.objects.filter(token=token_id)
    return decided.latest("valid_from", "id")


def parameters_content(token: Token, wanted: Parameters, reason: str) -> dict[str, Any]:
    """The request for parameters from the next opening after their approval on.

    Raises:
        ParametersRefused: there is no market, or the parameters contradict each other.
    """
    if not Market.objects.filter(token=token).exists():
        raise ParametersRefused(f"{token.symbol} has no internal market.")
    if not wanted.ticks.is_sound:
        raise ParametersRefused(
            "Each price of the tick table is above the one before, and a multiple of "
            "the ticks on both sides."
        )
    if (wanted.model == TradingModel.CONTINUOUS) != (not wanted.fixings):
        raise ParametersRefused(
            "A market with fixings needs their times; a continuous one has none."
        )
    if wanted.model == TradingModel.CONTINUOUS and wanted.at_last_minutes:
        raise ParametersRefused("Only a market with fixings trades at last.")
    if not all(is_within(one, wanted) for one in wanted.fixings):
        raise ParametersRefused("A fixing lies outside of the session.")
    if wanted.most_units is not None and wanted.most_units < wanted.lot_units:
        raise ParametersRefused("An order could not have the units of a lot.")
    return {
        "token": str(token.pk),
        "terms": wanted.terms,
        "replaces": latest(token.pk).pk,
        "reason": reason,
    }


def is_within(fixing: time, wanted: Parameters) -> bool:
    """Whether a session that opens before a time of day still lasts then."""
    opens, closes = wanted.session_opens, wanted.session_closes
    if opens < closes:
        return opens < fixing <= closes
    return fixing > opens or fixing <= closes


def parameters_title(token: Token) -> str:
    return f"Parameters of the market of {token.symbol}"


def set_parameters(
    token_id: UUID, terms: Mapping[str, Any], reason: str, actor: str
) -> MarketParameters:
    """Decide a market's parameters, in a transaction that carries their approval.

    `actor` filed the request, or decided it.
    """
    with transaction.atomic():
        [made] = MarketParameters.objects.raw(
            SET_PARAMETERS, [actor, token_id, json.dumps(terms), reason]
        )
    return made


def announce_due(at: datetime) -> None:
    """Notify partners of open orders that end at the next opening, where it is time."""
    waiting = MarketParameters.objects.filter(announced_at=None)
    due = waiting.filter(Q(valid_from__lte=at) | Q(opens_at__lte=at + EVENING))
    for token_id in due.order_by("token").values_list("token", flat=True).distinct():
        try:
            with name_locked_row(), transaction.atomic():
                execute(ANNOUNCE, [token_id])
        except LockTimeout as error:
            logger.warning("Endings are announced a little later: %s", error)


EVENING = timedelta(hours=12)
"""Before an opening, as in `trading_announce`."""
ANNOUNCE = "SELECT trading_announce(%s)"
SET_PARAMETERS = "SELECT * FROM trading_set_parameters(%s, %s, %s::jsonb, %s)"


THIN, FIXINGS = 2_500, (time(11, 30), time(16, 30))
"""With fewer trades in twelve months, fixings at these times are proposed.

Euronext trades a share continuously from 2,500 trades a year on, and others in two
auctions a day, at 11:30 and 16:30.
"""
YEAR = timedelta(days=365)
MOST_NAMED = 12
"""Fixings of a day that are named one by one."""


def trades_of_a_year(token_id: UUID, today: date) -> int:
    """Trades of the twelve months before a day, that day included."""
    days = TradingDay.objects.filter(token=token_id, day__gt=today - YEAR)
    return days.aggregate(sum=Sum("trades"))["sum"] or 0


def text_of(parameters: Parameters) -> list[tuple[str, str]]:
    """Parameters as staff read them, each with its name."""
    opens, closes = parameters.session_opens, parameters.session_closes
    hours = f"{opens:%H:%M} to {closes:%H:%M}"
    if opens == closes:
        hours = f"all day, ending {closes:%H:%M}"
    days = "Monday to Friday" if parameters.weekdays_only else "every day"
    rows = zip(parameters.tick_floors, parameters.tick_steps, strict=True)
    steps = "".join(f"; {euros(step)} from {euros(floor)}" for floor, step in rows)
    fixings = ", ".join(f"{one:%H:%M}" for one in parameters.fixings)
    if len(parameters.fixings) > MOST_NAMED:
        first, *_, last = parameters.fixings
        fixings = f"{len(parameters.fixings)} from {first:%H:%M} to {last:%H:%M}"
    value, units = parameters.most_value, parameters.most_units
    holidays = ", ".join(f"{day:%Y-%m-%d}" for day in parameters.holidays)
    return [
        ("Session", f"{hours}, {days} ({settings.MARKET_TIME_ZONE})"),
        ("Holidays", holidays or "none"),
        ("Tick", f"{euros(parameters.tick_cents)}{steps}"),
        ("Lot", plural(parameters.lot_units, "unit")),
        ("Static band", f"{parameters.collar_bps / 100:g} %"),
        ("Dynamic band", f"{parameters.dynamic_band_bps / 100:g} %"),
        ("Model", str(TradingModel(parameters.model).label)),
        ("Fixings", fixings or "none"),
        ("Trading at last", plural(parameters.at_last_minutes, "minute")),
        ("Highest value of an order", "none" if value is None else euros(value)),
        ("Most units of an order", "none" if units is None else plural(units, "unit")),
    ]


class SetParameters:
    """Parameters of a market; superseded if others were decided since."""

    def preview(self, request: ApprovalRequest) -> Preview:
        token, wanted = self.read(request)
        present = text_of(latest(token.pk))
        rows = [
            *token_facts(token),
            *(
                (name, "" if before == after else before, after)
                for (name, before), (_, after) in zip(
                    present, text_of(wanted), strict=True
                )
            ),
        ]
        said = (
            "They hold from the next opening. Open orders off the new ticks, lot or "
            "static band end there."
        )
        return Preview(rows, [said], token_links(token))

    def execute(self, request: ApprovalRequest) -> MarketParameters:
        token, _ = self.read(request)
        content = request.content
        return set_parameters(
            token.pk, content["terms"], content["reason"], request.filed_by.email or ""
        )

    def read(self, request: ApprovalRequest) -> tuple[Token, MarketParameters]:
        content: Mapping[str, Any] = request.content
        token = Token.objects.select_related("issuer", "ledger_head").get(
            pk=content["token"]
        )
        if latest(token.pk).pk != content["replaces"]:
            raise Superseded("The parameters have changed since this was requested.")
        return token, parameters_of(content["terms"])


def parameters_of(terms: Mapping[str, Any]) -> MarketParameters:
    """Parameters from their JSON, not stored."""
    values = {}
    for name in terms:
        field: Any = MarketParameters._meta.get_field(name)
        values[name] = (
            [field.base_field.to_python(one) for one in terms[name]]
            if isinstance(field, ArrayField)
            else field.to_python(terms[name])
        )
    return MarketParameters(**values)
