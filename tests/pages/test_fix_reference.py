import html
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from django.conf import settings as configured

from marketdata.fix import reference
from marketdata.fix.client.replica import Replica
from marketdata.fix.protocol import layouts, rules
from marketdata.fix.protocol.wire import SOH, Decoder, Message

HEADER_AND_TRAILER = {8, 9, 35, 34, 49, 52, 56, 10}
STOCK_DICTIONARY = """
import sys
from pathlib import Path
import quickfix
stock = str(Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml")
dictionary = quickfix.DataDictionary(stock)
for line in sys.stdin:
    text = line.strip().replace("|", chr(1))
    dictionary.validate(quickfix.Message(text, dictionary, True))
    sys.stdout.write("valid ")
"""


def text(response) -> str:
    return html.unescape(response.content.decode())


@pytest.fixture
def page(client) -> str:
    return text(client.get("/docs/fix"))


@pytest.fixture
def messages() -> list[Message]:
    """The example session, decoded: lengths and checksums are right."""
    decoder = Decoder()
    steps = reference.conversation()
    decoder.feed("".join(f"{field}{SOH}" for s in steps for field in s.fields).encode())
    found = list(decoder)
    assert len(found) == len(steps) == 17
    return found


def test_shows_every_message_with_its_tags(page):
    for layout in layouts.LAYOUTS:
        section = page.split(f'<h3 id="message.{layout.type}">')[1].split("</section>")
        numbers = re.findall(r"<b>(\d+)</b> (\w+)</code>", section[0])
        assert numbers == [(str(tag.number), tag.name) for tag in layout.tags]


def test_every_link_within_the_page_has_its_target(page):
    targets = re.findall(r' id="([^"]+)"', page)
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links - set(targets) == set()
    assert len(targets) == len(set(targets))
    assert {"message.A", "message.V", "limits", "rejects", "example"} <= links


def test_tells_limits_as_they_are_set(client, settings):
    settings.FIX_CONFLATION_MS = 1250
    settings.FIX_MIN_HEARTBEAT = 7
    settings.FIX_COMP_ID = "VENUE"
    settings.FIX_MESSAGES_PER_SECOND = 33

    page = text(client.get("/docs/fix"))

    limits = dict(reference.limits())
    assert limits["Shortest time between two updates of a book"] == "1,250 ms"
    assert limits["Shortest HeartBtInt(108)"] == "7 s"
    assert '<td class="number">1,250 ms</td>' in page
    assert "<td><code>VENUE</code></td>" in page
    assert "\nTargetCompID=VENUE\n" in page
    assert "more than 33 messages a second" in page


def test_tells_every_reject_reason(page):
    for reason, meaning in rules.MD_REJECT_REASONS.items():
        assert f"<td><code>{reason}</code></td><td>{meaning}</td>" in page


def test_the_example_numbers_each_side_without_gaps(messages):
    for sender in ("PARTNER001", "PARTNERAPI"):
        sent = [m.sequence for m in messages if m.get(49) == sender]
        assert sent == list(range(1, len(sent) + 1))
    times = [message.get(52) for message in messages]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_the_example_uses_the_tags_of_the_rules(messages):
    by_type = {layout.type: layout for layout in layouts.LAYOUTS}
    for message in messages:
        if message.type == "D":
            continue
        tags = {tag for tag, _ in message.fields} - HEADER_AND_TRAILER
        layout = by_type[message.type]
        assert tags <= {tag.number for tag in layout.tags}
        if (message.type, message.get(263)) != ("V", "2"):
            missing = {tag.number for tag in layout.tags if tag.always} - tags
            assert not missing, f"no example of {message.type} has these tags"


def test_the_example_makes_a_book(messages):
    [snapshot] = [message for message in messages if message.type == "W"]
    [update] = [message for message in messages if message.type == "X"]
    replica = Replica("LUM")
    for message in (snapshot, update):
        replica.take(message, message.group(268))

    assert replica.ladder() == reference.AFTER
    [trade] = replica.trades
    assert (trade.id, trade.price, trade.quantity) == ("1", 995, 40)


def test_the_example_is_valid_by_the_stock_dictionary():
    lines = ["|".join([*step.fields, ""]) for step in reference.conversation()]
    validated = subprocess.run(
        [sys.executable, "-c", STOCK_DICTIONARY],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert validated.stderr == ""
    assert validated.stdout == "valid " * 17


def test_shows_messages_as_they_go_over_the_wire(page):
    shown = re.findall(r"<pre><code>(<span>8=.*?)</code></pre>", page)
    assert [re.sub("</?span>", "", each) for each in shown] == [
        "".join(f"{field}|" for field in step.fields)
        for step in reference.conversation()
    ]


def test_web_workers_load_no_fix_engine():
    loaded = (
        "import sys, django; django.setup(); import partnerapi.urls;"
        "sys.exit('quickfix' in sys.modules)"
    )
    command = [sys.executable, "-c", loaded]
    assert subprocess.run(command, cwd=configured.BASE_DIR, check=False).returncode == 0


@pytest.mark.parametrize("sandbox", [True, False])
def test_names_the_port_of_a_sandbox(client, settings, sandbox):
    settings.PARTNER_API_SANDBOX = sandbox
    settings.FIX_PORT = 19878

    page = text(client.get("/docs/fix"))

    assert (
        "This sandbox: <code>localhost</code>, port <code>19878</code>" in page
    ) == (sandbox)


def test_the_first_commands_of_a_sandbox_are_whole(client, settings):
    settings.PARTNER_API_SANDBOX, settings.FIX_PORT = True, 19878
    page = text(client.get("/docs/fix"))
    reached = "--host localhost --port 19878 --comp-id PARTNER001"
    assert f"python manage.py fix_client {reached} --raw LUMARELLE\n" in page
    settings.PARTNER_API_SANDBOX = False
    reached = "--host <host> --port <port> --comp-id <CompID>"
    assert f"python manage.py fix_client {reached} --raw LUM\n" in text(
        client.get("/docs/fix")
    )


def test_names_whom_partners_write_to(client, settings):
    assert "Write to your account manager" in text(client.get("/docs/fix"))
    settings.DEFAULT_FROM_EMAIL = "feed@market.test"
    assert '<a href="mailto:feed@market.test">' in text(client.get("/docs/fix"))


def test_is_linked(client):
    header, main = text(client.get("/")).split("<main", 1)
    assert '<a href="/docs/fix">FIX</a>' in header
    assert '<a href="/docs/fix">FIX feed</a>' in main
