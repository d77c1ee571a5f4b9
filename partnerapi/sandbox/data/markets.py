"""Five internal markets in the sandbox, and clients who trade on them.

Clients get their units from the treasuries, and cash by a bank statement. Orders of one
market pay fees, and one trades by fixings.
"""

from collections.abc import Sequence
from datetime import time, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts.accounts.models import Account, AccountStatusChange
from accounts.approvals.models import ApprovalKind
from accounts.keys.models import Partner
from accounts.people.models import User, UserHolder
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from issuers.register.models import HolderBalance
from marketdata.replay.own_book import PARTNER, UNPRICED_HOME
from marketdata.replay.simulation import tick_of
from marketdata.trading import phases
from marketdata.trading.fees import Terms
from marketdata.trading.models import Phase, TradingModel
from marketdata.trading.parameters import (
    latest,
    parameters_content,
    parameters_of,
    set_parameters,
)
from marketdata.trading.sessions import Session
from marketdata.trading.tariffs import set_tariff, tariff_content
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.approvals import (
    ASKER,
    WHY,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from partnerapi.sandbox.data.chance import OPENING, dice, moment_after
from partnerapi.sandbox.data.clients import CHECKED, OPENED, entry
from partnerapi.sandbox.data.money import pay_in
from partnerapi.sandbox.data.names import FIRST_NAMES, LAST_NAMES
from partnerapi.sandbox.data.registers import ACTOR
from partnerapi.sandbox.data.sessions import DEMO

SYMBOLS = ("DORVAUX", "VALDASTRI", "TIDEWICK", "ROSMARIN", "GRACHTENLAB")
WITH_FEES = "VALDASTRI"
WITH_FIXINGS = "GRACHTENLAB"
FIXINGS = [time(hour, minute) for hour in range(24) for minute in range(0, 60, 10)]
SOON = timedelta(seconds=90)
"""At most so long after its making a market of fixings opens: on a full minute."""
FEES = Terms(maker=10, taker=25, minimum=100, maximum=5_000, vat=1_900)
CLIENTS = 40
"""Who trade by themselves, in the simulation."""
DEMO_CLIENTS = 40
"""Clients of the partner `demo` who get units; they have cash."""
CLIENT_CENTS = 50_000_000
SHARE_OF_TREASURY = 80
"""Of a hundred units of a treasury, how many clients get."""
ALL_DAY = Session(time(22), time(22), weekdays_only=False)


def open_markets() -> bool:
    """Open the markets, and give clients what they trade with; False: they are open."""
    tokens = Token.objects.filter(symbol__in=SYMBOLS, market=None)
    demo = Account.objects.filter(partner__login=DEMO, status="ACTIVE")
    shown = [*demo.order_by("created_at", "id")[:DEMO_CLIENTS]]
    if not tokens or not shown:
        return False
    with connection.cursor() as cursor:
        # Holders were checked row by row; what comes here is checked at the end.
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    colleague(ASKER)
    clients = write_clients()
    pay_in({client.pk: CLIENT_CENTS for client in clients})
    for token in sorted(tokens, key=lambda token: SYMBOLS.index(token.symbol)):
        allocate(token, [*clients, *shown])
        tick = tick_of(token.ledger_head.price_cents or UNPRICED_HOME)
        if token.symbol == WITH_FIXINGS:
            open_by_fixings(token, tick)
            continue
        phases.open_market(token.pk, ALL_DAY, ASKER, tick_cents=tick)
        phases.change_phase(token.pk, Phase.CONTINUOUS, ASKER)
        if token.symbol == WITH_FEES:
            content = tariff_content(token, None, None, FEES, WHY)
            with carry_out_requests(file_and_approve(ApprovalKind.TARIFF, content)):
                set_tariff(token.pk, None, None, FEES, WHY, ASKER)
    return True


def open_by_fixings(token: Token, tick: int) -> None:
    """Open a market that trades by fixings from its first session on.

    Parameters are decided outside of a session, so that they hold at once.
    """
    soon = (timezone.now() + SOON).astimezone(ZoneInfo(settings.MARKET_TIME_ZONE))
    opens = soon.time().replace(second=0, microsecond=0)
    begin, end = ((soon + timedelta(hours=away)).time() for away in (2, 3))
    later = Session(begin, end, weekdays_only=False)
    phases.open_market(token.pk, later, ASKER, tick_cents=tick)
    wanted = parameters_of(latest(token.pk).terms)
    wanted.session_opens = wanted.session_closes = opens
    wanted.weekdays_only = False
    wanted.model, wanted.fixings = TradingModel.FIXING, FIXINGS
    wanted.at_last_minutes = 2
    content = parameters_content(token, wanted, WHY)
    with carry_out_requests(file_and_approve(ApprovalKind.PARAMETERS, content)):
        set_parameters(token.pk, content["terms"], WHY, ASKER)


def write_clients() -> list[Account]:
    """The accounts of the simulation's clients, ACTIVE; made where there are none."""
    partner, _ = Partner.objects.get_or_create(
        login=PARTNER,
        defaults={
            "id": derived_uuid7(OPENING, f"partner {PARTNER}"),
            "name": "Simulated clients",
            "created_at": OPENING,
        },
    )
    there = Account.objects.filter(partner=partner).order_by("created_at", "id")
    if there:
        return [*there.filter(status="ACTIVE")]
    users, holders, changes = [], [], []
    for number in range(CLIENTS):
        name = f"{PARTNER} {number}"
        chance, at = dice("client", name), moment_after(OPENING, 30 + number, name)
        user = User(
            id=derived_uuid7(at, f"user {name}"),
            password="!",
            type=User.Type.INDIVIDUAL,
            first_name=chance.choice(FIRST_NAMES),
            last_name=chance.choice(LAST_NAMES),
            country_id="FR",
            created_at=at,
        )
        holder = UserHolder(
            id=derived_uuid7(at, f"holder {name}"), user=user, name=str(user)
        )
        account = Account(
            id=derived_uuid7(at, f"account {name}"), partner=partner, user=user
        )
        history: list[AccountStatusChange] = []
        for day, step in enumerate((OPENED, CHECKED)):
            step_at = at if not day else moment_after(at, day, name, day)
            history.append(entry(account, history, step, step_at))
        users.append(user)
        holders.append(holder)
        changes += history
    User.objects.bulk_create(users, ignore_conflicts=True)
    UserHolder.objects.bulk_create(holders, ignore_conflicts=True)
    Account.objects.write(changes)
    return [*there.all()]


def allocate(token: Token, accounts: Sequence[Account]) -> None:
    """Give each account's user the same part of what the treasury can spare."""
    treasury = ledger.treasury(token.issuer)
    held = HolderBalance.objects.get(token=token, account=treasury).balance
    units = int(held) * SHARE_OF_TREASURY // 100 // len(accounts)
    holders = ledger.holder_accounts(account.user_id for account in accounts)
    ledger.record(
        [
            Entry(
                token.pk,
                Kind.ALLOCATE,
                units,
                treasury,
                holders[account.user_id],
                "For the sandbox's market",
            )
            for account in accounts
        ],
        ACTOR,
    )
