"""Requests of /graphql come past Django's handler, and leave nothing behind."""

from pathlib import Path
from time import sleep

from tests.gateway.conftest import serving

SECONDS = 2


def test_a_borrowed_connection_is_given_back(django_db_setup: None, tmp_path: Path):
    """One that was kept would be ended when its request is due, and fail the next."""
    with serving(1, {"PARTNER_API_MAX_SECONDS": str(SECONDS)}, tmp_path) as server:
        asked = b'{"query": "{ issuers(first: 1) { totalCount } }"}'
        assert server.post(asked)[0] == 200
        sleep(2 * SECONDS)
        assert server.post(asked)[0] == 200
        assert "does not answer" not in server.log.read_text()
