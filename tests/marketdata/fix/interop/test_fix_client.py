"""The command that a partner tries first, against the acceptor."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from marketdata.fix.acceptor.logon import CREDENTIALS_REFUSED
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.market import ladder_of


def fix_client(acceptor: Acceptor, *arguments: str, **changed: str) -> str:
    member = acceptor.members[0]
    options = {
        "port": str(acceptor.port),
        "comp_id": member.comp_id,
        "target": acceptor.comp_id,
        "key": member.key,
    } | changed
    output = io.StringIO()
    call_command("fix_client", *arguments, **options, stdout=output)
    return output.getvalue()


def test_lists_shows_and_explains(acceptor: Acceptor, market: Market):
    listed = json.loads(fix_client(acceptor, "--json"))
    assert [each["symbol"] for each in listed] == ["LUM", "ORB"]

    [book] = json.loads(fix_client(acceptor, "LUM", "--json"))
    expected = ladder_of(market.listed)
    for side in ("bids", "asks"):
        assert [(level["price"], level["quantity"]) for level in book[side]] == [
            (f"{price // 100}.{price % 100:02d}", quantity)
            for price, quantity in getattr(expected, side)
        ]

    with pytest.raises(CommandError, match="HID. Without symbols, this command lists"):
        fix_client(acceptor, "HID")
    with pytest.raises(CommandError) as refused:
        fix_client(acceptor, key="service-apikey_member_1_wrong")
    assert str(refused.value) == (
        "The Logon was refused: "
        f"{CREDENTIALS_REFUSED.removeprefix('Logon refused: ')} Set FIX_KEY or "
        "--key, and --comp-id."
    )
    with pytest.raises(CommandError, match="Or --target OTHER is not its CompID"):
        fix_client(acceptor, target="OTHER")
    with pytest.raises(CommandError, match="use --no-tls"):
        fix_client(acceptor, tls="x")
