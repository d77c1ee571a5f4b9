"""The ports on which the system listens."""

import os
import socket

from partnerapi.sandbox.run.processes import RunError


def listen(port: int, option: str) -> list[socket.socket]:
    """Take the port on this machine's own addresses, before anything else is begun.

    Raises:
        RunError: the port is not to be had; `option` chooses another.
    """
    try:
        listeners = [socket.create_server(("127.0.0.1", port))]
        if has_ipv6_loopback():
            listeners.append(
                socket.create_server(("::1", port), family=socket.AF_INET6)
            )
        for listener in listeners:
            # Accepted connections inherit it: an answer's end must not wait 40 ms.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise RunError(
            f"port {port} cannot be used: {os.strerror(error.errno or 0)}; stop the "
            f"program that listens there, or choose another port with {option}"
        ) from None
    return listeners


def has_ipv6_loopback() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
