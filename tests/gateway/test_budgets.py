import hashlib
import logging
import socket
from collections.abc import Callable
from typing import Any

import pytest
from cachetools import LRUCache
from django.core.cache import caches
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from redis.connection import Connection

from accounts.models import ApiKey
from partnerapi.core import buckets, outages
from partnerapi.core.redis import own
from partnerapi.gateway import throttling
from partnerapi.gateway.throttling import TAKE, take, take_here
from tests.characters import Ask, World

LIST = "{ issuers(first: %d) { nodes { id } } }"


def redis() -> Any:
    return caches["default"].client.get_client(write=True)


def headers(answer: Any) -> tuple[int, int, int]:
    names = ("Limit", "Remaining", "Reset")
    return tuple(int(answer.headers[f"X-RateLimit-{name}"]) for name in names)  # type: ignore[return-value]


PassBy = Callable[[int], None]


@pytest.fixture(autouse=True)
def pass_by(monkeypatch: pytest.MonkeyPatch) -> PassBy:
    """Lets so many microseconds pass in the buckets, where time stands still else.

    What comes back while a test runs would count on a slow machine.
    """
    now = [1_800_000_000_000_000]

    def fix(script: str) -> None:
        seconds, rest = divmod(now[0], 1_000_000)
        text = script.replace("redis.call('TIME')", f"{{{seconds}, {rest}}}")
        assert text != script
        monkeypatch.setattr(throttling, "TAKE", text)
        sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        monkeypatch.setattr(throttling, "TAKE_SHA", sha)

    def pass_by(microseconds: int) -> None:
        now[0] += microseconds
        fix(TAKE)

    fix(TAKE)
    monkeypatch.setattr(buckets, "monotonic", lambda: now[0] / 1_000_000)
    return pass_by


# The script with a clock that the test moves, microseconds.
TAKE_AT = TAKE.replace(
    "redis.call('TIME')", "{math.floor(ARGV[4] / 1000000), ARGV[4] % 1000000}"
)
STEPS = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=5_000_000),  # microseconds that pass
        st.integers(min_value=0, max_value=150),  # points asked for
    ),
    max_size=30,
)


@hypothesis_settings(deadline=None)
@given(STEPS, st.integers(1, 120), st.integers(1, 50))
def test_a_bucket_is_what_came_in_less_what_was_taken(
    steps: list[tuple[int, int]], capacity: int, refill: int
):
    redis().delete("budget:model")
    model: dict[str, float] = {"level": capacity, "at": 0}
    now = 1_800_000_000_000_000
    model["at"] = now
    for passed, points in steps:
        now += passed
        taken, text = redis().eval(
            TAKE_AT, 1, "budget:model", capacity, refill, points, now
        )
        level = min(capacity, model["level"] + (now - model["at"]) / 1e6 * refill)
        assert float(text) >= 0
        # A microsecond of doubt: clocks are added up in floating point.
        if abs(level - points) > refill * 1e-5:
            assert bool(taken) is (points <= level)
        if taken:
            model = {"level": level - points, "at": now}
            level -= points
        assert float(text) == pytest.approx(level, abs=1e-3)


def test_the_clock_in_the_test_is_the_only_difference():
    assert TAKE_AT.count("ARGV[4]") == 2
    assert "TIME" not in TAKE_AT


def clock() -> int:
    """Redis' own, milliseconds."""
    seconds, microseconds = redis().time()
    return seconds * 1000 + microseconds // 1000


def test_a_full_bucket_is_forgotten(db: None):
    client = redis()
    before = clock()
    take("brief", 100, 50, 60)
    full = 60 / 50 * 1000
    assert before + full <= client.pexpiretime("budget:brief") <= clock() + full + 1000


def test_headers_tell_limit_rest_and_reset(world: World, partner: Ask):
    answer = partner(LIST % 30)
    assert answer.headers["X-Query-Cost"] == "30"
    limit, remaining, reset = headers(answer)
    assert (limit, remaining, reset) == (20_000, 19_970, 1)
    assert "extensions" not in answer.body


def test_tells_the_cost_in_the_body_when_asked(world: World, partner: Ask):
    answer = partner(LIST % 30, **{"X-Cost-Debug": "1"})
    assert answer.body["extensions"] == {
        "cost": {
            "price": 30,
            "limit": 20_000,
            "remaining": 19_970,
            "refillPerSecond": 1_000,
        }
    }
    assert "extensions" not in partner(LIST % 30, **{"X-Cost-Debug": "0"}).body


def test_throttles_what_the_budget_does_not_hold(
    world: World, stranger: Ask, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 150
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    assert stranger(LIST % 100).status == 200

    answer = stranger(LIST % 100)
    assert (answer.status, answer.code) == (429, "THROTTLED")
    assert answer.headers["Retry-After"] == "50"
    assert answer.headers["X-Query-Cost"] == "100"
    assert headers(answer) == (150, 50, 100)
    assert answer.errors[0]["message"] == (
        "The request costs 100 points and the budget holds 50; try again in 50 seconds."
    )
    # Nothing was charged: what is left still pays for less.
    assert stranger(LIST % 50).status == 200


def test_says_so_when_waiting_does_not_help(world: World, stranger: Ask, settings: Any):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 50
    answer = stranger(LIST % 100)
    assert (answer.status, answer.code) == (429, "THROTTLED")
    assert answer.errors[0]["message"].endswith(
        "it never holds more than 50, so ask for less at once."
    )


def test_retry_after_is_when_the_request_can_be_paid(
    world: World, stranger: Ask, settings: Any, pass_by: PassBy
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 100
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 100
    stranger(LIST % 100)
    answer = stranger(LIST % 90)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
    pass_by(1_000_000)
    assert stranger(LIST % 90).status == 200


@pytest.mark.parametrize(
    "query",
    ["{", "{ nothing }", "query a { id: __typename } query b { id: __typename }"],
)
def test_a_refused_document_costs_ten(query: str, world: World, partner: Ask):
    answer = partner(query)
    assert (answer.status, answer.headers["X-Query-Cost"]) == (200, "10")
    assert headers(answer)[1] == 19_990


def test_an_unpaid_refusal_is_throttled(world: World, stranger: Ask, settings: Any):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 15
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    assert stranger("{").status == 200
    assert stranger("{").status == 429


def test_a_failed_key_draws_on_the_address(
    world: World, partner: Ask, stranger: Ask, settings: Any
):
    wrong = {"X-Token-Auth": "service-apikey_broker_one_wrong"}
    for _ in range(3):
        assert stranger("{ __typename }", **wrong).status == 401
    assert headers(stranger("{ __typename }"))[:2] == (10_000, 9_970)
    assert headers(partner("{ __typename }"))[1] == 20_000


def test_failed_keys_are_throttled(world: World, stranger: Ask, settings: Any):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 25
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    wrong = {"X-Token-Auth": "service-apikey_broker_one_wrong"}
    statuses = [stranger("{ id }", **wrong).status for _ in range(3)]
    assert statuses == [401, 401, 429]


def test_partners_do_not_draw_on_each_other(
    world: World, partner: Ask, observer: Ask, stranger: Ask
):
    partner(LIST % 100)
    assert headers(observer(LIST % 1))[1] == 19_999
    assert headers(stranger(LIST % 1))[1] == 9_999


def test_keys_of_one_partner_share_its_budget(world: World, partner: Ask):
    world.partner.budget_refill = 1
    world.partner.save()
    second = Ask(ApiKey.objects.issue(world.partner, [])[1])
    partner(LIST % 100)
    assert headers(second(LIST % 1))[1] == 19_899


def test_a_partner_may_have_a_budget_of_its_own(world: World, observer: Ask):
    world.observer.budget_points = 120
    world.observer.budget_refill = 7
    world.observer.save()
    assert headers(observer(LIST % 50)) == (120, 70, 8)
    rate = observer("{ viewer { rateLimit { limit remaining refillPerSecond } } }")
    assert rate.data["viewer"]["rateLimit"] == {
        "limit": 120,
        "remaining": 68,
        "refillPerSecond": 7,
    }
    assert observer(LIST % 100).status == 429


def commands(work: Callable[[], object]) -> list[str]:
    """What came to this process's database of Redis, from outside, meanwhile."""
    client = redis()
    database = str(client.connection_pool.connection_kwargs["db"])
    found = []
    marker = client.connection_pool.make_connection()
    marker.connect()
    with client.monitor() as monitor:
        work()
        marker.send_command("ECHO", "the last")
        while (seen := monitor.next_command())["command"] != "ECHO the last":
            # What a script calls is counted with it.
            if str(seen["db"]) == database and seen["client_type"] != "lua":
                found.append(seen["command"].split()[0])
    marker.disconnect()
    return found


def test_one_call_to_redis_a_request(world: World, partner: Ask, stranger: Ask):
    asked = [
        lambda: partner(LIST % 5),
        lambda: stranger("{ __typename }"),
        lambda: stranger("{"),
        lambda: stranger("{ id }", **{"X-Token-Auth": "wrong"}),
    ]
    for ask in asked:
        ask()
    for ask in asked:
        assert commands(ask) == ["EVALSHA"]


@pytest.fixture
def no_redis(settings: Any, db: None) -> Any:
    """The cache's address is one where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    own.__dict__.clear()
    throttling.outage.is_on = False
    throttling.local_buckets.clear()
    settings.CACHES = {
        "default": settings.CACHES["default"]
        | {"LOCATION": f"redis://127.0.0.1:{port}/0"}
    }
    yield
    own.__dict__.clear()
    throttling.outage.is_on = False
    throttling.local_buckets.clear()


def test_without_redis_answers_stay_200_and_budgets_limited(
    world: World,
    stranger: Ask,
    no_redis: None,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    tried: list[int] = []
    connect = Connection._connect

    def counted(self: Connection) -> Any:
        tried.append(self.port)
        return connect(self)

    monkeypatch.setattr(Connection, "_connect", counted)
    monkeypatch.setattr(outages, "monotonic", lambda: 1_000.0)
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 250
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    statuses = [stranger(LIST % 100).status for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    assert headers(stranger(LIST % 1))[:2] == (250, 49)
    # Until the next attempt is due, nobody waits for one.
    assert len(tried) == 1
    warnings = [r for r in caplog.records if "Redis does not answer" in r.getMessage()]
    assert [record.levelno for record in warnings] == [logging.WARNING]


def test_a_silent_redis_costs_a_tenth_of_a_second(
    world: World, stranger: Ask, no_redis: None, settings: Any
):
    """One connection is tried, once, and waits so long for its answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        location = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        settings.CACHES = {
            "default": settings.CACHES["default"] | {"LOCATION": location}
        }
        own.__dict__.clear()
        throttling.outage.is_on = False
        assert stranger(LIST % 10).status == 200
        assert own.connection.socket_timeout == 0.1
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
        caches["default"].client.get_client().connection_pool.disconnect()


def test_the_bucket_of_a_process_fills_again(no_redis: None, pass_by: PassBy):
    assert take_here("here", 10, 100, 10)[0]
    assert not take_here("here", 10, 100, 10)[0]
    pass_by(90_000)
    assert not take_here("here", 10, 100, 10)[0]
    pass_by(11_000)
    assert take_here("here", 10, 100, 10)[0]


def test_the_process_forgets_the_longest_idle_bucket_only(
    no_redis: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(throttling, "local_buckets", LRUCache(3))
    for name in ("a", "b", "c", "a"):
        take_here(name, 10, 1, 1)
    take_here("d", 10, 1, 1)
    assert set(throttling.local_buckets) == {"c", "a", "d"}
    for _ in range(3):
        take_here("d", 10, 1, 1)
    assert set(throttling.local_buckets) == {"c", "a", "d"}


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, None, "127.0.0.1"),
        (0, "203.0.113.7", "127.0.0.1"),
        (1, None, "127.0.0.1"),
        (1, "", "127.0.0.1"),
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        (2, "203.0.113.7", "127.0.0.1"),
        (2, "198.51.100.1, 203.0.113.7", "198.51.100.1"),
        (2, "made up,198.51.100.1 ,203.0.113.7", "198.51.100.1"),
        (1, "2001:db8::7", "2001:db8::7"),
    ],
)
def test_the_address_is_the_one_that_trusted_proxies_saw(
    proxies: int, forwarded: str | None, address: str, stranger: Ask, settings: Any
):
    settings.PARTNER_API_TRUSTED_PROXIES = proxies
    sent = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    assert stranger("{ __typename }", **sent).status == 200
    assert redis().keys("*") == [f"budget:address:{address}".encode()]
