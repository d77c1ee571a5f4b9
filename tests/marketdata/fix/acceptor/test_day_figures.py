"""The figures of the day at many instants: over FIX, over GraphQL, and by SQL."""

import random

from django.test import Client

from accounts.access import Scope
from marketdata.books.days import compare_days, vwap
from marketdata.books.log import Deal, Message, record
from marketdata.fix.client.replica import Replica
from partnerapi.sandbox.data.approvals import approved_key
from tests.marketdata.books.tapes import over_the_tape
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.engines import market_data_request, running_engine
from tests.waiting import until

INSTANTS = 200
FIGURES = "4789B"
DAY = "query ($id: ID!) { token(id: $id) { day { open high low close volume vwap } } }"


def test_fix_graphql_and_the_tape_agree(market: Market, client: Client, settings):
    settings.FIX_CONFLATION_MS = 0
    settings.PARTNER_API_BUDGET_POINTS = 1_000_000
    token, chance = market.listed, random.Random(11)
    scopes = [Scope.MARKETDATA_READ, Scope.ISSUERS_READ]
    _, key = approved_key(market.members[0].partner, scopes)
    replica = Replica(token.symbol)
    wrong = []
    with running_engine() as bench, bench.initiator() as session:
        request = market_data_request("R1", token.symbol, entry_types=FIGURES)
        session.send("V", *request)

        def hears(figures: dict[str, int]) -> bool:
            message = session.receive(0.05)
            if message is not None and message.type in "WX":
                replica.take(message, message.group(268))
            return replica.figures == figures

        for _ in range(INSTANTS):
            deals = [
                Deal(chance.randint(900, 1_100), chance.randint(1, 50))
                for _ in range(chance.randint(1, 3))
            ]
            record(token.pk, [Message(deals=deals)], "tests")
            day = over_the_tape(token)[-1]
            average = vwap(day.value, day.volume)
            told = (day.open, day.high, day.low, average, day.volume)
            figures = dict(zip(FIGURES, told, strict=True))
            until(lambda: hears(figures), lambda: replica.figures)  # noqa: B023
            answer = client.post(
                "/graphql",
                {"query": DAY, "variables": {"id": f"Token|{token.pk}"}},
                content_type="application/json",
                headers={"X-Token-Auth": key},
            )
            expected = {
                "open": day.open,
                "high": day.high,
                "low": day.low,
                "close": day.close,
                "volume": day.volume,
                "vwap": average,
            }
            if answer.json() != {"data": {"token": {"day": expected}}}:
                wrong.append((answer.json(), expected))
    assert wrong == []
    assert [is_right for _, is_right in compare_days(token.pk)] == [True]
