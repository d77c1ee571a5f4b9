"""Says why a FIX session failed, and what to do about it."""

import socket
import ssl

from marketdata.fix.client.initiator import (
    Disconnected,
    FixFailure,
    Initiator,
    LoggedOut,
    LogonRefused,
    NoAnswer,
    NoConnection,
    NotFix,
)

CLOCK_SECONDS = 5
"""From so many seconds on, the clocks' difference is worth a word."""

TLS_ALERT = b"\x15\x03"
OTHER_PORT = (
    "Your account manager gives you --host and --port; `manage.py up` prints those "
    "of its sandbox."
)
OTHER_COMP_ID = "To use another CompID, pass --comp-id."
OF_OPTIONS = (
    ("Password(554)", "Set FIX_KEY or --key, and --comp-id."),
    ("logged on from", OTHER_COMP_ID),
    ("logged on elsewhere", OTHER_COMP_ID),
    ("the session before it has not ended", OTHER_COMP_ID),
    ("slow consumer", "Lower --depth, or subscribe to fewer symbols."),
)
"""A part of a Logout's text → the options of `fix_client` that it concerns.

The acceptor's texts say themselves what is wrong and what to do.
"""
PREFIXES = ("Rejected Logon Attempt: ", "Logon refused: ")


def explain(failure: FixFailure, client: Initiator) -> str:
    """What happened, and what to do about it: one or more sentences each."""
    where = f"{client.host}:{client.port}"
    match failure:
        case LogonRefused():
            return f"The Logon was refused: {reason(failure, client)}"
        case LoggedOut():
            return f"The acceptor ended the session: {reason(failure, client)}"
        case NoConnection():
            return f"No connection to {where}: {of_connection(failure, client)}"
        case NotFix():
            return f"The server at {where} does not speak FIX 4.4: {of_first(client)}"
        case Disconnected() if not client.first:
            return (
                f"{where} closed the connection after our Logon, {of_silence(client)}"
            )
        case NoAnswer() if not client.first:
            return (
                f"{where} does not answer our Logon: it may not speak FIX. {OTHER_PORT}"
            )
        case _:
            return f"The session with {where} is over: {failure}."


def reason(failure: LoggedOut, client: Initiator) -> str:
    text = str(failure)
    for prefix in PREFIXES:
        text = text.removeprefix(prefix)
    said = [text if text.endswith(".") else f"{text}."]
    said += [todo for part, todo in OF_OPTIONS if part in text]
    ahead = client.clock_difference
    if ahead is not None and abs(ahead) >= CLOCK_SECONDS:
        word = "ahead of" if ahead > 0 else "behind"
        said.append(f"Our clock is {abs(ahead):.1f} s {word} the acceptor's.")
    return " ".join(said)


def of_connection(failure: NoConnection, client: Initiator) -> str:
    cause = failure.__cause__
    match cause:
        case ssl.SSLCertVerificationError():
            return (
                f"its certificate is not trusted ({cause.verify_message}). Pass the "
                "file of its authority with --ca (a self-signed certificate is its "
                "own authority), and the host name in the certificate with --host."
            )
        case ssl.SSLError() | ConnectionResetError() if client.tls is not None:
            return (
                f"the TLS handshake failed ({failure}). If the acceptor runs without "
                "TLS, as in a sandbox, use --no-tls; or the port is wrong. "
                f"{OTHER_PORT}"
            )
        case ConnectionRefusedError():
            return (
                "nothing listens there. Start the sandbox with `manage.py up`, or "
                f"use another address. {OTHER_PORT}"
            )
        case socket.gaierror():
            return f"this host name does not exist. {OTHER_PORT}"
        case TimeoutError():
            return (
                "no answer in time. A firewall may block the connection, or your "
                f"address is not admitted. {OTHER_PORT}"
            )
        case _:
            return f"{failure}. {OTHER_PORT}"


def of_first(client: Initiator) -> str:
    if client.first.startswith(TLS_ALERT):
        return "it requires TLS. Use --tls."
    if client.first.startswith((b"HTTP/", b"<")):
        return f"it is a web server. FIX uses another port. {OTHER_PORT}"
    return f"it sent {client.first[:40]!r}. {OTHER_PORT}"


def of_silence(client: Initiator) -> str:
    expects_tls = "" if client.tls else "It may expect TLS: use --tls. "
    return (
        f"without an answer. {expects_tls}Or --target {client.target} is not its "
        f"CompID, --comp-id {client.sender} is not assigned, or this address has too "
        "many connections."
    )
