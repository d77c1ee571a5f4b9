"""A dry run judges by now, as the order does, however old the last entry is."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.investors.writer import Facts, decide
from issuers.compliance import restrictions
from issuers.compliance.holders import approve_holder
from issuers.compliance.judge import units_of
from issuers.compliance.models import Restriction
from issuers.compliance.restrictions import Terms
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from partnerapi.sandbox.data.approvals import ASKER, colleague
from tests.api.test_orders import CHECK, PLACE, once
from tests.approved import approved_lifting, approved_rule
from tests.characters import Ask, World
from tests.marketdata.trading.test_session_times import PAST
from tests.marketdata.trading.trading import (
    as_committed,
    deposit,
    give,
    new_clients,
    new_market,
)
from tests.owner import superuser, tamper

ANY_RULE = {"holders": 1_000}


class Quiet:
    """A market whose ledger was written once and never again."""

    def __init__(self, world: World) -> None:
        self.token = new_market()
        self.seller, self.buyer, other = new_clients(3, world.partner)
        deposit(self.buyer, 100_000)
        give(self.token, dict.fromkeys((self.seller, self.buyer, other), 100))
        accounts = ledger.holder_accounts(
            each.user_id for each in (self.seller, self.buyer, other)
        )
        self.sells, self.buys, self.third = (
            accounts[each.user_id] for each in (self.seller, self.buyer, other)
        )
        colleague(ASKER)
        approved_rule(self.token, "MAX_HOLDERS", ANY_RULE)

    def write(self) -> None:
        """Write another person's entry, so that later checks have a later instant."""
        entry = Entry(self.token.pk, Kind.BURN, 1, self.third, None)
        tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
        ledger.record([entry], "me")

    def restrict(self, kind: str, **terms: Any) -> Restriction:
        return restrictions.restrict(
            self.seller.user, Terms(kind, "a court", token=self.token, **terms), ASKER
        )

    def verify(self, until: datetime | None, verification: str = "VERIFIED") -> None:
        for client in (self.seller, self.buyer):
            decide(client.user, Facts(verification, until, None, "RETAIL"), ASKER)


def passed(at: datetime) -> None:
    """Go on when the database's clock is behind the instant."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_sleep(greatest(0, extract(epoch FROM %s - clock_timestamp())))",
            [at],
        )
        cursor.execute("SELECT clock_timestamp() > %s", [at])
        assert cursor.fetchall() == [(True,)]


def soon() -> datetime:
    return timezone.now() + timedelta(seconds=1)


def freeze_and_lift(quiet: Quiet) -> None:
    frozen = quiet.restrict("FREEZE")
    quiet.write()
    approved_lifting(frozen)


def freeze_until(quiet: Quiet) -> None:
    quiet.restrict("FREEZE", until=(until := soon()))
    quiet.write()
    passed(until)


def lock_up_until(quiet: Quiet) -> None:
    quiet.restrict("LOCK_UP", units=95, until=(until := soon()))
    quiet.write()
    passed(until)


def freeze(quiet: Quiet) -> None:
    quiet.write()
    quiet.restrict("FREEZE")


def pledge(quiet: Quiet) -> None:
    quiet.write()
    quiet.restrict("PLEDGE", units=95, beneficiary="A bank")


def pause_and_go_on(quiet: Quiet) -> None:
    approved_rule(quiet.token, "TRANSFERS_PAUSED", {})
    quiet.write()
    approved_rule(quiet.token, "TRANSFERS_PAUSED", None)


def pause(quiet: Quiet) -> None:
    quiet.write()
    approved_rule(quiet.token, "TRANSFERS_PAUSED", {})


def verified_until(quiet: Quiet) -> None:
    approved_rule(quiet.token, "VERIFIED_HOLDERS", {})
    quiet.verify(until := soon())
    quiet.write()
    passed(until)


def verified_later(quiet: Quiet) -> None:
    approved_rule(quiet.token, "VERIFIED_HOLDERS", {})
    quiet.write()
    quiet.verify(None)


def approved_later(quiet: Quiet) -> None:
    approved_rule(quiet.token, "APPROVED_HOLDERS", {})
    quiet.write()
    approve_holder(quiet.token, quiet.buyer.user, None, ASKER)


def approved_until(quiet: Quiet) -> None:
    approved_rule(quiet.token, "APPROVED_HOLDERS", {})
    approve_holder(quiet.token, quiet.buyer.user, (until := soon()), ASKER)
    quiet.write()
    passed(until)


def bounded_later(quiet: Quiet) -> None:
    quiet.write()
    approved_rule(quiet.token, "MAX_BALANCE", {"units": 104})


def bounded_no_more(quiet: Quiet) -> None:
    approved_rule(quiet.token, "MAX_BALANCE", {"units": 104})
    quiet.write()
    approved_rule(quiet.token, "MAX_BALANCE", None)


def session_over(quiet: Quiet) -> None:
    quiet.write()
    tamper(PAST)


REFUSED = "TRANSFER_REFUSED"
CASES: dict[Callable[[Quiet], None], tuple[str, str | None]] = {
    freeze_and_lift: ("SELL", None),
    freeze_until: ("SELL", None),
    freeze: ("SELL", REFUSED),
    lock_up_until: ("SELL", None),
    pledge: ("SELL", REFUSED),
    pause_and_go_on: ("SELL", None),
    pause: ("BUY", REFUSED),
    verified_until: ("BUY", REFUSED),
    verified_later: ("BUY", None),
    approved_later: ("BUY", None),
    approved_until: ("BUY", REFUSED),
    bounded_later: ("BUY", REFUSED),
    bounded_no_more: ("BUY", None),
    session_over: ("BUY", "MARKET_CLOSED"),
}


@pytest.mark.parametrize("change", CASES, ids=lambda change: change.__name__)
def test_the_dry_run_judges_by_now(
    world: World, partner: Ask, change: Callable[[Quiet], None]
):
    side, code = CASES[change]
    quiet = Quiet(world)
    change(quiet)
    as_committed()
    client = quiet.seller if side == "SELL" else quiet.buyer
    order: dict[str, Any] = {
        "accountID": f"Account|{client.pk}",
        "tokenID": f"Token|{quiet.token.pk}",
        "side": side,
        "quantity": 10,
        "limitPrice": 100,
        "timeInForce": "GTC",
    }
    checked = partner(CHECK, {"input": order}).data["checkOrder"]
    with transaction.atomic():
        placed = once(partner, PLACE, **order)
    assert (placed.code if "errors" in placed.body else None) == code
    assert (checked["code"], checked["allowed"]) == (code, code is None)
    if code == REFUSED:
        details = placed.errors[0]["extensions"]["refusals"]
        assert [r["code"] for r in checked["refusals"]] == [r["code"] for r in details]


@pytest.mark.parametrize("change", [freeze_and_lift, freeze, freeze_until])
def test_the_page_of_a_holder_tells_the_units_of_now(
    world: World, client: Client, change: Callable[[Quiet], None]
):
    quiet = Quiet(world)
    change(quiet)
    [units] = units_of(quiet.sells, [quiet.token.pk]).values()
    available = 0 if change is freeze else 100
    assert (units.is_frozen, units.available) == (change is freeze, available)
    names = {"first_name": "Ana", "last_name": "Staff", "type": "INDIVIDUAL"}
    client.force_login(superuser("ana@staff.example", **names))
    page = client.get(f"/admin/holder/{quiet.seller.user_id}/")
    [holding] = page.context["holdings"]
    assert holding.units == units
