"""An internal market in tests: clients with cash and units, and their requests."""

import uuid
from collections.abc import Iterable
from datetime import time
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.cash.models import CashAccount, CashHead
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from issuers.register.models import HolderBalance
from marketdata.trading import market, moving, phases
from marketdata.trading.fees import Terms
from marketdata.trading.market import Placed, Request
from marketdata.trading.models import Market, MarketParameters, Order, Phase
from marketdata.trading.models import Tariff as TariffRow
from marketdata.trading.parameters import (
    latest,
    parameters_content,
    parameters_of,
    set_parameters,
)
from marketdata.trading.queues import BUY, SELL
from marketdata.trading.sessions import Session
from marketdata.trading.tariffs import set_tariff, tariff_content
from partnerapi.core.errors import PartnerAPIError
from tests.accounts.money import deposit as deposit
from tests.approved import (
    WHY,
    approved_record,
    asker,
    carry_out_requests,
    desk,
    file_and_approve,
)
from tests.issuers.register import new_issuer, people
from tests.owner import tamper

ALL_DAY = Session(time(22), time(22), weekdays_only=False)


def new_market(price: int = 100, **settings: Any) -> Token:
    """A token on the secondary market, CONTINUOUS around a price."""
    name = uuid.uuid4().hex[:12].upper()
    token = Token.objects.create(
        issuer=new_issuer(),
        name=name,
        symbol=name,
        market_type=Token.MarketType.SECONDARY_MARKET,
    )
    phases.open_market(token.pk, ALL_DAY, asker(), reference_price=price, **settings)
    phases.change_phase(token.pk, Phase.CONTINUOUS, "market")
    return token


def approved_tariff(
    token: Token, terms: Terms | None, partner: Partner | None = None
) -> TariffRow | None:
    """A tariff from now on, or the end of the last one, as two people decide it."""
    content = tariff_content(token, partner, None, terms, WHY)
    of = partner.pk if partner else None
    with carry_out_requests(file_and_approve(ApprovalKind.TARIFF, content)):
        return set_tariff(token.pk, of, None, terms, WHY, asker())


def approved_parameters(token: Token, **changes: Any) -> MarketParameters:
    """New parameters, changed in these, as two people decide them."""
    wanted = parameters_of(latest(token.pk).terms)
    for name, value in changes.items():
        setattr(wanted, name, value)
    content = parameters_content(token, wanted, WHY)
    with carry_out_requests(file_and_approve(ApprovalKind.PARAMETERS, content)):
        return set_parameters(token.pk, content["terms"], WHY, asker())


def reopen(token: Token) -> None:
    """Close the session that is open, and open the next one, as the clock does."""
    tamper(
        "UPDATE trading_market SET next_phase_at = clock_timestamp()",
        "UPDATE trading_marketparameters SET"
        " created_at = least(created_at, statement_timestamp()),"
        " valid_from = least(valid_from, statement_timestamp()),"
        " opens_at = least(opens_at, statement_timestamp())",
    )
    moving.catch_up(token.pk)
    assert Market.objects.get(token=token).phase == "CONTINUOUS"


def new_partner() -> Partner:
    name = f"p{uuid.uuid4().hex[:10]}"
    return Partner.objects.create(login=name, name=name)


def new_clients(
    count: int, partner: Partner | None = None, users: list[User] | None = None
) -> list[Account]:
    """ACTIVE accounts, of users of their own."""
    partner = partner or new_partner()
    staff = desk()
    accounts = []
    for user in users or people(count):
        account = Account.objects.open(partner, user, staff, timezone.now())
        account.change_status("ACTIVE", staff, None)
        accounts.append(account)
    return accounts


def give(token: Token, units: dict[Account, int]) -> None:
    """New units for holders."""
    accounts = ledger.holder_accounts(account.user_id for account in units)
    approved_record(
        [
            Entry(token.pk, Kind.MINT, amount, None, accounts[account.user_id])
            for account, amount in units.items()
        ],
        "staff",
    )


def cash_of(account: Account) -> int:
    return CashAccount.objects.get(account=account).pk


def purse(account: Account) -> tuple[int, int]:
    """An account's cash and what is reserved of it, cents."""
    head = CashHead.objects.get(cash_account__account=account)
    return head.balance, head.reserved


def units(token: Token, account: Account) -> tuple[int, int]:
    """A user's units and how many of them are reserved."""
    held = HolderBalance.objects.filter(token=token, user=account.user_id).first()
    return (int(held.balance), int(held.reserved)) if held else (0, 0)


def buy(account: Account, quantity: int, price: int, **more: Any) -> Request:
    more.setdefault("time_in_force", "GTC")
    return Request(account.pk, BUY, quantity, price, account.partner.login, **more)


def sell(account: Account, quantity: int, price: int, **more: Any) -> Request:
    more.setdefault("time_in_force", "GTC")
    return Request(account.pk, SELL, quantity, price, account.partner.login, **more)


def place(token: Token, *requests: Request) -> list[Placed | PartnerAPIError]:
    return market.place_each(token.pk, requests)


def placed(token: Token, request: Request) -> Order:
    [result] = place(token, request)
    assert isinstance(result, Placed), result
    return Order.objects.get(pk=result.order.pk)


def codes(results: Iterable[Placed | PartnerAPIError]) -> list[str]:
    """The orders' statuses, or the codes of their refusals."""
    return [r.order.status if isinstance(r, Placed) else r.code for r in results]


def as_committed() -> None:
    """Run the checks of the commit now."""
    connection.check_constraints()
