"""This machine: its disks, its certificates, and who serves on its ports."""

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from django.conf import settings

from marketdata.fix.acceptor.sockets import tls_context
from partnerapi.operations.diagnosis.findings import Finding, State

FULL_BYTES, LOW_BYTES = 100 * 2**20, 2 * 2**30
SOON = timedelta(days=14)
CGROUPS = Path("/sys/fs/cgroup")
THREADS_OF_A_SESSION, OTHER_THREADS = 2, 100
"""Of an acceptor: QuickFIX's and ours; and those of feed, listener and PostgreSQL."""
LISTENING = "0A"
"""A socket's state in /proc/net/tcp."""


def disks() -> Iterator[Finding]:
    places = [settings.BASE_DIR, Path(tempfile.gettempdir())]
    if settings.PARTNER_API_STATEMENTS:
        places.append(Path(settings.PARTNER_API_STATEMENTS))
    for place in dict.fromkeys(places):
        yield disk(place)


def disk(place: Path) -> Finding:
    name = f"disk {place}"
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        remedy = "Make the directory, or mount it."
        return Finding(name, State.FAILED, f"{place}: {error.strerror}", remedy)
    figures = {"freeBytes": free}
    says = f"{free / 2**30:.1f} GiB are free"
    remedy = "Free some: logs and old releases first."
    if free < LOW_BYTES:
        state = State.FAILED if free < FULL_BYTES else State.WARNING
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
    left = first.not_valid_after_utc - datetime.now(UTC)
    figures = {"secondsLeft": int(left.total_seconds())}
    until = f"{first.not_valid_after_utc:%d %B %Y %H:%M} UTC"
    if left < timedelta():
        says = f"It was valid until {until}: partners refuse it"
        yield Finding("certificate", State.FAILED, says, renew, figures)
    elif left < SOON:
        says = f"It is valid until {until} only"
        yield Finding("certificate", State.WARNING, says, renew, figures)
    else:
        says = f"It is valid until {until}"
        yield Finding("certificate", State.OK, says, "", figures)


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
            "some requests are answered by an old release, or by other settings",
            "End all but one of them: kill -TERM PROCESS.",
        )  # fmt: skip
    if not shared:
        says = f"{len(masters)} on this machine, and no two on one port"
        yield Finding("web servers", State.OK, says, "", {"servers": len(masters)})


def acceptor_threads() -> Iterator[Finding]:
    """Whether acceptors of this machine may have the threads that all CompIDs need."""
    needed = threads_needed()
    for process, allowed in sorted(acceptors().items()):
        figures = {"threadsNeeded": needed}
        if allowed is None or allowed >= needed:
            says = f"The acceptor, process {process}, may have all that it needs"
            yield Finding("acceptor threads", State.OK, says, "", figures)
            continue
        room = max(0, allowed - OTHER_THREADS) // THREADS_OF_A_SESSION
        yield Finding(
            "acceptor threads", State.WARNING,
            f"The acceptor, process {process}, may have {allowed} threads: about "
            f"{room} of FIX_SESSIONS={settings.FIX_SESSIONS} sessions can log on",
            f"Set TasksMax={needed} or more in partnerapi-fix.service, or the limit of "
            "its container, then start the acceptor again.",
            figures | {"threadsAllowed": allowed},
        )  # fmt: skip


def threads_needed() -> int:
    """Of an acceptor all of whose CompIDs are logged on."""
    return settings.FIX_SESSIONS * THREADS_OF_A_SESSION + OTHER_THREADS


def acceptors() -> dict[int, int | None]:
    """The most threads of each FIX acceptor on this machine; None: any number.

    Linux only.
    """
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        # It may end meanwhile, or be somebody else's.
        with suppress(OSError):
            command = (directory / "cmdline").read_bytes().split(b"\0")
            if b"run_fix_acceptor" in command and b"--check" not in command:
                found[int(directory.name)] = most_threads(directory)
    return found


def most_threads(process: Path) -> int | None:
    """The lowest of the limits that systemd, or a container, sets around a process."""
    limits = []
    for line in (process / "cgroup").read_text().splitlines():
        _, controllers, place = line.split(":", 2)
        if controllers not in ("", "pids"):
            continue
        group = CGROUPS / controllers / place.lstrip("/")
        # What a group may have, those around it may have, too.
        for each in (group, *group.parents):
            with suppress(OSError, ValueError):
                limits.append(int((each / "pids.max").read_text()))
    return min(limits, default=None)


def gunicorn_masters() -> dict[int, set[int]]:
    """The ports of each gunicorn of ours that this user may look at; Linux only."""
    listening = sockets_that_listen()
    parents: dict[int, int] = {}
    ports: dict[int, set[int]] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        # It may end meanwhile, or be somebody else's.
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
