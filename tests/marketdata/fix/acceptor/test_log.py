"""What is logged of sessions: no secret, and no message above DEBUG."""

import logging

import pytest

from marketdata.fix.protocol.wire import mask
from tests.marketdata.fix.engines import logged_on, new_book, running_engine
from tests.waiting import until

KEY = "service-apikey_acme_s3cret"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"35=A|553=acme|554={KEY}|10=000|", "35=A|553=acme|554=***"),
        ("35=A|925=new|58=x|", "35=A|925=***"),
        ("35=A|95=7|96=a|58=b|10=000|", "35=A|95=7|96=***"),
        ("35=A|98=0554=s3cret|10=000|", "35=A|98=0554=***"),
        (f"35=A|553={KEY}|10=000|", "35=A|553=service-apikey_***"),
        (
            f"35=A|5?4=servic?-apikey_a_{'x7Q' * 16}|10=0|",
            "35=A|5?4=servic?-apikey_a_***",
        ),
        ("35=0|34=2|", "35=0|34=2|"),
        ("35=1|112=a\nb\udce9|", "35=1|112=a?b?|"),
    ],
)
def test_nothing_that_follows_a_secret_is_shown(text, shown):
    assert mask(text.replace("|", "\x01")) == shown


def test_a_session_leaves_no_key_and_no_message_in_the_log(caplog):
    caplog.set_level(logging.DEBUG)
    with running_engine([new_book("LUM")]) as bench:
        client = bench.client()
        with logged_on(client, bench):
            client.snapshots(["LUM"])
            client.logout()
        until(lambda: not bench.sessions.live)
    assert client.key not in caplog.text
    assert f"{client.sender} < 8=FIX.4.4|" in caplog.text
    said = [one.message for one in caplog.records if one.levelno >= logging.INFO]
    assert said == [
        f"{client.sender} (login) logs on from 127.0.0.1",
        f"{client.sender} is logged on",
        f"{client.sender} disconnected: logged out by the partner",
    ]


def test_why_the_engine_refuses_something_is_said(caplog):
    caplog.set_level(logging.INFO)
    with running_engine([new_book("LUM")]) as bench:
        client = bench.initiator()
        with logged_on(client, bench):
            client.send("ZZ", (58, "noise"))
            assert client.receive().type == "3"
    assert f"{client.sender}: message 2 is rejected: Invalid MsgType" in caplog.messages
