import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The directory of real data: listed companies, classification, books."""
    named = os.environ.get("PARTNER_API_TEST_DATA")
    directory = Path(named or settings.BASE_DIR.parent / "shared" / "data")
    if not directory.is_dir():
        pytest.skip(f"no data in {directory}: set PARTNER_API_TEST_DATA to where it is")
    return directory


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture(scope="session")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """The real system as `manage.py up --json` starts it and describes it."""
    directory = tmp_path_factory.mktemp("up") / "state"
    configured = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PARTNER_API_KEY_PEPPER")
    environment = {k: v for k, v in os.environ.items() if k not in configured}
    command = [sys.executable, "manage.py", "up", "--json"]
    command += ["--port", str(free_port()), "--directory", str(directory)]
    up = subprocess.Popen(
        command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE
    )
    try:
        assert up.stdout is not None
        line = up.stdout.readline()
        assert line, "`up` ended before it was ready; its reason stands above"
        yield json.loads(line)
    finally:
        up.terminate()
        assert up.wait(timeout=60) == 0
        up.stdout.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # With --dist loadgroup one of xdist's workers starts one system for all of them.
    for item in items:
        if "running_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("running_server"))
