import hashlib
import logging
import socket
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from cachetools import LRUCache
from django.core.cache import caches
from django.test import RequestFactory
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from redis.connection import Connection

from partnerapi.core import buckets, outages
from partnerapi.core.redis import own
from partnerapi.gateway import throttling
from partnerapi.gateway.bills import Bill
from partnerapi.gateway.refusals import Throttled
from partnerapi.gateway.throttling import TAKE, take, take_here
from partnerapi.graphql.documents import documents
from partnerapi.sandbox.data.approvals import approved_key
from tests.characters import Ask, World
from tests.owner import tamper

MEBIBYTE = 1024 * 1024
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
    "redis.call('TIME')", "{math.floor(ARGV[5] / 1000000), ARGV[5] % 1000000}"
)
STEPS = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=5_000_000),  # microseconds that pass
        st.integers(min_value=0, max_value=150),  # points asked for
        st.integers(min_value=0, max_value=40),  # points owed without them
    ),
    max_size=30,
)


@hypothesis_settings(deadline=None)
@given(STEPS, st.integers(1, 120), st.integers(1, 50))
def test_a_bucket_is_what_came_in_less_what_was_taken(
    steps: list[tuple[int, int, int]], capacity: int, refill: int
):
    redis().delete("budget:model")
    model: dict[str, float] = {"level": capacity, "at": 0}
    now = 1_800_000_000_000_000
    model["at"] = now
    for passed, points, owed in steps:
        now += passed
        taken, text = redis().eval(
            TAKE_AT, 1, "budget:model", capacity, refill, points, owed, now
        )
        level = min(capacity, model["level"] + (now - model["at"]) / 1e6 * refill)
        # A microsecond of doubt: clocks are added up in floating point.
        if abs(level - points) > refill * 1e-5:
            assert bool(taken) is (points <= level)
        drawn = points if taken else owed
        if drawn:
            model = {"level": level - drawn, "at": now}
            level -= drawn
        assert float(text) == pytest.approx(level, abs=1e-3)


def test_the_clock_in_the_test_is_the_only_difference():
    assert TAKE_AT.count("ARGV[5]") == 2
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
    # There are two issuers; the budget gets back what the other 28 would cost.
    assert answer.headers["X-Query-Cost"] == "12"
    limit, remaining, reset = headers(answer)
    assert (limit, remaining, reset) == (40_000, 39_988, 1)
    assert "extensions" not in answer.body


def test_tells_the_cost_in_the_body_when_asked(world: World, partner: Ask):
    answer = partner(LIST % 30, **{"X-Cost-Debug": "1"})
    cost = answer.body["extensions"]["cost"]
    assert 0 < cost.pop("time") < cost.pop("timeRemaining")
    assert answer.body["extensions"] == {
        "cost": {
            "price": 12,
            "held": 40,
            "limit": 40_000,
            "remaining": 39_988,
            "refillPerSecond": 2_000,
            "fields": [
                {"path": "issuers.nodes", "points": 30},
                {"path": "issuers", "points": 10},
            ],
            "body": 0,
        }
    }
    assert "extensions" not in partner(LIST % 30, **{"X-Cost-Debug": "0"}).body


def test_throttles_what_the_budget_does_not_hold(
    world: World, stranger: Ask, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 115
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    assert stranger(LIST % 100).status == 200

    answer = stranger(LIST % 100)
    assert (answer.status, answer.code) == (429, "THROTTLED")
    assert answer.headers["Retry-After"] == "8"
    assert answer.headers["X-Query-Cost"] == "110"
    assert headers(answer) == (115, 102, 13)
    assert answer.errors[0]["message"] == (
        "The request costs 110 points and the budget holds 102; try again in 8 seconds."
    )
    # Only one point was charged: what is left still pays for less.
    assert stranger(LIST % 92).status == 200


def test_what_is_unavailable_tells_its_cost_too(world: World, partner: Ask):
    """The key's partner is not known yet: the budget is the address's."""
    tamper("ALTER TABLE accounts_apikey RENAME TO away")
    answer = partner(LIST % 5)
    assert (answer.status, answer.code) == (503, "UNAVAILABLE")
    assert answer.headers["X-Query-Cost"] == "0"
    assert headers(answer) == (20_000, 20_000, 0)


def test_says_so_when_waiting_does_not_help(world: World, stranger: Ask, settings: Any):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 50
    answer = stranger(LIST % 100)
    assert (answer.status, answer.code) == (429, "THROTTLED")
    assert answer.errors[0]["message"].endswith(
        "it never holds more than 50, so request less at a time."
    )


def test_retry_after_is_when_the_request_can_be_paid(
    world: World, stranger: Ask, settings: Any, pass_by: PassBy
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 100
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 100
    stranger(LIST % 90)
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
    assert headers(answer)[1] == 39_990


def test_a_spent_budget_refuses_before_anything_is_read(
    world: World, stranger: Ask, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 10
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    assert stranger("{ spent }").status == 200
    answers: list[Any] = []
    unread = [b'{"query": "{ unread }"}', b"{", b" " * 2_000_000]
    assert commands(lambda: answers.extend(map(stranger.post, unread))) == []
    assert [(a.status, a.code) for a in answers] == [(429, "THROTTLED")] * 3
    assert {headers(answer) for answer in answers} == {(10, 0, 10)}
    assert {a.headers["Retry-After"] for a in answers} == {"1"}
    texts = [text for _, text in documents]
    assert "{ spent }" in texts
    assert "{ unread }" not in texts


def test_another_process_may_have_spent_the_budget(
    world: World, stranger: Ask, settings: Any
):
    """The answer to the first request that it charges shows that."""
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 10
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    assert stranger("{ spent }").status == 200
    throttling.local_buckets.clear()
    assert commands(lambda: stranger("{ a: __typename }")) == ["EVALSHA"]
    assert commands(lambda: stranger("{ b: __typename }")) == []


def test_what_could_not_be_paid_is_charged_its_kilobytes(
    world: World, stranger: Ask, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 150
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    stranger(LIST % 100)
    query = "{ a: issuers { nodes { id } } b: issuers { nodes { id } } }"
    answer = stranger.post(orjson.dumps({"query": query}).ljust(4_001))
    assert (answer.status, answer.headers["X-Query-Cost"]) == (429, "223")
    assert throttling.look("address:127.0.0.1", 150, 1, 1).level == 150 - 12 - 4


@pytest.mark.parametrize(
    ("size", "cost"), [(2_000, 10), (2_001, 11), (10_000, 18), (MEBIBYTE, 1_057)]
)
def test_every_kilobyte_beyond_two_costs_a_point(
    size: int, cost: int, world: World, stranger: Ask
):
    body = b'{"query": "{ __typename }"}'
    answer = stranger.post(body + b" " * (size - len(body)))
    assert (answer.status, answer.headers["X-Query-Cost"]) == (200, str(cost))
    broken = stranger.post(b"{" * size)
    refused = min(cost, 1_000)
    assert (broken.status, broken.headers["X-Query-Cost"]) == (400, str(refused))
    assert headers(broken)[1] == 20_000 - cost - refused


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ("{ __typename }", 10),
        ("{ a: __typename b: __typename }", 10),
        # A field that reads costs 10, an object that is there 1, an empty place 0.
        ('{ issuer(slug: "lumen") { id } }', 11),
        ('{ issuer(slug: "none") { id } }', 10),
        ("{ viewer { login } __typename }", 10),
        ("{ issuers(first: 30) { nodes { id } } }", 12),
        ("{ issuers(first: 30) { edges { node { id } } pageInfo { endCursor } } }", 12),
        ("{ issuers(first: 1) { nodes { id } edges { node { id } } } }", 12),
        ('{ issuers(search: "lumen", country: "PT") { nodes { id } } }', 10),
        ("{ issuers(first: 1) { totalCount } }", 20),
        # For all rows once, and in each place.
        ("{ issuers { nodes { tokens { totalCount nodes { id } } } } }", 33),
        ('{ issuer(slug: "lumen") { country { code } owner { id } } }', 32),
        ('{ token(symbol: "LUM") { currentPrice totalSupply } }', 31),
        (
            '{ issuer(slug: "lumen") { a: tokens { ...T } b: tokens { ...T } } }'
            " fragment T on TokenConnection { nodes { issuer { slug } } }",
            10 + 1 + 2 * (10 + 1 + 10 + 1),
        ),
        ("{ __schema { types { name } } }", 10),
    ],
)
def test_nothing_is_free(query: str, cost: int, world: World, stranger: Ask):
    answer = stranger(query)
    assert (answer.status, answer.headers["X-Query-Cost"]) == (200, str(cost))
    assert headers(answer)[1] == 20_000 - cost


def test_fragments_can_not_multiply_lookups_beyond_what_a_request_may_cost(
    world: World, stranger: Ask
):
    lists = " ".join(f"a{n}: tokens(first: 1) {{ ...T }}" for n in range(8))
    countries = " ".join(f"c{n}: country {{ code }}" for n in range(20))
    text = (
        f'{{ issuer(slug: "lumen") {{ ...I }} }} fragment I on Issuer {{ {lists} }}'
        f" fragment T on TokenConnection {{ nodes {{ issuer {{ ...J }} }} }}"
        f" fragment J on Issuer {{ {lists.replace('...T', '...U')} }}"
        " fragment U on TokenConnection { nodes { issuer { ...C } } }"
        f" fragment C on Issuer {{ {countries} }}"
    )
    [error] = stranger(text).body["errors"]
    assert error["extensions"]["code"] == "MAX_COST_EXCEEDED"
    # 8 lists and their issuers, 64 of both below them, 64 times 20 countries: each
    # reads, and may have an object. The first issuer, too.
    assert error["extensions"]["cost"] == 11 * (1 + 16 + 128 + 1_280)


def test_the_longest_body_of_the_dearest_document_can_be_paid(
    world: World, stranger: Ask
):
    lists = " ".join(f"a{n}: issuers {{ nodes {{ id }} }}" for n in range(90))
    body = orjson.dumps({"query": f"{{ {lists} }}"}).ljust(500_000)
    answer = stranger.post(body, **{"X-Cost-Debug": "1"})
    assert (answer.status, answer.headers["X-Query-Cost"]) == (200, str(90 * 12 + 498))
    assert answer.body["extensions"]["cost"]["held"] == 10_000


@pytest.mark.parametrize(
    ("method", "body", "content_type", "status", "cost"),
    [
        ("PUT", b"", "application/json", 405, 10),
        ("POST", b"", "text/plain", 415, 10),
        ("POST", b"[]", "application/json", 400, 10),
        ("POST", b" " * 2_000_000, "application/json", 413, 10),
        (
            "POST",
            b'{"query": "mutation { updateAccountStatus { changedAt } }"}',
            "application/json",
            200,
            10,
        ),
    ],
)
def test_every_refusal_is_charged_and_says_so(
    method: str,
    body: bytes,
    content_type: str,
    status: int,
    cost: int,
    world: World,
    stranger: Ask,
):
    answer = stranger.client.generic(method, "/graphql", body, content_type)
    assert (answer.status_code, answer.headers["X-Query-Cost"]) == (status, str(cost))
    assert headers(answer) == (20_000, 20_000 - cost, 1)


def test_what_costs_more_than_was_known_is_owed(db: None):
    Bill(RequestFactory().post("/graphql"), None).charge(10_900)
    bill = Bill(RequestFactory().post("/graphql"), None)
    bill.charge(9_000)
    bill.settle(9_500)
    assert (bill.points, bill.held) == (9_500, 9_500)
    assert bill.headers()["X-RateLimit-Remaining"] == "0"
    assert bill.headers()["X-RateLimit-Reset"] == "102"
    assert throttling.take(*bill.account, 0).level == -400
    bill.settle(9_100)
    assert (bill.points, bill.held) == (9_100, 9_500)
    assert throttling.take(*bill.account, 0).level == 0
    bill.settle(9_101)
    with pytest.raises(Throttled):
        bill.look(1, unread=False)


@pytest.mark.parametrize(
    ("text", "variables", "code"),
    [
        ("{ " + "a " * 500_000 + "}", {}, "MAX_TOKENS_EXCEEDED"),
        ("{ " + "nothing " * 1_900 + "}", {}, "MAX_ALIASES_EXCEEDED"),
        ("{ __typename }", {"v": ["x" * 100] * 9_000}, "BAD_USER_INPUT"),
        ("{ " + "a b " * 45 + "} #" + "#" * 99_000, {}, "GRAPHQL_VALIDATION_FAILED"),
    ],
    ids=["tokens", "repetitions", "values", "errors"],
)
def test_a_refusal_costs_a_thousand_points_at_most(
    text: str,
    variables: dict[str, Any],
    code: str,
    world: World,
    stranger: Ask,
    settings: Any,
    pass_by: PassBy,
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 1_000
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 100
    answer = stranger(text, variables)
    assert (answer.status, answer.errors[0]["extensions"]["code"]) == (200, code)
    assert headers(answer)[:2] == (1_000, 1_000 - int(answer.headers["X-Query-Cost"]))
    # A partner waits for Retry-After, and sends the same request again.
    throttled = stranger(text, variables)
    while throttled.status == 429:
        pass_by(1_000_000 * int(throttled.headers["Retry-After"]))
        throttled = stranger(text, variables)
    assert throttled.errors[0]["extensions"]["code"] == code


def test_a_small_budget_can_pay_for_any_refusal(
    world: World, stranger: Ask, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 5
    answer = stranger("{ " + "a " * 400 + "}")
    assert (answer.code, answer.headers["X-Query-Cost"]) == (
        "MAX_ALIASES_EXCEEDED",
        "5",
    )


def test_what_cannot_be_paid_owes_a_thousand_points_at_most(
    world: World, stranger: Ask, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 1_100
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    assert stranger(LIST % 100).status == 200
    lists = " ".join(f"a{n}: issuers {{ nodes {{ id }} }}" for n in range(90))
    answer = stranger.post(orjson.dumps({"query": f"{{ {lists} }}"}).ljust(MEBIBYTE))
    assert (answer.status, answer.code) == (429, "THROTTLED")
    assert throttling.look("address:127.0.0.1", 1_100, 1, 1).level == 1_100 - 12 - 1_000


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
    assert headers(stranger("{ __typename }"))[:2] == (20_000, 19_960)
    assert headers(partner("{ __typename }"))[1] == 39_990


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
    assert headers(observer(LIST % 10))[1] == 39_988
    assert headers(stranger(LIST % 10))[1] == 19_988


def test_keys_of_one_partner_share_its_budget(world: World, partner: Ask):
    world.partner.budget_refill = 1
    world.partner.save()
    second = Ask(approved_key(world.partner, [])[1])
    partner(LIST % 100)
    assert headers(second(LIST % 10))[1] == 39_976


def test_a_partner_may_have_a_budget_of_its_own(world: World, observer: Ask):
    world.observer.budget_points = 120
    world.observer.budget_refill = 7
    world.observer.save()
    assert headers(observer(LIST % 50)) == (120, 108, 2)
    rate = observer("{ viewer { rateLimit { limit remaining refillPerSecond } } }")
    assert rate.data["viewer"]["rateLimit"] == {
        "limit": 120,
        "remaining": 98,
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
        lambda: partner(LIST % 2),
        lambda: stranger("{ __typename }"),
        lambda: stranger("{"),
        lambda: stranger("{ id }", **{"X-Token-Auth": "wrong"}),
    ]
    for ask in asked:
        ask()
    for ask in asked:
        assert commands(ask) == ["EVALSHA"]
    # What was not answered is given back.
    assert commands(lambda: partner(LIST % 5)) == ["EVALSHA"] * 2


@pytest.fixture
def no_redis(settings: Any, db: None) -> Any:
    """The cache's address is one where no one listens."""
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
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 120
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    statuses = [stranger(LIST % 100).status for _ in range(4)]
    assert statuses == [200, 429, 429, 429]
    # Each refusal was charged a point, and each answer two issuers.
    assert headers(stranger(LIST % 10))[:2] == (120, 120 - 12 - 3 - 12)
    # Until the next attempt is due, no one waits for one.
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
        (1, "2001:db8::7", "2001:db8::/64"),
        (1, "2001:DB8:0:0:ffff::", "2001:db8::/64"),
        (1, "::ffff:203.0.113.7", "203.0.113.7"),
        (1, "unknown", "unknown"),
    ],
)
def test_the_address_is_the_one_that_trusted_proxies_saw(
    proxies: int, forwarded: str | None, address: str, stranger: Ask, settings: Any
):
    settings.PARTNER_API_TRUSTED_PROXIES = proxies
    sent = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    assert stranger("{ __typename }", **sent).status == 200
    assert redis().keys("*") == [f"budget:address:{address}".encode()]
