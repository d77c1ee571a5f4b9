import contextlib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from accounts.access import Scope
from accounts.keys.models import ApiKey, Partner
from issuers.models import Token
from marketdata.models import FixSession
from partnerapi.sandbox.data.approvals import approved_key
from tests.marketdata.fix.acceptor_process import Acceptor, running_acceptor
from tests.marketdata.fix.certificates import new_certificate
from tests.marketdata.fix.market import Member, new_member, new_token
from tests.marketdata.fix.trader import Trader, new_trader
from tests.owner import as_owner, remove_approvals


@dataclass
class Market:
    """`listed` has an ISIN, `unnumbered` has none, `hidden` no one may see."""

    listed: Token
    unnumbered: Token
    hidden: Token
    members: list[Member]


@pytest.fixture
def market(transactional_db: None) -> Market:
    return Market(
        new_token("LUM", "FR0000120271"),
        new_token("ORB"),
        new_token("HID", hidden=True),
        [new_member(1), new_member(2)],
    )


@pytest.fixture
def trader(one_person: None, market: Market) -> Trader:
    return new_trader()


@pytest.fixture
def start_acceptor(market: Market, tmp_path: Path) -> Iterator[Callable[..., Acceptor]]:
    """Starts an acceptor with the settings that are given; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def start(tls: ssl.SSLContext | None = None, **environment: str) -> Acceptor:
            log = tmp_path / "acceptor.log"
            running = running_acceptor(log, market.members, tls, **environment)
            return stack.enter_context(running)

        yield start


@pytest.fixture
def acceptor(start_acceptor: Callable[..., Acceptor]) -> Acceptor:
    return start_acceptor()


@pytest.fixture
def committed_key(keeps_rows: None, transactional_db: None) -> Iterator[str]:
    """The key of `acme_co`, who has PARTNER001 and 002, for other threads to see."""
    partner = Partner.objects.create(login="acme_co", name="Acme")
    for comp_id in ("PARTNER001", "PARTNER002"):
        FixSession.objects.create(comp_id=comp_id, partner=partner)
    yield approved_key(partner, [Scope.MARKETDATA_READ])[1]
    with as_owner():
        FixSession.objects.all().delete()
        ApiKey.objects.all().delete()
        remove_approvals()
        Partner.objects.all().delete()


@pytest.fixture
def any_port(settings: Any) -> None:
    """Listen on a port that the system chooses."""
    settings.FIX_PORT = 0


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    return new_certificate(tmp_path)
