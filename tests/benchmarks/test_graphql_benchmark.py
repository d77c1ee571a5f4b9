import threading
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from accounts.access import Scope
from accounts.keys.models import Partner
from partnerapi.sandbox.data.approvals import approved_key
from tests.benchmarks.graphql import caches, inside, load
from tests.benchmarks.graphql.answers import PRODUCT, WrongAnswer, compare
from tests.benchmarks.graphql.rows import add_issuers, changed_row, expected
from tests.characters import Ask

FIRST, NESTED = 10, 3


@pytest.fixture
def ask(db: None) -> Ask:
    add_issuers(1, 12)
    partner = Partner.objects.create(login="benchmark", name="Benchmark")
    return Ask(approved_key(partner, list(Scope))[1])


def read(ask: Ask) -> dict:
    return PRODUCT.read(ask(PRODUCT.document(FIRST, NESTED)).data)


def test_page_holds_what_plain_sql_finds(ask):
    wanted = expected(FIRST, NESTED)
    assert [issuer["slug"] for issuer in wanted["issuers"]] == [
        f"issuer-{number:06d}" for number in range(1, 11)
    ]
    assert wanted["hasNextPage"]
    assert [f["year"] for f in wanted["issuers"][0]["financialData"]] == [
        2025,
        2024,
        2023,
    ]
    compare(read(ask), wanted)


def test_changed_row_shows_in_the_next_answer(ask):
    before = read(ask)
    with changed_row():
        changed = read(ask)
        compare(changed, expected(FIRST, NESTED))
    first = changed["issuers"][0]
    assert first["tagLine"] == "Changed between two requests"
    assert first["financialData"][0]["revenue"] == 123_456
    assert read(ask) == before


def test_comparison_names_the_first_difference(ask):
    found, wanted = read(ask), expected(FIRST, NESTED)
    wanted["issuers"][2]["financialData"][1]["year"] = 1999
    place = r"answer\.issuers\[2\]\.financialData\[1\]\.year is 2024, and .* 1999"
    with pytest.raises(WrongAnswer, match=place):
        compare(found, wanted)


def test_comparison_misses_no_row(ask):
    found, wanted = read(ask), expected(FIRST, NESTED)
    found["issuers"].pop()
    with pytest.raises(WrongAnswer, match=r"answer\.issuers\[9\] is None"):
        compare(found, wanted)


def test_each_stage_of_an_answer_takes_time(ask):
    spent = defaultdict(float)
    with inside.timed(spent):
        read(ask)
    assert set(inside.STAGES) < set(spent)
    assert all(spent[stage] > 0 for stage in inside.STAGES)


def test_documents_for_the_caches_are_valid_and_differ(ask):
    texts = set()
    for number in range(30):
        text, variables = caches.document(number)
        assert next(iter(ask(text, variables).data)) == f"list{number}"
        texts.add(text)
    assert len(texts) == 30


BODY = b'{"data": {}}' * 20_000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answered = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).answered += 1
        odd = self.path == "/graphql" and self.headers["X-Odd"] == str(self.answered)
        body = BODY[:-1] + b"]" if odd else BODY
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Handler.answered = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_load_counts_the_answers_of_its_connections(port):
    request = load.make_request(port, "{ __typename }", {})
    loaded = load.load(request, BODY, connections=2, seconds=0.2)
    # Each connection has one more under way at the end.
    assert 0 <= Handler.answered - loaded.total <= 2
    assert 0 < len(loaded.latencies) < loaded.total
    assert loaded.seconds >= 0.2


def test_load_refuses_an_answer_that_differs_in_a_byte(port):
    request = load.make_request(port, "{ __typename }", {"X-Odd": "7"})
    with pytest.raises(WrongAnswer, match="another answer"):
        load.load(request, BODY, connections=2, seconds=0.2)
