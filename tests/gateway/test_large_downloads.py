"""Files that are larger than what a web process may hold, to clients that are slow."""

import contextlib
import http.client
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psutil
import pytest
from django.utils import timezone

from accounts.access import Scope
from accounts.keys.models import Partner
from partnerapi.core.database import execute
from partnerapi.exports.download import address
from partnerapi.exports.models import MEMBER_BYTES, Export, ExportMember
from partnerapi.exports.writing import APPEND
from partnerapi.sandbox.data.approvals import approved_key
from tests.gateway.conftest import WebServer
from tests.owner import as_owner, remove_approvals, remove_keys
from tests.waiting import PATIENCE_SECONDS

MEMBERS, CLIENTS = 20, 12
FIGURES = b'{"query":"{ issuers(first: 1) { totalCount } }"}'


@pytest.fixture
def file(keeps_rows: None, transactional_db: None) -> Any:
    """The path of an export of 20 MB, and its bytes."""
    partner = Partner.objects.create(login="large", name="Large")
    approved_key(partner, [Scope.ACCOUNTS_READ])
    export = Export.objects.create(partner=partner, connection="ACCOUNTS")
    Export.objects.update(status="RUNNING", place=1)
    parts = [os.urandom(MEMBER_BYTES) for _ in range(MEMBERS)]
    for number, data in enumerate(parts):
        execute(APPEND, [export.pk, number + 1, number * MEMBER_BYTES, 1, data])
    now = timezone.now()
    Export.objects.update(
        status="READY", place=None, is_written=True, date=now, ended_at=now,
        expires_at=now + timedelta(days=1),
    )  # fmt: skip
    yield address(str(export.pk)), b"".join(parts)
    with as_owner():
        ExportMember.objects.all().delete()
        Export.objects.all().delete()
        remove_keys(partner)
        partner.delete()
        remove_approvals()


def memory(server: WebServer) -> int:
    return sum(
        child.memory_info().rss
        for child in psutil.Process(server.process.pid).children()
    )


def reading(server: WebServer, head: bytes) -> socket.socket:
    """A client that has read the first bytes of an answer, and reads no more."""
    while True:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(PATIENCE_SECONDS)
        client.connect(("127.0.0.1", server.port))
        client.sendall(head)
        status = client.recv(100).split()[1]
        if status == b"200":
            return client
        client.close()
        # On a busy machine the others may have the connections for a second.
        assert status == b"503"


def test_slow_clients_hold_little_and_hold_up_nobody(web_server: WebServer, file: Any):
    path, content = file
    before = memory(web_server)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with contextlib.ExitStack() as hanging:
        for _ in range(CLIENTS):
            hanging.enter_context(reading(web_server, head))
        assert web_server.post(b'{"query":"{ __typename }"}')[0] == 200
        # The whole of all answers would be 240 MB.
        assert memory(web_server) - before < CLIENTS * 8 * MEMBER_BYTES
        connection = http.client.HTTPConnection(
            "127.0.0.1", web_server.port, PATIENCE_SECONDS
        )
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.read() == content
        # The same connection goes on, from where another one has ended.
        half = len(content) // 2 + 7
        connection.request("GET", path, headers={"Range": f"bytes={half}-"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (206, content[half:])
        connection.close()


def test_a_download_leaves_its_connection_to_the_next(web_server: WebServer, file: Any):
    path, content = file
    part = {"Range": "bytes=5-9"}
    # Now a process has more threads than connections.
    with ThreadPoolExecutor(40) as pool:
        assert all(pool.map(web_server.post, [FIGURES] * 200))
    for _ in range(30):
        connection = http.client.HTTPConnection(
            "127.0.0.1", web_server.port, PATIENCE_SECONDS
        )
        connection.request("GET", path, headers=part)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (206, content[5:10])
        connection.close()


def test_what_is_deleted_meanwhile_ends_the_answer(web_server: WebServer, file: Any):
    path, content = file
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(PATIENCE_SECONDS)
        client.connect(("127.0.0.1", web_server.port))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = len(client.recv(1_000))
        with as_owner():
            ExportMember.objects.all().delete()
        while piece := client.recv(1_000_000):
            received += len(piece)
    assert received < len(content)
