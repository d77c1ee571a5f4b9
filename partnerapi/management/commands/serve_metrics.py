from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from prometheus_client import start_http_server

from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.signals import ended_by_signals
from partnerapi.operations.exposition import registry_of


class Command(CommandWithExamples):
    help = """Serve /metrics for Prometheus until SIGTERM or Ctrl-C.

Run one on each machine, beside the processes that write counters to the directory of
PARTNER_API_METRICS: web servers, acceptors, workers. It is a separate process with its
own port, so it answers when they do not. It sums their counters, and adds the checks of
/readyz. It does not authenticate readers: listen on an address that only Prometheus can
reach.

examples:
  PARTNER_API_METRICS=/run/partnerapi/metrics manage.py serve_metrics
  PARTNER_API_METRICS=/run/partnerapi/metrics manage.py serve_metrics --host 10.0.0.7
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="the address to listen on; default: %(default)s",
        )
        parser.add_argument(
            "--port", type=int, default=9464, help="the port; default: %(default)s"
        )

    def handle(self, *, host, port, **options):
        if not settings.PARTNER_API_METRICS:
            raise CommandError(
                "PARTNER_API_METRICS is not set: set it to the directory of this "
                "machine's counters, for all processes."
            )
        registry = registry_of(Path(settings.PARTNER_API_METRICS))
        try:
            server, thread = start_http_server(port, host, registry)
        except OSError as error:
            raise CommandError(
                f"{host} port {port} cannot be used: {error.strerror}; stop the "
                "program that listens there, or choose another port with --port."
            ) from None
        with ended_by_signals() as ended:
            self.stdout.write(f"http://{host}:{port}/metrics")
            self.stdout.flush()
            ended.wait()
        server.shutdown()
        thread.join()
