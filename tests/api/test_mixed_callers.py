"""Partners who ask at once through a server with threads get their own answers.

MIXED_REQUESTS=2000 lets each thread send so many requests.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from random import Random
from urllib.parse import urlsplit

import orjson
import psutil
import pytest
from django.conf import settings
from django.db import connection

from accounts.access import Scope
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer, Token
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import page_of
from tests.installation import BUDGETS, UNLIMITED
from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until

THREADS = 8
REQUESTS = int(os.environ.get("MIXED_REQUESTS", "250"))
PARTNERS = 6


@dataclass
class Known:
    """A partner, its key, and the issuer that only it has a grant for."""

    key: str
    login: str
    scopes: list[str]
    issuer_id: str
    slug: str
    token_id: str
    shares: list[int]


@pytest.fixture
def partners(transactional_db: None) -> list[Known]:
    owner = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    return [known(number, owner) for number in range(PARTNERS)]


def known(number: int, owner: User) -> Known:
    partner = Partner.objects.create(login=f"p_{number}", name=f"Partner {number}")
    issuer = Issuer.objects.create(
        trading_name=f"Company {number}",
        slug=f"company-{number}",
        trading_location="Lyon",
        owner=owner,
    )
    approved_grant(partner, issuer)
    tokens = [
        Token.objects.create(
            issuer=issuer, name="Class", symbol=f"{visibility}{number}", visibility=seen
        )
        for visibility, seen in (("PUB", "PUBLIC"), ("PRIV", "PRIVATE"))
    ]
    shares = [number * 100 + line for line in range(1, 8)]
    for count in shares:
        LegacyShareholder.objects.create(
            issuer=issuer, user=owner, number_of_shares=count, price_cents=1
        )
    scopes = [Scope.SHAREHOLDERS_READ, *Scope.values[number:]]
    return Known(
        key=approved_key(partner, sorted({*map(str, scopes)}))[1],
        login=partner.login,
        scopes=sorted({*map(str, scopes)}),
        issuer_id=f"Issuer|{issuer.pk}",
        slug=issuer.slug,
        token_id=f"Token|{tokens[1].pk}",
        shares=shares,
    )


@pytest.fixture
def port(transactional_db: None) -> Iterator[int]:
    """A real server with processes and threads, on the tests' database."""
    database = urlsplit(os.environ["DATABASE_URL"])
    name = connection.settings_dict["NAME"]
    environment = os.environ | dict.fromkeys(BUDGETS, UNLIMITED)
    environment["DATABASE_URL"] = database._replace(path=f"/{name}").geturl()
    number = free_port()
    gunicorn = [sys.executable, "-m", "gunicorn", "partnerapi.wsgi"]
    options = f"--bind 127.0.0.1:{number} --workers 2 --threads 4 --log-level warning"
    server = subprocess.Popen(
        [*gunicorn, *options.split()], env=environment, cwd=settings.BASE_DIR
    )
    try:
        wait_for(server, number)
        yield number
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


def wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    def listens() -> bool:
        assert server.poll() is None, "the server ended before it answered"
        listening = psutil.Process(server.pid).net_connections("tcp")
        return any(c.laddr.port == port for c in listening if c.status == "LISTEN")

    until(listens, pause=0.05)


def viewer(random: Random, caller: Known | None, partners: list[Known]):
    alias = random.choice(["viewer", "me", "self"])
    document = f"{{ {alias}: viewer {{ login scopes }} }}"
    expected = caller and {"login": caller.login, "scopes": caller.scopes}
    return document, {}, {"data": {alias: expected}}


def tokens(random: Random, caller: Known | None, partners: list[Known]):
    about = random.choice(partners)
    number = about.slug.removeprefix("company-")
    symbols = [f"PUB{number}"] + [f"PRIV{number}"] * (about is caller)
    document = """query ($slug: String!) {
        issuer(slug: $slug) { slug tokens { totalCount nodes { symbol } } }
    }"""
    page = {"totalCount": len(symbols), "nodes": [{"symbol": s} for s in symbols]}
    issuer = {"slug": about.slug, "tokens": page}
    return document, {"slug": about.slug}, {"data": {"issuer": issuer}}


def private_token(random: Random, caller: Known | None, partners: list[Known]):
    about = random.sample(partners, random.randint(1, PARTNERS))
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    nodes = [{"id": one.token_id} if one is caller else None for one in about]
    return (
        document,
        {"ids": [one.token_id for one in about]},
        {"data": {"nodes": nodes}},
    )


def shareholders(random: Random, caller: Known | None, partners: list[Known]):
    about, first = random.choice(partners), random.randint(0, 7)
    document = """query ($id: ID!, $first: Int) {
        issuer(id: $id) { legacyShareholders(first: $first) {
            nodes { numberOfShares } pageInfo { hasNextPage }
        } }
    }"""
    variables = {"id": about.issuer_id, "first": first}
    if caller is None:
        return document, variables, {"code": "UNAUTHENTICATED"}
    if about is not caller:
        refusal = {"code": "FORBIDDEN", "requiredGrant": about.issuer_id}
        return document, variables, refusal
    page = {
        "nodes": [{"numberOfShares": count} for count in about.shares[:first]],
        "pageInfo": {"hasNextPage": first < len(about.shares)},
    }
    return document, variables, {"data": {"issuer": {"legacyShareholders": page}}}


def mistake(random: Random, caller: Known | None, partners: list[Known]):
    document, code = random.choice(
        [
            ("{ viewer { login }", "GRAPHQL_PARSE_FAILED"),
            ("{ viewer { nothing } }", "GRAPHQL_VALIDATION_FAILED"),
            ("query A { __typename } query B { __typename }", OPERATION),
        ]
    )
    return document, {}, {"code": code}


OPERATION = "OPERATION_RESOLUTION_FAILURE"
KINDS = [viewer, tokens, private_token, shareholders, shareholders, mistake]


def ask_many(number: int, port: int, partners: list[Known]) -> int:
    """Send one thread's requests; how many were answered as the caller may expect."""
    random = Random(number)
    server = HTTPConnection("127.0.0.1", port, PATIENCE_SECONDS)
    for count in range(REQUESTS):
        caller = random.choice([*partners, None])
        document, variables, expected = random.choice(KINDS)(random, caller, partners)
        request_id = f"{number}-{count}-{random.getrandbits(64):x}"
        headers = {"Content-Type": "application/json", "X-Request-Id": request_id}
        if caller:
            headers["X-Token-Auth"] = caller.key
        body = orjson.dumps({"query": document, "variables": variables})
        server.request("POST", "/graphql", body, headers)
        response = server.getresponse()
        answer = orjson.loads(response.read())
        assert response.status == 200
        assert response.headers["X-Request-Id"] == request_id
        if "code" in expected:
            [error] = answer["errors"]
            assert error["extensions"] == {
                **expected,
                "docUrl": page_of(expected["code"]),
                "requestId": request_id,
            }
            assert not (answer.get("data") or {}).get("issuer")
        else:
            assert answer == expected, document
    server.close()
    return REQUESTS


def test_nobody_is_given_anothers_answer(partners: list[Known], port: int):
    with ThreadPoolExecutor(THREADS) as threads:
        sent = [
            threads.submit(ask_many, number, port, partners)
            for number in range(THREADS)
        ]
        assert [thread.result() for thread in sent] == [REQUESTS] * THREADS
