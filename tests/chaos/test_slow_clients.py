"""The short form of `python -m tests.chaos.slow_clients`: no one's time is judged."""

import pytest

from tests.chaos.slow_clients import MESSAGES, Server, calm, slow_clients
from tests.gateway.conftest import WebServer, web_server  # noqa: F401


@pytest.mark.parametrize("kind", MESSAGES)
def test_twenty_slow_clients_hold_up_nobody(
    kind: str,
    web_server: WebServer,  # noqa: F811
):
    port = web_server.port
    with slow_clients(kind, 20, port, within=0.2):
        found = calm(Server(port, key=None), lambda calm: len(calm.latencies) < 20)
    assert found.failures == 0
