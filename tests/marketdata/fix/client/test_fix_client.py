"""What fix_client reports about failures; with our acceptor, see interop."""

import io
import json
import signal
import ssl
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from marketdata.fix.acceptor import logon
from marketdata.fix.protocol import rules
from marketdata.fix.protocol.wire import encode, utc_timestamp
from tests.marketdata.fix.counterpart import Counterpart, change, counterpart
from tests.system import bare_environment, free_port
from tests.waiting import PATIENCE_SECONDS

KEY = "service-apikey_acme_secret"
LISTED = [(55, "LUM"), (48, "FR0000120271"), (22, 4), (107, "Lumen"), (15, "EUR")]


def fix_client(port: int, *arguments: str, key: str = KEY) -> str:
    output = io.StringIO()
    address = ("--port", str(port), "--target", "THEM", "--comp-id", "US")
    call_command("fix_client", *arguments, *address, "--key", key, stdout=output)
    return output.getvalue()


def failure(port: int, *arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        fix_client(port, *arguments)
    return str(error.value)


def serve_books(them: Counterpart) -> None:
    """An acceptor of one instrument, until it is logged out."""
    them.welcome()
    while (message := them.hear()).type != "5":
        if message.type == "x":
            answer = [(320, message.get(320)), (322, "A"), (560, 0), (393, 1)]
            them.say("y", *answer, (893, "Y"), (146, 1), *LISTED)
        elif message.type == "V":
            request = message.get(262)
            them.snapshot(request, (0, "9.90", 5), (0, "9.95", 7), (1, "10.10", 1300))
    them.say("5")


def test_lists_the_instruments():
    with counterpart(serve_books) as port:
        shown = fix_client(port)

    [row] = [line.split() for line in shown.splitlines() if "LUM" in line][:1]
    assert row == ["LUM", "FR0000120271", "Lumen", "EUR"]
    assert shown.endswith("1 instrument. Watch one: manage.py fix_client LUM\n")


@pytest.mark.parametrize(
    ("options", "comp_id"), [((), "PARTNER001"), (("--drop-copy",), "PARTNER003")]
)
def test_without_a_comp_id_it_is_the_sandbox_s_of_that_kind(
    options: tuple[str, ...], comp_id: str
):
    heard = []

    def script(them: Counterpart) -> None:
        heard.append(them.hear().get(49))
        them.say("5", (58, "Not today"))

    with counterpart(script) as port, pytest.raises(CommandError, match="Not today"):
        call_command("fix_client", *options, "--port", str(port), "--key", KEY)
    assert heard == [comp_id]


def test_a_drop_copy_needs_a_comp_id_of_one():
    def script(them: Counterpart) -> None:
        them.welcome()
        them.say(
            "j", (45, them.hear().get(34)), (372, "AD"), (380, 3), (58, "Read-only")
        )

    with counterpart(script) as port:
        said = failure(port, "--drop-copy", "--after", "0")
    assert said.endswith("Read-only. Pass the CompID of a drop copy with --comp-id.")


def test_cuts_no_id_however_narrow_the_terminal_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    token_id = "01932f3e-7a00-7000-8000-000000000001"
    name = "Ordinary shares of a company with a very long name, class A"

    def script(them: Counterpart) -> None:
        them.welcome()
        listed = [(55, "LUM"), (48, token_id), (22, 8), (107, name), (15, "EUR")]
        answer = [(320, them.hear().get(320)), (322, "A"), (560, 0), (393, 1)]
        them.say("y", *answer, (893, "Y"), (146, 1), *listed)
        assert them.hear().type == "5"
        them.say("5")

    with counterpart(script) as port:
        shown = fix_client(port)

    [row] = [line.split() for line in shown.splitlines() if "EUR" in line]
    assert row == ["LUM", token_id, *name.split(), "EUR"]


def test_shows_one_ladder_where_there_is_no_terminal():
    with counterpart(serve_books) as port:
        lines = fix_client(port, "LUM", "--depth", "2").splitlines()

    rows = [line.split() for line in lines if "9.9" in line]
    assert rows == [
        ["▏", "7", "9.95", "10.10", "1,300", "████████"],
        ["▏", "5", "9.90"],
    ]
    assert any("spread 0.15" in line for line in lines)


def test_prints_a_snapshot_as_json():
    with counterpart(serve_books) as port:
        [book] = json.loads(fix_client(port, "LUM", "--json"))

    assert (book["symbol"], book["bids"], book["asks"]) == (
        "LUM",
        [{"price": "9.95", "quantity": 7}, {"price": "9.90", "quantity": 5}],
        [{"price": "10.10", "quantity": 1300}],
    )


def test_prints_messages_without_the_key():
    with counterpart(serve_books) as port:
        shown = fix_client(port, "--raw")

    lines = shown.splitlines()
    assert [(line[0], line.split("|")[2]) for line in lines] == [
        *((">", "35=A"), ("<", "35=A"), (">", "35=x"), ("<", "35=y")),
        *((">", "35=5"), ("<", "35=5")),
    ]
    assert "|554=***|10=" in lines[0]
    assert KEY not in shown


def raw_client(port: int, directory: Path) -> subprocess.Popen[str]:
    """The command, which prints each message."""
    return program(port, directory, "LUM", "--raw")


def program(port: int, directory: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command, which has its key from the environment."""
    address = ["--port", str(port), "--target", "THEM", "--comp-id", "US"]
    manage = str(settings.BASE_DIR / "manage.py")
    return subprocess.Popen(
        [sys.executable, manage, "fix_client", *arguments, *address],
        env=bare_environment()
        | {"FIX_KEY": KEY, "PARTNER_API_DIRECTORY": str(directory)},
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_takes_the_key_from_the_environment_and_logs_out_on_ctrl_c(tmp_path: Path):
    logons = []

    def script(them: Counterpart) -> None:
        logons.append(them.welcome())
        request = them.hear().get(262)
        them.snapshot(request, (0, "9.90", 5))
        program.send_signal(signal.SIGINT)
        assert them.hear().type == "5"
        them.say("5")

    with counterpart(script) as port:
        program = raw_client(port, tmp_path)
        output, errors = program.communicate(timeout=PATIENCE_SECONDS)

    assert (program.returncode, errors) == (0, "")
    assert logons[0].get(554) == KEY
    assert [line[0] for line in output.splitlines() if "|35=5|" in line] == [">", "<"]


def test_each_message_is_told_at_once_until_nobody_reads(tmp_path: Path):
    def script(them: Counterpart) -> None:
        them.welcome()
        request = them.hear().get(262)
        them.snapshot(request, (0, "9.90", 5))
        for _ in range(4):
            assert program.stdout.readline()[0] in "<>"
        program.stdout.close()
        them.update(request, change(1, 0, "9.90", 6))
        assert them.hear().type == "5"
        them.say("5")

    with counterpart(script) as port:
        program = raw_client(port, tmp_path)
        program.wait(PATIENCE_SECONDS)
    with program.stderr as errors:
        assert (program.returncode, errors.read()) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["LUM"], ["LUM", "--json"]])
def test_nothing_is_said_of_a_pipe_that_nobody_reads(tmp_path: Path, arguments):
    with counterpart(serve_books) as port:
        client = program(port, tmp_path, *arguments)
        client.stdout.close()
        with client.stderr as errors:
            assert (client.wait(PATIENCE_SECONDS), errors.read()) == (0, "")


@pytest.mark.parametrize(
    ("type_", "fields", "told"),
    [
        ("2", [(7, "all"), (16, 0)], "7=all in a 2 is not a number"),
        ("4", [(123, "Y")], "36= in a 4 is not a number"),
        (
            "W",
            [(262, "BOOK1"), (55, "LUM"), (268, 1), (269, 3), (270, "9.90")],
            "LUM: an entry without a known 269 and 270",
        ),
    ],
)
def test_names_what_no_acceptor_sends(type_, fields, told):
    def script(them: Counterpart) -> None:
        them.welcome()
        assert them.hear().type == "V"
        them.say(type_, *fields)
        assert them.hear().type == "5"
        them.say("5")

    with counterpart(script) as port:
        assert told in failure(port, "LUM", "--json")


@pytest.mark.parametrize(
    ("sandbox_key", "arguments"),
    # The sandbox's key is for the sandbox.
    [("", []), (KEY, ["--host", "fix.example.com"])],
)
def test_asks_for_a_key(settings, monkeypatch, sandbox_key, arguments):
    settings.PARTNER_API_SANDBOX_KEY = sandbox_key
    monkeypatch.delenv("FIX_KEY", raising=False)
    with pytest.raises(CommandError, match="environment variable FIX_KEY"):
        call_command("fix_client", *arguments)


def test_explains_that_nobody_listens():
    port = free_port()
    assert failure(port).startswith(
        f"No connection to 127.0.0.1:{port}: nothing listens there. Start the "
        "sandbox with `manage.py up`, or use another address."
    )


def test_explains_a_host_that_does_not_exist():
    told = failure(1, "--host", "fix.invalid", "--no-tls")
    assert "No connection to fix.invalid:1: this host name does not exist." in told


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("marketdata.fix.client.initiator.ANSWER_SECONDS", 0.5)


def test_explains_a_web_server(impatient):
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        told = failure(server.server_port)
        server.shutdown()
        thread.join()
    assert "does not speak FIX 4.4: it is a web server." in told


def test_explains_who_answers_in_http_at_once():
    def script(them: Counterpart) -> None:
        them.hear()
        them.connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with counterpart(script) as port:
        told = failure(port)
    assert "does not speak FIX 4.4: it is a web server." in told


def test_explains_who_says_nothing(impatient):
    def script(them: Counterpart) -> None:
        while them.connection.recv(4096):
            pass

    with counterpart(script) as port:
        told = failure(port)
    assert told.startswith(f"127.0.0.1:{port} does not answer our Logon: it may not")


def test_explains_that_the_acceptor_wants_tls(certificate):
    def script(them: Counterpart) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        with pytest.raises(ssl.SSLError):
            context.wrap_socket(them.connection, server_side=True)

    with counterpart(script) as port:
        told = failure(port)
    assert "Use --tls." in told or "use --tls" in told


def test_explains_that_the_acceptor_has_no_tls():
    # Our acceptor closes a connection that does not begin like a FIX message.
    with counterpart(lambda them: them.connection.recv(9)) as port:
        told = failure(port, "--tls")
    assert "the TLS handshake failed" in told
    assert "use --no-tls" in told


def serve_books_in_tls(certificate: tuple[Path, Path]):
    def script(them: Counterpart) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        try:
            connection = context.wrap_socket(them.connection, server_side=True)
        except ssl.SSLError:
            # The client does not trust us.
            return
        with connection:
            them.connection = connection
            serve_books(them)

    return script


def test_trusts_a_self_signed_certificate_that_is_named(certificate):
    arguments = ("--host", "localhost", "--tls", "--ca", str(certificate[0]))
    with counterpart(serve_books_in_tls(certificate)) as port:
        assert "FR0000120271" in fix_client(port, *arguments)


def test_explains_a_certificate_that_is_not_trusted(certificate):
    with counterpart(serve_books_in_tls(certificate)) as port:
        told = failure(port, "--host", "localhost", "--tls")
    assert "its certificate is not trusted (self-signed certificate)" in told
    assert "--ca" in told


def test_explains_a_file_without_certificates(tmp_path):
    (tmp_path / "empty.pem").touch()
    told = failure(1, "--tls", "--ca", str(tmp_path / "empty.pem"))
    assert told.startswith(f"--ca {tmp_path}/empty.pem: ")
    assert "pass a file of certificates in PEM" in told


def test_explains_a_close_without_a_word():
    with counterpart(lambda them: them.hear()) as port:
        told = failure(port)
    assert f"127.0.0.1:{port} closed the connection after our Logon" in told
    assert "--target THEM" in told


def test_measures_how_far_the_clocks_are_apart():
    def script(them: Counterpart) -> None:
        them.hear()
        at = utc_timestamp(datetime.now(UTC) - timedelta(seconds=95))
        header = [(35, "5"), (34, 1), (49, "THEM"), (52, at), (56, "US")]
        reason = (58, "SendingTime(52) differs by more than 30 seconds from our clock")
        them.connection.sendall(encode([*header, reason]))

    with counterpart(script) as port:
        told = failure(port)
    refusal, _, ours = told.partition(" Our clock is ")
    assert refusal == (
        "The Logon was refused: SendingTime(52) differs by more than 30 seconds "
        "from our clock."
    )
    seconds, _, rest = ours.partition(" ")
    # Messages on their way are counted with it.
    assert 95 <= float(seconds) < 95 + PATIENCE_SECONDS
    assert rest == "s ahead of the acceptor's."


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (logon.CREDENTIALS_REFUSED, " Set FIX_KEY or --key, and --comp-id."),
        (logon.SCOPE_REFUSED.format(scope="marketdata:read"), ""),
        (logon.TOO_MANY_FAILURES, ""),
        (
            f"Rejected Logon Attempt: {rules.LOGON_WITHIN}",
            "",
        ),
    ],
)
def test_tells_the_reason_of_a_refusal_once(text, added):
    def script(them: Counterpart) -> None:
        them.hear()
        them.say("5", (58, text))

    with counterpart(script) as port:
        told = failure(port)
    bare = text.removeprefix("Rejected Logon Attempt: ").removeprefix("Logon refused: ")
    assert told == f"The Logon was refused: {bare.removesuffix('.')}.{added}"


def test_tells_where_symbols_are_listed():
    def script(them: Counterpart) -> None:
        them.welcome()
        request = them.hear().get(262)
        them.say("Y", (262, request), (281, 0), (58, "unknown symbol NOPE"))
        assert them.hear().type == "5"
        them.say("5")

    with counterpart(script) as port:
        told = failure(port, "NOPE")
    assert told == (
        "The feed refused the request: unknown symbol NOPE. Without symbols, this "
        "command lists the instruments that you may see."
    )


@pytest.mark.parametrize("text", ["0", "51", "x"])
def test_refuses_other_depths(text):
    with pytest.raises(CommandError, match="not a number of levels, 1 to 50"):
        fix_client(1, "LUM", "--depth", text)
