"""The files of `operations/deploy`, run: units, nginx, what is installed and how."""

import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from accounts.approvals.four_eyes import decide
from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from partnerapi.sandbox.data.approvals import ASKER, DECIDER, colleague
from partnerapi.settings import VARIABLES
from partnerapi.site import docs
from tests.chaos.units import DEPLOY, Service, held_socket, here, unit
from tests.marketdata.fix.certificates import new_certificate
from tests.operations.test_probes import url_of_test_database
from tests.system import free_port
from tests.typing_in import give_password, typing
from tests.waiting import PATIENCE_SECONDS, until

UNITS = sorted(path.name for path in DEPLOY.glob("partnerapi-*"))
LOCK = DEPLOY / "requirements.lock"
PAGE = docs.path_of("deployment").read_text()
QUESTION = json.dumps({"query": "{ __typename }"}).encode()
HEAD = (
    b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nX-Forwarded-For: 192.0.2.7\r\n"
    b"Content-Length: %d\r\n\r\n" % len(QUESTION)
)


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if not found:
        pytest.skip(f"no {name} on this machine: apt-get install nginx systemd")
    return found


def test_systemd_understands_every_unit(tmp_path: Path):
    verify = program("systemd-analyze")
    for name in UNITS:
        tmp_path.joinpath(name).write_text(here((DEPLOY / name).read_text()))
    names = [name.replace("@.", "@1.") for name in UNITS]
    done = subprocess.run(
        [verify, "verify", "--man=no", *(str(tmp_path / name) for name in names)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "partnerapi" in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("name", [n for n in UNITS if n.endswith(".service")])
def test_a_service_is_nobody_special_and_always_comes_back(name: str):
    service = unit(name)["Service"]
    assert service["User"] == "partnerapi"
    assert service["Restart"] == "always"
    assert unit(name)["Unit"]["StartLimitIntervalSec"] == "0"
    limits = ("MemoryMax", "TasksMax", "LimitNOFILE", "NoNewPrivileges")
    assert all(service.get(limit) for limit in limits)


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port where nginx speaks TLS, by the site that is shipped, and the socket that
    it asks."""
    directory = tmp_path_factory.mktemp("nginx")
    certificate, key = new_certificate(directory)
    port, path = free_port(), directory / "web.sock"
    site = DEPLOY.joinpath("nginx.conf").read_text()
    for theirs, ours in {
        "listen 80 ": f"listen 127.0.0.1:{free_port()} ",
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "/run/partnerapi-web/web.sock": str(path),
        "/etc/partnerapi/tls/fullchain.pem": str(certificate),
        "/etc/partnerapi/tls/privkey.pem": str(key),
    }.items():
        assert theirs in site
        site = site.replace(theirs, ours)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)
    whole = directory / "nginx.conf"
    # One process, of this user: no other could reach the directory.
    whole.write_text(
        f"daemon off; master_process off; pid {directory}/pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ access_log off; {places}\n{site}}}\n"
    )
    command = [program("nginx"), "-e", "stderr", "-p", str(directory), "-c", str(whole)]
    subprocess.run([*command, "-t"], check=True)
    with subprocess.Popen(command) as server:
        try:
            until(lambda: server.poll() is not None or listens(port))
            yield port, path
        finally:
            server.terminate()


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def connect(port: int) -> ssl.SSLSocket:
    # It is for localhost, and no one has signed it.
    context = ssl._create_unverified_context()  # noqa: S323
    client = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
    return context.wrap_socket(client, server_hostname="localhost")


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65_536), b""))


def test_nginx_passes_on_whole_requests_and_answers_by_the_shipped_units(
    nginx: tuple[int, Path], django_db_setup: None, tmp_path: Path
):
    port, path = nginx
    with held_socket(path) as listener:
        listener.settimeout(PATIENCE_SECONDS)
        with connect(port) as slow, connect(port) as quick:
            slow.sendall(HEAD + QUESTION[:5])
            quick.sendall(HEAD + QUESTION)
            # Of the two, the one that was begun first is not to be seen yet.
            asked, _ = listener.accept()
            with asked:
                assert asked.recv(65_536).endswith(QUESTION)
                slow.sendall(QUESTION[5:])
                whole, _ = listener.accept()
                with whole:
                    request = whole.recv(65_536)
        assert request.endswith(QUESTION)
        assert b"X-Forwarded-For: 127.0.0.1\r\n" in request
        assert b"X-Forwarded-Proto: https\r\n" in request
        environment = os.environ | {
            "DATABASE_URL": url_of_test_database(),
            "PARTNER_API_HTTPS": "true",
            "PARTNER_API_TRUSTED_PROXIES": "1",
        }
        # A request that arrives before the web server is answered once it runs.
        with connect(port) as early:
            early.sendall(HEAD + QUESTION)
            service = Service(
                "partnerapi-web@.service", listener, environment, tmp_path
            )
            try:
                answer = read_all(early)
            finally:
                service.stop()
    assert b" 200 " in answer.partition(b"\r\n")[0]
    assert b'{"__typename":"Query"}' in answer
    assert b"Strict-Transport-Security" in answer


def test_the_example_of_an_environment_names_settings():
    text = DEPLOY.joinpath("environment.example").read_text()
    named = set(re.findall(r"^(\w+)=", text, re.MULTILINE))
    assert named <= set(VARIABLES)
    needed = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PARTNER_API_KEY_PEPPER"}
    assert needed <= named
    assert "DATABASE_OWNER_URL" not in named


def locked() -> dict[str, str]:
    """The version of each distribution that is installed in production."""
    pinned: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", LOCK.read_text().strip()):
        name, version = re.match(r"([\w.-]+)==(\S+) \\\n", block).groups()
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), name
        pinned[canonicalize_name(name)] = version
    return pinned


def needed_in_production(python: str) -> set[str]:
    """What the project needs without extras, and all that this needs, by a Python."""
    python_is = {
        "python_full_version": python,
        "python_version": python.rpartition(".")[0],
    }
    found: set[str] = set()
    waiting = [Requirement("partnerapi")]
    while waiting:
        asked = waiting.pop()
        for text in metadata.requires(asked.name) or ():
            needed = Requirement(text)
            extras = {"", *asked.extras}
            if needed.marker and not any(
                needed.marker.evaluate(python_is | {"extra": extra}) for extra in extras
            ):
                continue
            name = canonicalize_name(needed.name)
            if name not in found or needed.extras:
                found.add(name)
                waiting.append(needed)
    return found


def test_the_lock_pins_every_dependency_with_hashes_and_names_no_host():
    pinned = locked()
    for python in ("3.11.0", "3.11.3", "3.12.0", "3.13.0", "3.14.0"):
        assert needed_in_production(python) <= set(pinned)
    assert "://" not in LOCK.read_text()
    project = tomllib.loads(settings.BASE_DIR.joinpath("pyproject.toml").read_text())
    for text in project["project"]["dependencies"]:
        direct = Requirement(text)
        assert str(direct.specifier) == f"=={pinned[canonicalize_name(direct.name)]}"


def test_the_image_is_made_by_the_documented_commands():
    text = DEPLOY.joinpath("Dockerfile").read_text()
    runs = re.findall(r"^RUN (.*)$", text, re.MULTILINE)
    mine = [run for run in runs if ".venv" in run]
    assert len(mine) == 3
    assert [run for run in mine if run not in documented()] == []
    [served] = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    command = " ".join(json.loads(served)[:-2])
    assert unit("partnerapi-web@.service")["Service"]["ExecStart"].endswith(command)
    # Each file that it names is there, and what it need not hold stays out.
    copied = re.findall(r"^COPY (?!--from)(\S+) ", text, re.MULTILINE)
    assert all(settings.BASE_DIR.joinpath(path).exists() for path in copied)
    left_out = DEPLOY.joinpath("Dockerfile.dockerignore").read_text().split()
    assert {".git", ".venv", ".local"} <= set(left_out)


def documented() -> list[str]:
    """The lines of the page's commands."""
    return [
        line.strip()
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines()
    ]


def test_the_first_key_is_issued_by_the_documented_commands(
    db: None, capsys: pytest.CaptureFixture[str]
):
    asks, shows = (
        shlex.split(line)[2:] for line in documented() if "key issue" in line
    )
    staff = User.objects.filter(pk=colleague(ASKER).pk)
    staff.update(email=asks[asks.index("--staff") + 1])
    give_password(staff.get())
    with typing():
        call_command(*asks)
    request = ApprovalRequest.objects.latest("pk")
    assert str(request.pk) in capsys.readouterr().out
    decide(request, colleague(DECIDER), is_approved=True)
    call_command(*(str(request.pk) if word == "ID" else word for word in shows))
    assert capsys.readouterr().out.startswith("service-apikey_acme_")


def test_the_image_has_a_place_for_what_the_units_write():
    text = DEPLOY.joinpath("Dockerfile").read_text()
    beat = unit("partnerapi-beat.service")["Service"]
    written = {
        f"/var/lib/{beat['StateDirectory']}": "--schedule /var/lib/partnerapi/",
        f"/run/{beat['RuntimeDirectory']}": "PARTNER_API_METRICS=/run/partnerapi/",
    }
    [made] = re.findall(r"^RUN install [^/]*--owner=partnerapi[^/]* (/.*)$", text, re.M)
    assert set(made.split()) == set(written)
    commands = beat["ExecStart"] + beat["Environment"]
    assert all(use in commands for use in written.values())
    assert text.index(made) < text.index("USER partnerapi")


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.iterdir()))
def test_every_file_stands_in_the_page(name: str):
    assert name in PAGE or name == "alerts.yml"
