"""The request of each error code gets the answer that the reference shows."""

import re
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts.access import Caller
from accounts.accounts.models import Account
from accounts.applicants.models import Applicant, Description
from accounts.keys.models import Partner
from accounts.people.models import Country, User
from issuers.models import Token
from issuers.offerings import subscriptions
from issuers.register import ledger
from issuers.register.ledger import Entry
from marketdata.trading import controls, judging, market, phases
from marketdata.trading.models import Phase
from marketdata.trading.placing import Placed
from marketdata.trading.queues import BUY, SELL
from marketdata.trading.round import Request
from partnerapi.exports import creation
from partnerapi.gateway import authentication, clock
from partnerapi.site import reference
from partnerapi.site.exchanges import of_errors
from partnerapi.webhooks import changes
from tests.accounts.money import deposit
from tests.approved import approved_rule, asker, desk
from tests.characters import START, Ask, World
from tests.examples.shapes import differences
from tests.issuers.offerings import offerings
from tests.issuers.register import people
from tests.marketdata.trading.test_calls import end_call
from tests.marketdata.trading.test_fixings import trade_by
from tests.marketdata.trading.trading import give, new_clients, new_market
from tests.owner import break_table, tamper

MEBIBYTE = 1_048_576
KEY = "service-apikey_<login>_<secret>"
# What the reference shows in short: the request as it is sent.
ELIDED = {
    "MAX_TOKENS_EXCEEDED": ("id …", "id " * 2_000),
    "MAX_FRAGMENTS_EXCEEDED": ("...name …", "...name " * 50),
    "MAX_ALIASES_EXCEEDED": (
        "a2: __typename …",
        " ".join(f"a{n}: __typename" for n in range(2, 101)),
    ),
    "PAYLOAD_TOO_LARGE": ("…", "x" * MEBIBYTE),
}


@pytest.fixture
def account(world: World) -> Account:
    user = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    account = Account.objects.open(world.partner, user, desk(), START)
    account.change_status("ACTIVE", desk(), None)
    return account


@pytest.fixture
def states(
    world: World, account: Account, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Callable[[], dict[str, str] | None]]:
    """What has to be so before the request of a code gets it; ids that it names."""

    def two_holders() -> None:
        token = world.public_token.pk
        accounts = ledger.holder_accounts(user.pk for user in people(2)).values()
        entries = [Entry(token, "MINT", 1, None, to, at=START) for to in accounts]
        ledger.write_history([token], entries, "import")
        settings.PARTNER_API_MAX_HOLDERS = 1

    def claims_raise(condition: str) -> None:
        tamper(
            "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{condition}'; END $$",
            "CREATE TRIGGER held BEFORE INSERT ON partnerapi_idempotencyrecord"
            " FOR EACH ROW EXECUTE FUNCTION hold()",
        )

    def broken_articles() -> None:
        break_table("issuers_article")

    def open_one() -> None:
        caller = Caller(
            str(world.partner.pk), world.partner.login, "", frozenset(), None, 1, 1
        )
        client = Description(
            "INDIVIDUAL",
            "Anna",
            "Lund",
            None,
            "a@b.example",
            None,
            Country.objects.get(pk="FR"),
        )
        Applicant.objects.open(caller, "client-4711", client, START)

    def suspend() -> None:
        account.change_status("SUSPENDED", desk(), None)

    def on_market(
        *orders: Request, cancelled: bool = False, **settings: Any
    ) -> dict[str, str]:
        """A market with these orders of the account, which has cash."""
        token = new_market(3_869, **settings)
        deposit(account, 5_000_000)
        placed = market.place_each(token.pk, orders) if orders else []
        ids = [result.order.pk for result in placed if isinstance(result, Placed)]
        if cancelled:
            market.cancel_each(token.pk, ids, "BY_PARTNER", account.partner.login)
        order = str(ids[0]) if ids else ""
        return {"Token": str(token.pk), "Order": order}

    def closed_market() -> dict[str, str]:
        ids = on_market()
        phases.change_phase(UUID(ids["Token"]), Phase.CLOSED, asker())
        return ids

    def blocked() -> dict[str, str]:
        partner = account.partner
        controls.block(partner.pk, account.pk, None, partner.login)
        return on_market()

    def with_rule() -> dict[str, str]:
        ids = on_market()
        approved_rule(Token.objects.get(pk=ids["Token"]), "VERIFIED_HOLDERS", {})
        return ids

    def spend_the_time() -> None:
        settings.PARTNER_API_BUDGET_SECONDS = 10
        clock.minute_of("address:127.0.0.1", monotonic()).used = 5

    def limited(name: str, limit: int) -> dict[str, str]:
        """A market where the account has an order, and its partner this limit."""
        Partner.objects.filter(pk=account.partner_id).update(**{name: limit})
        authentication.cache.clear()
        ids = on_market(order)
        # However long the request takes, this is the second before it.
        tamper("UPDATE trading_order SET created_at = created_at + interval '1 hour'")
        return ids

    def offered(price: int = 3_500) -> dict[str, str]:
        ids = on_market()
        [seller] = new_clients(1)
        token = Token.objects.get(pk=ids["Token"])
        give(token, {seller: 5})
        offer = Request(seller.pk, SELL, 5, price, seller.partner.login)
        market.place_each(token.pk, [offer])
        return ids

    def called() -> dict[str, str]:
        ids = on_market()
        phases.change_phase(UUID(ids["Token"]), Phase.CALL, asker())
        return ids

    def at_last() -> dict[str, str]:
        ids = offered()
        token = Token.objects.get(pk=ids["Token"])
        trade_by(token, "FIXING", 1, at_last_minutes=10)
        market.place_each(token.pk, [order])
        end_call(token)
        return ids

    def offering(
        subscribes: bool = False, ended: bool = False, binds: bool = False, **terms: Any
    ) -> dict[str, str]:
        """An offering, and the account's subscription to it."""
        made = offerings.opened(**terms)
        if not subscribes:
            return {"Offering": str(made.pk)}
        deposit(account, 50_000)
        subscription = offerings.subscribe(made, account, 20)
        if ended:
            subscriptions.withdraw(subscription, account.partner.login)
        if binds:
            offerings.set_reflection(subscription, timezone.now())
        ids = {"Offering": str(made.pk)}
        return ids | {"OfferingSubscription": str(subscription.pk)}

    def full_market() -> dict[str, str]:
        monkeypatch.setattr(judging, "MOST_OPEN", 0)
        return on_market()

    order = Request(
        account.pk,
        BUY,
        5,
        3_500,
        account.partner.login,
        "GTC",
        client_order_id="example-1",
    )

    def set_to(name: str, value: Any) -> Callable[[], None]:
        return lambda: setattr(settings, name, value)

    return {
        "ACCOUNT_NOT_ACTIVE": suspend,
        "ALREADY_SUBSCRIBED": lambda: offering(subscribes=True),
        "OFFERING_NOT_OPEN": lambda: offering(opens=timezone.now() + timedelta(0, 60)),
        "PRICE_OUTSIDE_BAND": offering,
        "REFLECTION_PERIOD_ENDED": lambda: offering(subscribes=True, binds=True),
        "SUBSCRIPTION_CHANGED": lambda: offering(subscribes=True),
        "SUBSCRIPTION_NOT_ACTIVE": lambda: offering(subscribes=True, ended=True),
        "TICKET_SIZE": lambda: offering(smallest=10),
        "ACCOUNT_NOT_EMPTY": lambda: deposit(account, 5_000),
        "CAPITALIZATION_TABLE_TOO_LARGE": two_holders,
        "DUPLICATE_CLIENT_ORDER_ID": lambda: on_market(order),
        "DUPLICATE_REFERENCE": open_one,
        "IDEMPOTENCY_CONCURRENT_REQUEST": lambda: claims_raise("lock_not_available"),
        "INSECURE_TRANSPORT": set_to("PARTNER_API_HTTPS", True),
        "INSUFFICIENT_UNITS": on_market,
        "INTERNAL_SERVER_ERROR": broken_articles,
        "LOT_SIZE": lambda: on_market(lot_units=10),
        "MARKET_CLOSED": closed_market,
        "NOT_TRADABLE": lambda: {"Token": str(world.public_token.pk)},
        "ORDER_CHANGED": lambda: on_market(order),
        "OPEN_VALUE_EXCEEDED": lambda: limited("open_value_limit", 20_000),
        "ORDER_RATE_EXCEEDED": lambda: limited("orders_per_second", 1),
        "ORDERS_BLOCKED": blocked,
        "ORDER_NOT_OPEN": lambda: on_market(order, cancelled=True),
        "ORDER_VALUE_TOO_LARGE": on_market,
        "PRICE_OUTSIDE_COLLAR": on_market,
        "TICK_SIZE": lambda: on_market(tick_cents=5),
        "TOO_MANY_OPEN_ORDERS": full_market,
        "TRANSFER_REFUSED": with_rule,
        "THROTTLED": spend_the_time,
        "WOULD_TRADE": offered,
        "ONLY_AUCTION_PRICE": at_last,
        "ONLY_RESTING_ORDERS": called,
        "OUTSIDE_BAND": lambda: offered(4_400),
        "TIMEOUT": set_to("PARTNER_API_MAX_SECONDS", 0),
        "TOO_MANY_EXPORTS": lambda: monkeypatch.setattr(creation, "MOST_KEPT", 0),
        "TOO_MANY_WEBHOOKS": lambda: monkeypatch.setattr(changes, "MOST_OF_KEY", 0),
        "UNAVAILABLE": lambda: claims_raise("read_only_sql_transaction"),
    }


def send(request: str, key: str, ids: dict[str, str]) -> tuple[int, Any, Any]:
    """The status, the headers and the body that a text of HTTP gets."""
    head, _, body = request.partition("\n\n")
    first, *lines = head.splitlines()
    method, address = first.split()
    headers = dict(line.split(": ", 1) for line in lines)
    headers.pop("Content-Length", None)
    if headers.get("X-Token-Auth") == KEY:
        headers["X-Token-Auth"] = key
    body = body.replace("lumarelle-optics", "lumen")
    for type_, pk in ids.items():
        body = re.sub(rf"{type_}\|(?!0{{8}})[0-9a-f-]{{36}}", f"{type_}|{pk}", body)
    kind = headers.pop("Content-Type", "")
    client = Client(raise_request_exception=False)
    response = client.generic(method, address, body, kind, headers=headers)
    return response.status_code, response.headers, orjson.loads(response.content)


def test_every_code_has_a_request_and_its_answer():
    codes = {error.code for error in reference.errors()}
    assert set(of_errors()) == codes, "add CODE.http to templates/examples/errors"


@pytest.mark.parametrize("code", sorted(of_errors()))
def test_the_request_of_a_code_gets_its_answer(
    code: str,
    world: World,
    account: Account,
    partner: Ask,
    states: dict[str, Callable[[], dict[str, str] | None]],
):
    exchange = of_errors()[code]
    request = exchange.request.rstrip("\n")
    short, sent = ELIDED.get(code, ("", ""))
    assert short in request
    request = request.replace(short, sent) if short else request
    ids: dict[str, str] = {"Account": str(account.pk), "Issuer": str(world.listed.pk)}
    if code == "IDEMPOTENCY_KEY_PARAMETER_MISMATCH":
        send(request.replace("CLOSED", "SUSPENDED"), str(partner.key), ids)
    ids |= states.get(code, dict)() or {}

    status, headers, body = send(request, str(partner.key), ids)

    head, _, shown = exchange.answer.partition("\n\n")
    first, *lines = head.splitlines()
    assert first.split()[1] == str(status)
    for line in lines:
        name, _, value = line.partition(": ")
        assert name in headers
        if name == "X-Query-Cost":
            assert headers[name] == value
    assert {error["extensions"]["code"] for error in body["errors"]} == {code}
    example = orjson.loads(shown)
    assert differences(example, body) == []
    assert wordings(example) == wordings(body)
    site = settings.PARTNER_API_SITE
    for error in body["errors"]:
        page = error["extensions"]["docUrl"].removeprefix(site)
        assert Client().get(page, secure=True).status_code == 200


def wordings(body: dict[str, Any]) -> list[list[str]]:
    """The words of each message, without names, ids, numbers and quoted values."""
    return [
        re.findall(r"(?<!\S)[a-z]+(?=[.,:;]?(?:\s|$))", error["message"])
        for error in body["errors"]
    ]
