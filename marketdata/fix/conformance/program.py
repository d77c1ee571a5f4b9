"""The examination as a program, which /docs/fix offers as one file.

Standard library only.
"""

import argparse
import http.client
import json
import socket
import sys
import threading
import time
import uuid
from functools import partial
from urllib.parse import urlsplit

from marketdata.fix.client.initiator import tls_context
from marketdata.fix.conformance.examination import Examination
from marketdata.fix.conformance.http_relay import HttpRelay, post, values_of
from marketdata.fix.conformance.order_entry import SCENES, OrderExamination
from marketdata.fix.conformance.relay import CONNECT_SECONDS, Relay
from marketdata.fix.conformance.rulebook import (
    ANSWER_SECONDS,
    CHANGE_POLICY,
    Part,
    Verdicts,
)
from marketdata.fix.protocol.rules import VERSION

REPORT = """
mutation ($input: SandboxReportConformanceInput!) {
  sandboxReportConformance(input: $input) { at passed }
}
"""


def main() -> None:
    options = parse()
    say(f"Rules of engagement, version {VERSION}.")
    began = time.monotonic()
    part = Part.BOOKS
    if options.orders:
        part = Part.ORDERS
    elif options.drop_copy:
        part = Part.DROP_COPY
    verdicts = Verdicts(part)
    try:
        key = (examine_orders if options.orders else examine)(options, verdicts)
    except OSError as error:
        sys.exit(f"The examination cannot continue: {error}")
    for line in verdicts.lines():
        say(line)
    if options.api and key:
        report(options, verdicts, key, round(time.monotonic() - began))
    if not verdicts.conforms:
        sys.exit(1)


def examine(options: argparse.Namespace, verdicts: Verdicts) -> str:
    """Judge a program that speaks FIX; the API key that it logged on with, or ""."""
    examination = Examination(verdicts, say, options.patience)
    places = [listening(place) for place in (options.listen, options.other)]
    examination.relay = Relay(places, partial(acceptor, options), examination)
    for place in places:
        host, port = place.getsockname()
        say(f"An address for your program: {host}:{port}, without TLS.")
    examination.run()
    examination.relay.close()
    return examination.key


def examine_orders(options: argparse.Namespace, verdicts: Verdicts) -> str:
    """Judge a program that sends GraphQL requests; its API key, or ""."""
    examination = OrderExamination(verdicts, say, options.patience, options.only)
    host, _, port = options.listen.rpartition(":")
    tls = tls_context(options.ca)
    relay = HttpRelay((host, int(port)), options.api, tls, examination)
    examination.relay = relay
    threading.Thread(target=relay.serve_forever, daemon=True).start()
    path = urlsplit(options.api).path
    say(f"An address for your program: http://{options.listen}{path}")
    examination.run()
    relay.shutdown()
    return examination.token


def report(
    options: argparse.Namespace, verdicts: Verdicts, key: str, seconds: int
) -> None:
    """Send the verdicts to the sandbox, where the account manager sees them."""
    rules = [
        {
            "rule": name,
            "verdict": verdicts.of(name).upper().replace(" ", "_"),
            "faults": verdicts.faults(name),
        }
        for name in verdicts.rules
    ]
    content = {
        "part": verdicts.part,
        "version": VERSION,
        "seconds": seconds,
        "rules": rules,
    }
    body = json.dumps({"query": REPORT, "variables": {"input": content}}).encode()
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": key,
        "Idempotency-Key": str(uuid.uuid4()),
    }
    try:
        answer = post(options.api, body, headers, tls_context(options.ca))
    except (OSError, http.client.HTTPException) as error:
        say(f"The report was not sent: {error}")
        return
    if problem := next(values_of(answer.content, {"message"}), None):
        say(f"The report was refused: {problem}")
    else:
        at = next(values_of(answer.content, {"at"}), "")
        say(f"The report of {at} was sent to {options.api}.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Stand between your program and the sandbox, and judge your "
        "program by the rules of engagement. It connects here with its own CompID and "
        "key, as it would there. One run judges what follows order books, what follows "
        "a drop copy (--drop-copy), or what places orders (--orders).",
        epilog=CHANGE_POLICY,
    )
    parser.add_argument("--address", metavar="HOST:PORT", help="of the acceptor")
    parser.add_argument(
        "--drop-copy", action="store_true", help="your CompID is one of a drop copy"
    )
    parser.add_argument(
        "--orders", action="store_true", help="your program places orders in GraphQL"
    )
    parser.add_argument(
        "--api",
        metavar="URL",
        help="of the sandbox's GraphQL: the report is sent there, and your account "
        "manager sees it",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=SCENES,
        help="with --orders: try only this rule; repeat it for more",
    )
    parser.add_argument(
        "--no-tls", action="store_true", help="the acceptor runs without TLS"
    )
    parser.add_argument("--ca", help="CA file for the acceptor's certificate")
    parser.add_argument(
        "--listen",
        default="127.0.0.1:19878",
        metavar="HOST:PORT",
        help="the first address for your program; default: %(default)s",
    )
    parser.add_argument(
        "--other",
        default="127.0.0.1:19879",
        metavar="HOST:PORT",
        help="the second one; default: %(default)s",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=ANSWER_SECONDS,
        metavar="SECONDS",
        help="how long an answer may take; default: %(default)s",
    )
    options = parser.parse_args()
    if options.orders and not options.api:
        parser.error("--orders needs --api")
    if not options.orders and not options.address:
        parser.error("--address is needed, or --orders")
    return options


def listening(place: str) -> socket.socket:
    host, _, port = place.rpartition(":")
    return socket.create_server((host, int(port)))


def acceptor(options: argparse.Namespace) -> socket.socket:
    """A connection to the acceptor."""
    host, _, port = options.address.rpartition(":")
    connection = socket.create_connection((host, int(port)), CONNECT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if options.no_tls:
        return connection
    return tls_context(options.ca).wrap_socket(connection, server_hostname=host)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
