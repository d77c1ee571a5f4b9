"""How gunicorn serves, where `--config` names this module after `python:`.

Options of the command line and GUNICORN_CMD_ARGS go before these.
"""

worker_class = "partnerapi.operations.web_worker.BufferingWorker"
threads = 8
worker_connections = 2_000
keepalive = 5
"""Seconds that a connection waits for its next request."""
