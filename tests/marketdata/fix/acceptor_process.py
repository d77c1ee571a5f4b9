"""The acceptor as a process of its own, for tests."""

import contextlib
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from marketdata.fix.client.client import Client
from marketdata.fix.client.initiator import FixFailure
from tests.marketdata.fix.market import Member
from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until


@dataclass
class Acceptor:
    """The data to reach it; `members` may log on."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    members: list[Member]
    host: str = "127.0.0.1"
    comp_id: str = settings.FIX_COMP_ID
    tls: ssl.SSLContext | None = None

    def client(self, member: int = 0, **options: Any) -> Client:
        """A client for one of the members, not logged on yet."""
        options = {
            "host": self.host,
            "sender": self.members[member].comp_id,
            "key": self.members[member].key,
            "tls": self.tls,
        } | options
        return Client(port=self.port, target=self.comp_id, **options)

    def is_ready(self) -> bool:
        """Whether a Logon works."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            with self.client():
                return True
        except FixFailure:
            return False


def database_url() -> str:
    """The address of the tests' own database."""
    database = connection.settings_dict["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()


@contextlib.contextmanager
def running_acceptor(
    log: Path,
    members: list[Member],
    tls: ssl.SSLContext | None = None,
    enter: Callable[[], None] | None = None,
    **environment: str,
) -> Iterator[Acceptor]:
    """`run_fix_acceptor` with these settings; leaving the context stops it.

    `tls` is the clients' context, which trusts the certificate in the settings. `enter`
    is called in the new process, before the program starts.
    """
    port = free_port()
    settings_of_ours = {
        "DATABASE_URL": database_url(),
        "FIX_PORT": str(port),
        "FIX_SESSIONS": "5",
        "LOG_LEVEL": "INFO",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_fix_acceptor"],
            cwd=settings.BASE_DIR,
            env=os.environ | settings_of_ours | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=enter,
        )
    acceptor = Acceptor(process, port, log, members, tls=tls)
    try:
        until(acceptor.is_ready, log.read_text, pause=0.05)
        yield acceptor
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
