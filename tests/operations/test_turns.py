"""Callers take turns: in the pure lines, and at a web server that many ask at once."""

import contextlib
import socket
from collections import Counter, deque
from collections.abc import Iterator
from math import inf
from pathlib import Path
from time import monotonic

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker

from accounts.access import Scope, Unauthenticated
from accounts.keys.models import Partner, new_secret
from partnerapi.gateway import authentication
from partnerapi.gateway.heads import caller
from partnerapi.operations.turns import MOST_COMPARED, Turns, Work
from partnerapi.sandbox.data.approvals import approved_key
from tests.characters import World
from tests.gateway.conftest import UNLIMITED, WebServer, serving
from tests.operations.test_probes import locked
from tests.operations.test_web_worker import HEAD, answer_on, connect
from tests.owner import as_owner, remove_approvals, remove_keys
from tests.waiting import until


def work(request: int, caller: str, due: float = inf) -> Work[int]:
    return Work(request, caller, lambda _: None, 0.0, due)


STEPS = st.lists(st.one_of(st.sampled_from("abcde"), st.integers(0, 9)), max_size=80)


@given(st.integers(1, 8), STEPS)
def test_no_caller_is_passed_over(places: int, steps: list[str | int]):
    """Each letter joins its line; each number ends one that is under way."""
    turns: Turns[int] = Turns(places)
    lines: dict[str, deque[int]] = {name: deque() for name in "abcde"}
    under_way: list[Work[int]] = []
    passed = Counter[str]()
    for number, step in enumerate(steps):
        if isinstance(step, str):
            turns.join(work(number, step))
            lines[step].append(number)
        elif under_way:
            turns.give_place(under_way.pop(step % len(under_way)))
        while taken := turns.take():
            assert taken.request == lines[taken.caller].popleft()
            under_way.append(taken)
            passed.pop(taken.caller, None)
            passed.update(name for name, line in lines.items() if line)
        at_work = Counter(each.caller for each in under_way)
        free = places - len(under_way)
        assert free >= 0
        assert max(at_work.values(), default=0) <= max(1, places // 2)
        # While places are free, those who wait have as many as would stay free.
        if free:
            assert all(
                at_work[name] >= max(1, free - 1) for name in lines if lines[name]
            )
        # Others come before one without a place at most once each.
        for name in list(passed):
            if at_work[name] or not lines[name]:
                del passed[name]
        assert max(passed.values(), default=0) <= len(lines)


@given(st.integers(2, 40), st.integers(1, 5), st.lists(st.integers(0, 99), max_size=99))
def test_those_with_long_lines_leave_a_place_to_a_stranger(
    places: int, greedy: int, ended: list[int]
):
    """Each number ends one that is under way; the lines of the greedy never end."""
    turns: Turns[int] = Turns(places)
    under_way: list[Work[int]] = []

    def go_on() -> None:
        while taken := turns.take():
            under_way.append(taken)
            if taken.caller != "stranger":
                turns.join(work(0, taken.caller))

    for number in range(greedy):
        turns.join(work(0, str(number)))
        go_on()
    for number in ended:
        # At once, or else with the first that ends, of any caller; those that have
        # no place either, and came before, go before it.
        is_full = len(under_way) == places
        before = greedy - len({each.caller for each in under_way})
        turns.join(work(0, "stranger"))
        go_on()
        for _ in range((before + 1) * is_full):
            assert all(each.caller != "stranger" for each in under_way)
            turns.give_place(under_way.pop(number % len(under_way)))
            go_on()
        assert under_way[-1].caller == "stranger"
        turns.give_place(under_way.pop())
        go_on()
        turns.give_place(under_way.pop(number % len(under_way)))
        go_on()
    if places >= greedy * (greedy + 1):
        at_work = Counter(each.caller for each in under_way)
        assert len(at_work) == greedy
        assert places > len(under_way)


def test_what_is_late_leaves_its_line():
    turns: Turns[int] = Turns(2)
    for number, due in enumerate((1.0, 1.0, 9.0)):
        turns.join(work(number, "a", due))
    turns.join(work(3, "b", 1.0))
    assert [each.request for each in turns.late(1.0)] == [0, 1, 3]
    taken = turns.take()
    assert taken is not None
    assert taken.request == 2
    assert turns.take() is None
    assert not turns.lines


def test_who_gave_its_place_up_has_none_to_give():
    turns: Turns[int] = Turns(2)
    turns.join(work(0, "a"))
    turns.join(work(1, "a"))
    first = turns.take()
    assert first is not None
    turns.give_place(first)
    assert turns.take() is not None
    turns.give_place(first)
    assert turns.under_way == {"a": 1}


MANY = 50
ACCOUNTS = b'{"query":"{ accounts(first: 1) { nodes { id } } }"}'
SUBSECTORS = b"""
    {"query":"{ industryClassificationBenchmarks(first: 1) { nodes { id } } }"}
"""
ISSUERS = b'{"query":"{ issuers(first: 1) { nodes { id } } }"}'
BEHIND_A_PROXY = {"PARTNER_API_TRUSTED_PROXIES": "1"}


@pytest.fixture(scope="module")
def server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    """One process with the usual connections, and unlimited budgets."""
    settings = UNLIMITED | BEHIND_A_PROXY
    with serving(1, settings, tmp_path_factory.mktemp("web")) as server:
        yield server


def request(body: bytes, address: str, token: str | None = None) -> bytes:
    headers = [f"X-Forwarded-For: {address}"]
    if token is not None:
        headers.append(f"X-Token-Auth: {token}")
    head = HEAD.replace(b"\r\n\r\n", "\r\n".join(["", *headers, "", ""]).encode())
    return head % len(body) + body


@contextlib.contextmanager
def waiting(server: WebServer, messages: list[bytes]) -> Iterator[list[socket.socket]]:
    """Connections that have sent these requests, each of which waits for a table."""
    with contextlib.ExitStack() as clients:
        yield [clients.enter_context(connect(server, each)) for each in messages]


@pytest.fixture(scope="module")
def tokens(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[list[str]]:
    """Committed keys of two partners, which the web server can see."""
    with django_db_blocker.unblock():
        partners = [
            Partner.objects.create(login=name, name=name) for name in ("many", "more")
        ]
        yield [approved_key(each, [Scope.ACCOUNTS_READ])[1] for each in partners]
        with as_owner():
            remove_keys(*partners)
            for partner in partners:
                partner.delete()
            remove_approvals()


def is_answered(server: WebServer, address: str) -> None:
    for _ in range(10):
        with connect(server, request(ISSUERS, address)) as stranger:
            assert answer_on(stranger)[0] == 200


def test_a_stranger_finds_a_connection_while_fifty_of_each_partner_wait(
    server: WebServer, tokens: list[str]
):
    # More than the proxy's address may have: the longest line makes room.
    asked = [request(ACCOUNTS, "192.0.2.1", token) for token in tokens]
    for message in asked:
        with connect(server, message) as client:
            assert answer_on(client)[0] == 200
    with contextlib.ExitStack() as greedy:
        greedy.enter_context(locked("accounts_account"))
        for message in asked:
            greedy.enter_context(waiting(server, [message] * MANY))
            is_answered(server, "192.0.2.2")


def test_keys_that_somebody_invents_have_one_turn(server: WebServer):
    messages = [
        request(ISSUERS, "192.0.2.3", f"service-apikey_many_{new_secret()}")
        for _ in range(MANY)
    ]
    with locked("accounts_apikey"), waiting(server, messages):
        is_answered(server, "192.0.2.4")


def test_the_addresses_of_one_network_have_one_turn(server: WebServer):
    messages = [request(SUBSECTORS, f"2001:db8:1:1::{n:x}") for n in range(MANY)]
    with (
        locked("issuers_industryclassificationbenchmark"),
        waiting(server, messages),
    ):
        is_answered(server, "2001:db8:1:2::1")


def test_a_key_takes_its_partners_turn_for_as_long_as_it_is_accepted(world: World):
    key, token = approved_key(world.partner, [Scope.ACCOUNTS_READ])
    head = request(b"", "192.0.2.5", token)
    assert caller(head, "192.0.2.5") == "address:192.0.2.5"
    authentication.authenticate(token)
    assert caller(head, "192.0.2.5") == f"partner:{world.partner.pk}"
    asked = head.replace(b"/graphql", b"/graphql?a=1")
    assert caller(asked, "192.0.2.5") == f"partner:{world.partner.pk}"
    # Sending the key elsewhere does not take it.
    assert caller(head.replace(b"/graphql", b"/admin/"), "") == "address:"
    key.revoke(timezone.now())
    authentication.cache.clear()
    with pytest.raises(Unauthenticated):
        authentication.authenticate(token)
    assert caller(head, "192.0.2.5") == "address:192.0.2.5"


def test_who_waits_for_itself_until_the_deadline_has_no_time_left(
    django_db_setup: None, tokens: list[str], tmp_path: Path
):
    """The database answers others meanwhile: there is no outage."""
    brief = UNLIMITED | BEHIND_A_PROXY | {"PARTNER_API_MAX_SECONDS": "2"}
    message = request(ACCOUNTS, "192.0.2.1", tokens[0])
    with serving(1, brief, tmp_path) as server:
        with connect(server, message) as client:
            assert answer_on(client)[0] == 200
        with (
            locked("accounts_account"),
            waiting(server, [message] * 20) as clients,
        ):
            ends = monotonic() + 5
            while monotonic() < ends:
                is_answered(server, "192.0.2.2")
            answers = Counter(answer_on(client) for client in clients)
    late = {body for status, body in answers if status == 429}
    assert all(b'"reason":"TIME"' in body for body in late)
    assert {status for status, _ in answers} == {200, 429}
    assert len(late) >= 14


@given(st.integers(1, 8), st.lists(st.floats(0, 10), min_size=1, max_size=150))
def test_who_has_taken_less_comes_first(places: int, taken: list[float]):
    by_name = {str(number): seconds for number, seconds in enumerate(taken)}
    turns: Turns[int] = Turns(places, taken=by_name.__getitem__)
    for name in by_name:
        turns.join(work(0, name))
    begun = []
    while taken_up := turns.take():
        begun.append(by_name[taken_up.caller])
        turns.give_place(taken_up)
    assert len(begun) == len(taken)
    if len(taken) <= MOST_COMPARED:
        assert begun == sorted(taken)
    else:
        assert begun[0] == min(taken[:MOST_COMPARED])


def test_who_waits_until_the_deadline_is_told_to_come_again(
    django_db_setup: None, tmp_path: Path
):
    brief = UNLIMITED | {"PARTNER_API_MAX_SECONDS": "2"}
    with serving(1, brief, tmp_path) as server:
        with (
            locked("issuers_issuer"),
            waiting(server, [HEAD % len(ISSUERS) + ISSUERS] * 20) as clients,
        ):
            answers = Counter(answer_on(client)[0] for client in clients)
        # Three at a time have a connection; as they end, others may have theirs before
        # they are due.
        assert answers.keys() == {200, 503}
        assert "before the request's deadline" in server.log.read_text()
        until(server.answers, server.log.read_text)
