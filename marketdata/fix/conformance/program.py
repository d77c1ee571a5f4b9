"""The examination as a program, which /docs/fix offers as one file.

Standard library only.
"""

import argparse
import socket
import sys
from functools import partial

from marketdata.fix.client.initiator import tls_context
from marketdata.fix.conformance.examination import Examination
from marketdata.fix.conformance.relay import CONNECT_SECONDS, Relay
from marketdata.fix.conformance.rulebook import (
    ANSWER_SECONDS,
    CHANGE_POLICY,
    Verdicts,
)
from marketdata.fix.protocol.rules import VERSION


def main() -> None:
    options = parse()
    say(f"Rules of engagement, version {VERSION}.")
    verdicts = Verdicts()
    examination = Examination(verdicts, say, options.patience)
    try:
        places = [listening(place) for place in (options.listen, options.other)]
        examination.relay = Relay(places, partial(acceptor, options), examination)
        for place in places:
            host, port = place.getsockname()
            say(f"An address for your program: {host}:{port}, without TLS.")
        examination.run()
        examination.relay.close()
    except OSError as error:
        sys.exit(f"The examination cannot continue: {error}")
    for line in verdicts.lines():
        say(line)
    if not verdicts.conforms:
        sys.exit(1)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Stand between your program and the sandbox's acceptor, and judge "
        "your program by the rules of engagement. Your program logs on here with its "
        "own CompID and key, as it would there.",
        epilog=CHANGE_POLICY,
    )
    parser.add_argument(
        "--address", required=True, metavar="HOST:PORT", help="of the acceptor"
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
    return parser.parse_args()


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
