import faulthandler
import logging
import os
import signal
import threading

from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error

from accounts.keys.uses import uses
from marketdata.fix.acceptor.quickfix.interpreter import (
    collect_seldom,
    return_large_blocks,
)
from marketdata.fix.acceptor.sockets import tls_context
from marketdata.fix.client.advice import explain
from marketdata.fix.client.health import prober
from marketdata.fix.client.initiator import FixFailure
from marketdata.models import FixSession
from marketdata.models.sessions import pool
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.database import fetch
from partnerapi.core.signals import told_by_signals
from partnerapi.core.starting import StartRefused, check_start

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
STOP_SECONDS = 9.0


class Command(CommandWithExamples):
    help = """Serve the FIX 4.4 market data feed until SIGTERM or Ctrl-C.

It listens on FIX_HOST and FIX_PORT, with TLS where FIX_TLS_CERTIFICATE and FIX_TLS_KEY
are set. `fix_session issue` makes sessions, `key issue` makes keys. On SIGTERM it logs
all sessions out and exits with 0 within ten seconds. On SIGHUP it reads a renewed
certificate without interrupting sessions.

--check is a health check: it logs on to the acceptor on this machine as a partner does,
and exits with 0, or with 1 and the reason. Give it its own CompID and key, because its
Logon replaces a session of that CompID.

examples:
  manage.py run_fix_acceptor
  FIX_TLS_CERTIFICATE=chain.pem FIX_TLS_KEY=key.pem manage.py run_fix_acceptor
  FIX_KEY=service-apikey_… manage.py run_fix_acceptor --check --comp-id PARTNER001
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--check", action="store_true", help="log on to the running acceptor once"
        )
        parser.add_argument(
            "--comp-id",
            default="PARTNER001",
            help="for --check: the CompID to log on with; default: %(default)s",
        )
        parser.add_argument(
            "--key",
            help="for --check: the API key; the environment variable FIX_KEY is safer",
        )

    def handle(self, *, check, comp_id, key, **options):
        if check:
            return self.check_acceptor(comp_id, key or os.environ.get("FIX_KEY"))
        self.serve(self.tls())
        return None

    def tls(self):
        certificate, key = settings.FIX_TLS_CERTIFICATE, settings.FIX_TLS_KEY
        if not certificate and not key:
            return None
        if not certificate or not key:
            raise CommandError(
                "Only one of FIX_TLS_CERTIFICATE and FIX_TLS_KEY is set; set both, or "
                "neither to serve without TLS."
            )
        try:
            return tls_context(certificate, key)
        except OSError as error:
            raise CommandError(
                f"FIX_TLS_CERTIFICATE={certificate}, FIX_TLS_KEY={key}: {error}. Set "
                "them to two PEM files: the chain with the server's certificate "
                "first, and its private key without a passphrase."
            ) from None

    def serve(self, context):
        # Imported here, because --help and --check need no quickfix.
        from marketdata.fix.acceptor.acceptor import Acceptor

        try:
            check_start()
        except StartRefused as refused:
            raise CommandError(f"The FIX acceptor does not start: {refused}.") from None
        return_large_blocks()
        stopping, renewed = threading.Event(), threading.Event()
        events = {signal.SIGINT: stopping, signal.SIGTERM: stopping}
        if context:
            events[signal.SIGHUP] = renewed
        # After that import, which sets its own handler for SIGINT.
        with told_by_signals(events):
            self.check_pool()
            acceptor = Acceptor(context)
            where = f"{settings.FIX_HOST} port {settings.FIX_PORT}"
            try:
                acceptor.start()
            except Error as error:
                raise CommandError(of_database(error)) from None
            except OSError as error:
                raise CommandError(
                    f"{where} cannot be used: {error.strerror or error}; stop the "
                    "program that listens there, or set another address with "
                    "FIX_HOST and FIX_PORT."
                ) from None
            collect_seldom()
            uses.aside.keep_written()
            encryption = "TLS" if context else "no TLS"
            logger.info(
                "The FIX acceptor listens on %s (%s), for %d CompIDs and %d books",
                *(where, encryption, settings.FIX_SESSIONS, len(acceptor.feed.books)),
            )
            while not stopping.wait(LOOK_SECONDS) and acceptor.is_sound:
                if renewed.is_set():
                    renewed.clear()
                    renew(acceptor)
            # QuickFIX sometimes hangs at its end, when no session is left.
            guard = threading.Timer(STOP_SECONDS, self.give_up)
            guard.daemon = True
            guard.start()
            logger.info("The FIX acceptor stops")
            acceptor.stop()
            guard.cancel()
            if not stopping.is_set():
                raise CommandError(
                    "A thread of the acceptor has failed, as logged above; all "
                    "sessions were logged out. Start it again."
                )

    def give_up(self):
        logger.error("The FIX acceptor did not stop in %.0f s", STOP_SECONDS)
        faulthandler.dump_traceback()
        os._exit(1)

    def check_pool(self):
        try:
            bound = set(FixSession.objects.values_list("comp_id", flat=True))
            [(zone,)] = fetch("SELECT market_time_zone()", [], tuple)
        except Error as error:
            raise CommandError(of_database(error)) from None
        if zone != settings.MARKET_TIME_ZONE:
            raise CommandError(
                f"MARKET_TIME_ZONE={settings.MARKET_TIME_ZONE}, but the trading days "
                f"of this database use {zone}; set MARKET_TIME_ZONE to it."
            )
        if beyond := sorted(bound - set(pool())):
            raise CommandError(
                f"FIX_SESSIONS={settings.FIX_SESSIONS}, but partners have "
                f"{', '.join(beyond[:5])}; raise FIX_SESSIONS until the pool "
                "includes them."
            )

    def check_acceptor(self, comp_id, key):
        if not key:
            raise CommandError("--check needs an API key: put it into FIX_KEY.")
        try:
            client = prober(settings.FIX_PORT, comp_id, key)
        except OSError as error:
            raise CommandError(
                f"FIX_TLS_CERTIFICATE={settings.FIX_TLS_CERTIFICATE}: {error}"
            ) from None
        try:
            with client:
                pass
        except FixFailure as failure:
            raise CommandError(explain(failure, client)) from None
        return f"{comp_id} logged on to {client.host}:{client.port} and logged out."


def renew(acceptor):
    """Use the files' present certificate for new connections."""
    certificate, key = settings.FIX_TLS_CERTIFICATE, settings.FIX_TLS_KEY
    try:
        # A new context: a context keeps a certificate for each kind of key.
        acceptor.renew(tls_context(certificate, key))
    except OSError as error:
        logger.error(
            "%s, %s: %s; the old certificate stays in use", certificate, key, error
        )
    else:
        logger.info("%s was reloaded", certificate)


def of_database(error):
    return (
        f"The database cannot be used: {str(error).splitlines()[0]}. Check that the "
        "server of DATABASE_URL answers, and run manage.py migrate."
    )
