"""The listening socket, its TLS, and what connections leave behind."""

import socket
import ssl


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections.

    Raises:
        OSError
    """
    if ":" not in host:
        listener = socket.create_server((host, port), backlog=1024)
    else:
        both = host == "::" and socket.has_dualstack_ipv6()
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6, backlog=1024, dualstack_ipv6=both
        )
    listener.setblocking(False)
    return listener


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 or 1.3 with the certificate chain and key of these files.

    Raises:
        OSError: a file cannot be read, or holds something else.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without a passphrase here, OpenSSL would ask for one at the terminal.
    context.load_cert_chain(certificate, key, password="")
    return context


def drop_tracebacks(error: BaseException | None) -> None:
    """Those of an error, and of the errors that it followed."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__
