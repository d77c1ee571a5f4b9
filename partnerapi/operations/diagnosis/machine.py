"""This machine: its disks, its certificates, its backups, who serves on its ports."""

import os
import shutil
import socket
import ssl
import struct
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from django.conf import settings
from django.db import connection

from marketdata.fix.acceptor.sockets import tls_context
from partnerapi.operations.diagnosis.findings import Finding, State

FULL_BYTES, LOW_BYTES = 100 * 2**20, 2 * 2**30
FULL_SHARE, LOW_SHARE = 0.02, 0.1
"""Of a small disk, what is nearly full."""
BACKUP_AGE = timedelta(hours=26)
"""A backup is made each day."""
CERTIFICATE_SECONDS = 5.0
SOON = timedelta(days=14)
LISTENING = "0A"
"""A socket's state in /proc/net/tcp."""


def disks() -> Iterator[Finding]:
    places = [settings.BASE_DIR, Path(tempfile.gettempdir())]
    if settings.STATE_DIRECTORY.exists() or "PARTNER_API_DIRECTORY" in os.environ:
        places.append(settings.STATE_DIRECTORY)
    named = (
        settings.PARTNER_API_STATEMENTS,
        settings.PARTNER_API_BACKUPS,
        settings.PARTNER_API_METRICS,
        # A server of our own keeps its data beside its socket.
        parse_qs(urlsplit(settings.DATABASE_URL).query).get("host", [""])[0],
    )
    places += [Path(name) for name in named if name.startswith("/")]
    for place in dict.fromkeys(places):
        yield disk(place)


def disk(place: Path) -> Finding:
    name = f"disk {place}"
    try:
        total, _, free = shutil.disk_usage(place)
    except OSError as error:
        remedy = "Create the directory, or mount it."
        return Finding(name, State.FAILED, f"{place}: {error.strerror}", remedy)
    figures = {"freeBytes": free}
    says = f"{free / 2**30:.1f} GiB are free"
    remedy = "Free some space: logs and old releases first."
    if free < min(LOW_BYTES, LOW_SHARE * total):
        is_full = free < min(FULL_BYTES, FULL_SHARE * total)
        state = State.FAILED if is_full else State.WARNING
        return Finding(name, state, says, remedy, figures)
    return Finding(name, State.OK, says, "", figures)


def certificate() -> Iterator[Finding]:
    """The FIX acceptor's certificate, where it has one."""
    file, key = settings.FIX_TLS_CERTIFICATE, settings.FIX_TLS_KEY
    if not file and not key:
        return
    renew = (
        "Have the certificate renewed, put chain and key into the files of "
        "FIX_TLS_CERTIFICATE and FIX_TLS_KEY, and send the acceptor SIGHUP."
    )
    try:
        tls_context(file, key)
        [first, *_] = x509.load_pem_x509_certificates(Path(file).read_bytes())
    except (OSError, ValueError) as error:
        yield Finding("certificate", State.FAILED, f"{file}, {key}: {error}", renew)
        return
    yield lasts("certificate", first, renew)


def lasts(name: str, certificate: x509.Certificate, renew: str) -> Finding:
    """How long a certificate is valid."""
    end = certificate.not_valid_after_utc
    left = end - datetime.now(UTC)
    figures = {"secondsLeft": int(left.total_seconds())}
    until = f"{end:%d %B %Y %H:%M} UTC"
    if left < timedelta():
        says = f"It expired at {until}: partners refuse it"
        return Finding(name, State.FAILED, says, renew, figures)
    if left < SOON:
        says = f"It is only valid until {until}"
        return Finding(name, State.WARNING, says, renew, figures)
    return Finding(name, State.OK, f"It is valid until {until}", "", figures)


def web_certificate(address: str) -> Iterator[Finding]:
    """The certificate that the proxy before the web server shows."""
    parts = urlsplit(address)
    yield of_server(
        "web certificate",
        (parts.hostname or "", parts.port or 443),
        "Have it renewed (certbot renew), and reload the proxy.",
        "Check that the proxy runs, and that the name resolves to it.",
    )


def database_certificate() -> Iterator[Finding]:
    """The certificate that PostgreSQL shows, where the connection to it has TLS."""
    connection.ensure_connection()
    session = connection.connection
    if not session.pgconn.ssl_in_use:
        return
    yield of_server(
        "database certificate",
        (session.info.hostaddr or session.info.host, session.info.port),
        "Have it renewed, put it into PostgreSQL's ssl_cert_file and ssl_key_file, and "
        "SELECT pg_reload_conf().",
        "Check that PostgreSQL can be reached.",
        ASKS_FOR_TLS,
    )


def valkey_certificate() -> Iterator[Finding]:
    """The certificate that Valkey shows, where REDIS_URL asks for TLS."""
    parts = urlsplit(settings.REDIS_URL)
    if parts.scheme == "rediss":
        yield of_server(
            "valkey certificate",
            (parts.hostname or "", parts.port or 6379),
            "Have it renewed, put it into Valkey's tls-cert-file and tls-key-file, "
            "and reload both with CONFIG SET.",
            "Check that Valkey runs, and that REDIS_URL names it.",
        )


ASKS_FOR_TLS = struct.pack("!ii", 8, 80877103)
"""SSLRequest (PostgreSQL, Message Formats); the answer is S where there is TLS."""


def of_server(
    name: str, place: tuple[str, int], renew: str, away: str, asks: bytes = b""
) -> Finding:
    """The certificate that a server shows after it was sent `asks`."""
    # Judged here by its end; what else is wrong with it, a client says.
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    host, port = place
    try:
        with socket.create_connection(place, CERTIFICATE_SECONDS) as raw:
            if asks:
                raw.sendall(asks)
                raw.recv(1)
            with unverified.wrap_socket(raw, server_hostname=host) as secured:
                shown = secured.getpeercert(binary_form=True)
    except OSError as error:
        says = f"{host} port {port} shows no certificate: {error}"
        return Finding(name, State.WARNING, says, away)
    assert shown is not None
    return lasts(name, x509.load_der_x509_certificate(shown), renew)


def backups() -> Iterator[Finding]:
    """How old the newest file of the backups is."""
    if not settings.PARTNER_API_BACKUPS:
        yield Finding(
            "backup", State.WARNING, "No backup is known",
            "Make one each day, as the page Deployment describes, and set "
            "PARTNER_API_BACKUPS to its directory as mounted here.",
        )  # fmt: skip
        return
    place = Path(settings.PARTNER_API_BACKUPS)
    remedy = "Find out why the last backup was not made, and make one now."
    try:
        made = [path.stat().st_mtime for path in place.iterdir()]
    except OSError as error:
        says = f"{place}: {error.strerror}"
        yield Finding(
            "backup",
            State.FAILED,
            says,
            "Mount the directory, or correct PARTNER_API_BACKUPS.",
        )
        return
    if not made:
        yield Finding("backup", State.FAILED, f"{place} has no backups", remedy)
        return
    age = timedelta(seconds=int(max(0.0, time() - max(made))))
    figures = {"ageSeconds": int(age.total_seconds())}
    if age > BACKUP_AGE:
        says = f"The newest backup in {place} was made {age} ago"
        yield Finding("backup", State.WARNING, says, remedy, figures)
    else:
        yield Finding(
            "backup", State.OK, f"The newest backup was made {age} ago", "", figures
        )


def web_servers() -> Iterator[Finding]:
    """Whether two web servers listen on one port, which the kernel then shares out."""
    masters = gunicorn_masters()
    by_port = defaultdict(list)
    for process, ports in masters.items():
        for port in ports:
            by_port[port].append(process)
    shared = {port: pids for port, pids in by_port.items() if len(pids) > 1}
    for port, pids in sorted(shared.items()):
        yield Finding(
            "web servers", State.FAILED,
            f"Processes {', '.join(map(str, sorted(pids)))} all serve port {port}: "
            "some requests are answered by an old release, or with different "
            "settings",
            "End all but one of them: kill -TERM PROCESS.",
        )  # fmt: skip
    if not shared:
        says = f"{len(masters)} on this machine, each on its own port"
        yield Finding("web servers", State.OK, says, "", {"servers": len(masters)})


def gunicorn_masters() -> dict[int, set[int]]:
    """The ports of each of our gunicorns that this user may inspect; Linux only."""
    listening = sockets_that_listen()
    parents: dict[int, int] = {}
    ports: dict[int, set[int]] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        # It may end meanwhile, or be someone else's.
        with suppress(OSError):
            command = (directory / "cmdline").read_bytes().split(b"\0")
            if b"partnerapi.wsgi" in command and b"gunicorn" in b"".join(command[:5]):
                process = int(directory.name)
                ports[process] = ports_of(directory, listening)
                status = (directory / "stat").read_text().rpartition(")")[2].split()
                parents[process] = int(status[1])
    masters: defaultdict[int, set[int]] = defaultdict(set)
    for process, own in ports.items():
        # A worker listens itself where ports are shared.
        while parents[process] in parents:
            process = parents[process]
        masters[process] |= own
    return dict(masters)


def sockets_that_listen() -> dict[str, int]:
    """The port of each socket that listens, by the name that /proc gives it."""
    found = {}
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING:
                    port = int(fields[1].rpartition(":")[2], 16)
                    found[f"socket:[{fields[9]}]"] = port
    return found


def ports_of(process: Path, listening: dict[str, int]) -> set[int]:
    ports = set()
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):
            if port := listening.get(str(descriptor.readlink())):
                ports.add(port)
    return ports
