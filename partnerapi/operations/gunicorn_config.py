"""How gunicorn serves, where `--config` names this module after `python:`.

Options of the command line and GUNICORN_CMD_ARGS go before these.
"""

import os
from typing import Any

from gunicorn.systemd import sd_notify

worker_class = "partnerapi.operations.web_worker.BufferingWorker"
threads = 8
worker_connections = 2_000
preload_app = True
"""All is loaded once; a process that takes the place of another is there at once."""
keepalive = 5
"""Seconds that a connection waits for its next request."""
control_socket_disable = True
"""Two masters of one user would share it, and nothing here asks for it."""

told: dict[str, str] = {}


def on_starting(arbiter: Any) -> None:
    """Keep from gunicorn where systemd listens: it would say at once that it is ready,
    and systemd would go on to end the web server that answers meanwhile."""
    if address := os.environ.pop("NOTIFY_SOCKET", None):
        told["NOTIFY_SOCKET"] = address


def post_worker_init(worker: Any) -> None:
    """Tell systemd that a process has loaded everything and takes requests."""
    os.environ.update(told)
    sd_notify("READY=1", worker.log, unset_environment=True)
