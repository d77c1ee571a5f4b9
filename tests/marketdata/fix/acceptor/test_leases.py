"""Of a group of acceptors one at a time has a CompID."""

import signal
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Partner
from marketdata.fix.acceptor import leases
from marketdata.fix.acceptor.leases import LOGGED_ON_THERE, LOST, Leases
from marketdata.models import FixLease, FixSession
from tests.chaos.fix_failover import fail_over
from tests.marketdata.fix.acceptor_process import running_acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.market import ladder_of, moving
from tests.waiting import until


class Acceptor(Leases):
    """Notes whom it logs out."""

    def __init__(self, settings: Any, name: str) -> None:
        settings.FIX_ACCEPTOR = name
        self.ended: list[tuple[str, str]] = []
        super().__init__(lambda *end: self.ended.append(end))

    def log_on(self, comp_id: str) -> int:
        generation = self.claim(comp_id)
        assert self.take(comp_id, generation)
        return generation


@pytest.fixture
def comp_id(db: None) -> str:
    partner = Partner.objects.create(login="acme_co", name="Acme")
    [session] = FixSession.objects.bind(partner)
    return session.comp_id


@pytest.fixture
def pair(settings: Any) -> tuple[Acceptor, Acceptor]:
    return Acceptor(settings, "one"), Acceptor(settings, "two")


def test_the_newest_logon_gets_the_lease_when_the_other_gives_way(pair, comp_id):
    one, two = pair
    one.log_on(comp_id)
    newer = two.claim(comp_id)
    assert not two.take(comp_id, newer)
    one.renew()
    assert one.ended == [(comp_id, LOGGED_ON_THERE)]
    assert two.take(comp_id, newer)
    one.renew()
    two.renew()
    assert (two.ended, FixLease.objects.get().acceptor) == ([], "two")


def test_an_older_logon_does_not_get_it_any_more(pair, comp_id):
    one, two = pair
    older = one.claim(comp_id)
    newer = two.claim(comp_id)
    assert not one.take(comp_id, older)
    assert two.take(comp_id, newer)


def test_a_lease_goes_on_while_it_is_renewed_and_ends_without(
    pair, comp_id, monkeypatch
):
    one, two = pair
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.0)
    one.log_on(comp_id)
    one.renew()
    newer = two.claim(comp_id)
    assert not two.take(comp_id, newer)
    # As if an acceptor that was killed had held it.
    FixLease.objects.update(until=FixLease.objects.get().session.created_at)
    assert two.take(comp_id, newer)


def test_a_session_that_ended_gives_its_lease_back(pair, comp_id):
    one, two = pair
    one.release(comp_id, one.log_on(comp_id))
    # It comes back before the lease was given back.
    second = one.log_on(comp_id)
    one.renew()
    assert not two.take(comp_id, two.claim(comp_id))
    one.release(comp_id, second)
    one.renew()
    assert one.left == {}
    assert two.take(comp_id, two.claim(comp_id))


def test_an_acceptor_that_can_not_renew_gives_up_in_time(pair, comp_id):
    one, _ = pair
    one.log_on(comp_id)
    one.give_up_what_ends()
    assert one.ended == []
    one.renewed_at -= leases.LEASE_SECONDS - leases.MARGIN_SECONDS
    one.give_up_what_ends()
    assert one.ended == [(comp_id, LOST)]


def test_who_holds_a_lease_and_who_waits_for_it_are_told(
    transactional_db: None, pair, monkeypatch
):
    # Nobody would look for himself.
    monkeypatch.setattr(leases, "RENEW_SECONDS", 1_000.0)
    one, two = pair
    [session] = FixSession.objects.bind(
        Partner.objects.create(login="acme_co", name="Acme")
    )
    told: list[str] = []
    two.on_told = told.append
    try:
        one.start()
        two.start()
        until(lambda: one.told.channel and two.told.channel)
        one.log_on(session.comp_id)
        newer = two.claim(session.comp_id)
        until(lambda: one.ended)
        told.clear()
        # The lease was given back, and the next release is told, too.
        until(lambda: two.take(session.comp_id, newer))
        one.tell(session.comp_id)
        until(lambda: told)
    finally:
        for each in pair:
            each.stop()
    assert one.ended == [(session.comp_id, LOGGED_ON_THERE)]
    assert set(told) == {session.comp_id}


def test_sessions_move_from_acceptor_to_acceptor(market: Market, tmp_path: Path):
    members = market.members
    tokens = {token.symbol: token for token in (market.listed, market.unnumbered)}
    with (
        running_acceptor(tmp_path / "1.log", members, FIX_ACCEPTOR="one") as one,
        running_acceptor(tmp_path / "2.log", members, FIX_ACCEPTOR="two") as two,
    ):

        def kill() -> None:
            two.process.send_signal(signal.SIGKILL)
            two.process.wait()

        report = fail_over(
            len(members),
            one.client,
            two.client,
            kill,
            lambda: {symbol: ladder_of(token) for symbol, token in tokens.items()},
            moving(*tokens.values()),
        )
    assert (report.on_both, report.not_told, report.wrong_books) == (0, 0, 0)
