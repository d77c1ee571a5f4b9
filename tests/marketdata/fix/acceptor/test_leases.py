"""One acceptor of a group at a time has a CompID."""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db import Error, connection

from accounts.keys.models import Partner
from marketdata.fix.acceptor import leases
from marketdata.fix.acceptor.leases import (
    LOGGED_ON_THERE,
    LOST,
    Leases,
    Settled,
    Wanted,
)
from marketdata.models import FixLease, FixSession
from partnerapi.core.addresses import address_of
from tests.chaos.fix_failover import fail_over
from tests.marketdata.fix.acceptor_process import running_acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.engines import listening
from tests.marketdata.fix.market import ladder_of, moving
from tests.waiting import until

ADDRESS = "192.0.2.7"


class Acceptor(Leases):
    """Notes whom it logs out."""

    def __init__(self, settings: Any, name: str) -> None:
        settings.FIX_ACCEPTOR = name
        self.ended: list[tuple[str, str]] = []
        self.asked: list[tuple[str, int]] = []
        super().__init__(lambda *end: self.ended.append(end))
        self.on_wanted = lambda *wanted: self.asked.append(wanted)

    def log_on(self, comp_id: str) -> int:
        generation = self.claim(comp_id)
        assert self.held[comp_id] == generation
        return generation

    def claim(self, comp_id: str) -> int:
        """Claim a lease for a Logon verified here; returns its generation."""
        return self.settle({comp_id: Wanted(0, ADDRESS)}).generations[comp_id]

    def take(self, comp_id: str, generation: int) -> bool:
        """Whether it has the lease now."""
        wanted = {comp_id: Wanted(generation, ADDRESS)}
        return comp_id not in self.settle(wanted).holders


@pytest.fixture
def comp_id(db: None) -> str:
    partner = Partner.objects.create(login="acme_co", name="Acme")
    [session] = FixSession.objects.bind(partner)
    return session.comp_id


@pytest.fixture
def pair(settings: Any) -> tuple[Acceptor, Acceptor]:
    return Acceptor(settings, "one"), Acceptor(settings, "two")


def test_another_acceptor_gets_the_lease_when_it_is_given_back(pair, comp_id):
    one, two = pair
    held = one.log_on(comp_id)
    newer = two.claim(comp_id)
    assert not two.take(comp_id, newer)
    one.renew()
    one.renew()
    # Once is enough.
    assert (one.asked, one.ended) == ([(comp_id, newer)], [])
    assert not two.take(comp_id, newer)
    one.release(comp_id, held)
    one.renew()
    assert two.take(comp_id, newer)
    one.renew()
    two.renew()
    assert (two.ended, two.asked, FixLease.objects.get().acceptor) == ([], [], "two")


def test_who_is_refused_is_told_whose_session_it_is(pair, comp_id):
    one, two = pair
    one.log_on(comp_id)
    newer = two.claim(comp_id)
    one.refuse(comp_id, newer)
    holder = two.settle({comp_id: Wanted(newer, "192.0.2.8")}).holders[comp_id]
    assert (holder.refused, holder.address) == (newer, ADDRESS)
    assert holder.since == FixLease.objects.get().since
    # The next one is judged anew.
    assert two.settle({comp_id: Wanted(0, ADDRESS)}).generations[comp_id] > newer
    one.renew()
    assert one.asked == [(comp_id, newer + 1)]


def test_a_session_whose_lease_another_has_ends(pair, comp_id):
    one, two = pair
    one.log_on(comp_id)
    FixLease.objects.update(until=FixLease.objects.get().session.created_at)
    two.log_on(comp_id)
    one.renew()
    assert one.ended == [(comp_id, LOGGED_ON_THERE)]
    assert one.held == {}


class NeverGivesUp(Leases):
    def give_up_what_ends(self) -> None:
        raise RuntimeError("a fault")


class NeverSettles(Leases):
    def settle(self, wanted: Mapping[str, Wanted]) -> Settled:
        raise RuntimeError("a fault")


@pytest.mark.parametrize("faulty", [NeverGivesUp, NeverSettles])
def test_a_watch_that_ends_is_logged_and_ends_the_acceptor(
    faulty: type[Leases], transactional_db: None, any_port: None, settings: Any, caplog
):
    settings.FIX_ACCEPTOR = "one"
    with listening(leases=faulty(lambda *end: None)) as listener:
        if faulty is NeverSettles:
            assert listener.is_sound
            claim = listener.claims.take("PARTNER001", address_of(ADDRESS))
            waiting = asyncio.run_coroutine_threadsafe(claim, listener.loop)
        until(lambda: not listener.is_sound)
        if faulty is NeverSettles:
            waiting.cancel()
    [record] = [one for one in caplog.records if one.name.endswith("listener")]
    assert record.message == "Leases of CompIDs are no longer watched"
    assert record.exc_info[0] is RuntimeError


def test_all_that_wait_are_settled_in_few_statements(
    pair, db, django_assert_num_queries
):
    one, two = pair
    comp_ids = []
    for number in range(60):
        partner = Partner.objects.create(login=f"p{number}", name="P")
        [session] = FixSession.objects.bind(partner)
        comp_ids.append(session.comp_id)
    wanted = {comp_id: Wanted(0, ADDRESS) for comp_id in comp_ids}
    with django_assert_num_queries(3):
        assert one.settle(wanted).holders == {}
    assert set(one.held) == set(comp_ids)
    with django_assert_num_queries(3):
        settled = two.settle(wanted)
    assert set(settled.holders) == set(comp_ids)
    FixLease.objects.update(until=FixLease.objects.first().session.created_at)
    again = {c: Wanted(settled.generations[c], ADDRESS) for c in comp_ids}
    with django_assert_num_queries(2):
        assert two.settle(again).holders == {}


def test_statements_of_two_acceptors_lock_in_one_order(
    transactional_db: None, settings: Any
):
    """Statements that lock each other's rows would deadlock."""
    comp_ids = []
    for number in range(40):
        partner = Partner.objects.create(login=f"p{number}", name="P")
        [session] = FixSession.objects.bind(partner)
        comp_ids.append(session.comp_id)
    failures: list[Exception] = []

    def settle(name: str, order: list[str]) -> None:
        settings.FIX_ACCEPTOR = name
        leases = Acceptor(settings, name)
        try:
            for _ in range(30):
                leases.settle({comp_id: Wanted(0, ADDRESS) for comp_id in order})
                leases.renew()
        except Error as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [
        Thread(target=settle, args=each)
        for each in (("one", comp_ids), ("two", comp_ids[::-1]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_an_older_logon_does_not_get_it_any_more(pair, comp_id, settings):
    one, two = pair
    three = Acceptor(settings, "three")
    held = three.log_on(comp_id)
    older, newer = one.claim(comp_id), two.claim(comp_id)
    three.release(comp_id, held)
    three.renew()
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
    # No acceptor would look without a notification.
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
        until(lambda: one.asked)
        told.clear()
        one.release(session.comp_id, one.held[session.comp_id])
        one.tell(session.comp_id)
        # The lease was given back, and the next release is also notified.
        until(lambda: two.take(session.comp_id, newer))
        one.tell(session.comp_id)
        until(lambda: told)
    finally:
        for each in pair:
            each.stop()
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
            two.client,
            one.client,
            kill,
            lambda: {symbol: ladder_of(token) for symbol, token in tokens.items()},
            moving(*tokens.values()),
        )
    assert (report.on_both, report.wrong_books) == (0, 0)
    assert (report.not_refused, report.refused_after) == (0, 0)
