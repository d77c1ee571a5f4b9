"""Runs the acceptance scripts of the QuickFIX project against our acceptor.

A line is an action; a digit and a comma after its letter name one of several
connections: iCONNECT and iDISCONNECT open and close one, eDISCONNECT expects that it is
closed by the other side, I sends the message that follows, E expects it. 9 and 10 are
computed unless they are given; <TIME>, <TIME+n> and <TIME-n> are UTC, n in seconds.
"""

import contextlib
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from marketdata.fix.protocol.wire import SOH, Decoder, GarbledMessage, Message, readable

ACTION = re.compile(r"([iIeE])(?:(\d),)?(.*)", re.DOTALL)
CLOCK = re.compile(r"<TIME([+-]\d+)?>")
GIVEN_LENGTH = re.compile(r"\x019=")
GIVEN_CHECKSUM = re.compile(r"\x0110=[^\x01]*\x01?$")
MOMENT = re.compile(r"\d{8}-\d\d:\d\d:\d\d(\.\d{3,9})?")
MOMENTS = {42, 52, 60, 122}
COUNTED = {9, 10}
"""Of a received message they were checked when it was decoded."""
ECHOED = ("D", "d")
"""What the project's own server sends back; ours only reads market data: j, 380=3."""
ANSWER_SECONDS = 8.0
CLOSE_SECONDS = 10.0


class Missed(Exception):
    """The acceptor did something else than the script expects."""


@dataclass
class Partner:
    """The partner as which scripts log on; `names` maps their CompIDs to ours."""

    host: str
    port: int
    key: str
    names: Mapping[str, str]


class Connection:
    def __init__(self, partner: Partner) -> None:
        self.socket = socket.create_connection((partner.host, partner.port), 5)
        self.decoder = Decoder()

    def receive(self) -> Message:
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                if (message := self.decoder.next()) is not None:
                    return message
            except GarbledMessage as error:
                raise Missed(f"garbled: {error}") from None
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                raise Missed(f"nothing came within {ANSWER_SECONDS:.0f} s") from None
            except ConnectionError:
                data = b""
            if not data:
                raise Missed("the connection was closed")
            self.decoder.feed(data)

    def await_close(self) -> None:
        with contextlib.suppress(ConnectionError):
            self.socket.settimeout(CLOSE_SECONDS)
            try:
                data = bytes(self.decoder.buffer) or self.socket.recv(65536)
            except TimeoutError:
                still = f"the connection was still open after {CLOSE_SECONDS:.0f} s"
                raise Missed(still) from None
            if data:
                raise Missed(f"instead of a close came {readable(data)}")


def run_script(path: Path, partner: Partner) -> str | None:
    """The line and the reason of the script's first miss; None if there is none."""
    connections: dict[str, Connection] = {}
    lines = path.read_bytes().decode("latin-1").splitlines()
    try:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                act(line, connections, partner)
            except (Missed, OSError) as miss:
                return f"line {number}: {miss}"
    finally:
        for connection in connections.values():
            connection.socket.close()
    return None


def act(line: str, connections: dict[str, Connection], partner: Partner) -> None:
    """Do one action.

    Raises:
        Missed: the acceptor does not do what is expected.
    """
    action = ACTION.fullmatch(line)
    assert action is not None, line
    kind, name, rest = action[1], action[2] or "1", action[3]
    for theirs, ours in partner.names.items():
        rest = rest.replace(f"={theirs}{SOH}", f"={ours}{SOH}")
    match kind, rest:
        case "i", "CONNECT":
            connections[name] = Connection(partner)
        case "i", "DISCONNECT":
            connections.pop(name).socket.close()
        case "e", "DISCONNECT":
            connections[name].await_close()
        case "I", _:
            connections[name].socket.sendall(completed(rest, partner.key))
        case "E", _:
            compare(fields_of(rest), connections[name].receive())
        case _:
            raise AssertionError(f"no such action: {line}")


def completed(text: str, key: str) -> bytes:
    """The message with the key in a Logon, the time, and 9 and 10 where not given."""
    given = GIVEN_CHECKSUM.search(text)
    if given:
        text = text[: given.start() + 1]
    has_length = GIVEN_LENGTH.search(text) is not None
    if f"{SOH}35=A{SOH}" in text and not has_length:
        text += f"554={key}{SOH}"
    text = CLOCK.sub(moment, text)
    if not has_length and text.startswith("8="):
        begin, _, body = text.partition(SOH)
        text = f"{begin}{SOH}9={len(body)}{SOH}{body}"
    message = text.encode("latin-1")
    if given:
        return message + given[0][1:].encode()
    if not text.startswith("8="):
        return message
    return message + b"10=%03d\x01" % (sum(message) % 256)


def moment(match: re.Match[str]) -> str:
    at = datetime.now(UTC) + timedelta(seconds=int(match[1] or 0))
    return f"{at:%Y%m%d-%H:%M:%S}"


def fields_of(text: str) -> list[tuple[int, str]]:
    parted = (field.partition("=") for field in text.split(SOH) if field)
    return [(int(tag), value) for tag, _, value in parted]


def compare(expected: list[tuple[int, str]], received: Message) -> None:
    """Raises Missed: another message than the expected one."""
    if dict(expected)[35] in ECHOED:
        problem = differs_from_echo(dict(expected), dict(received.fields))
    else:
        counted = ((tag, value) for tag, value in expected if tag not in COUNTED)
        came = [(t, v) for t, v in received.fields if t not in COUNTED]
        problem = difference(list(counted), came)
    if problem:
        shown = "|".join(f"{tag}={value}" for tag, value in expected)
        came_text = readable(received.raw)
        raise Missed(f"{problem}\n  expected {shown}\n  received {came_text}")


def difference(
    expected: list[tuple[int, str]], received: list[tuple[int, str]]
) -> str | None:
    if [tag for tag, _ in expected] != [tag for tag, _ in received]:
        return "other tags, or another order"
    for (tag, wanted), (_, came) in zip(expected, received, strict=True):
        same = MOMENT.fullmatch(came) if tag in MOMENTS else wanted == came
        if not same:
            return f"{tag} is {came!r} and should be {wanted!r}"
    return None


def differs_from_echo(
    expected: Mapping[int, str], received: Mapping[int, str]
) -> str | None:
    """Whether a j stands where the project's server echoes, its header as expected."""
    if (received[35], received.get(380)) != ("j", "3"):
        return "expected BusinessMessageReject(j) with 380=3"
    if received.get(372) != expected[35]:
        return f"372 should name {expected[35]}"
    header: Iterable[int] = (34, 43)
    wrong = [tag for tag in header if received.get(tag) != expected.get(tag)]
    return f"another {wrong[0]}" if wrong else None
