import atexit
import gc
import os
import sys
from time import monotonic

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application
from django.urls import resolve

from partnerapi.gateway.entrance import GRAPHQL, Application, graphql_first

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")

NOT_TO_BE_STARTED = 3
"""With this exit code of a worker gunicorn's master ends, too, and starts no other."""
START_SECONDS = 10

gc.disable()
try:
    application: Application = get_wsgi_application()
    if settings.PARTNER_API_SERVES != "admin":
        application = graphql_first(resolve(GRAPHQL).func, application)
    # They read settings, which may be wrong.
    from accounts.keys.uses import uses
    from marketdata.trading.refused import refused_orders
    from partnerapi.core.postgresql.lending import lend, until
    from partnerapi.core.starting import StartRefused, check_start
    from partnerapi.gateway.counts import counts
    from partnerapi.gateway.recent import recent
except ImproperlyConfigured as refused:
    sys.stderr.write(f"The web server does not start: {refused}.\n")
    sys.exit(NOT_TO_BE_STARTED)
try:
    lender = lend(
        settings.PARTNER_API_DATABASE_CONNECTIONS, settings.DATABASE_OF_REQUESTS
    )
    with until(monotonic() + START_SECONDS):
        check_start()
    lender.close_kept()
except StartRefused as refused:
    sys.stderr.write(f"The web server does not start: {refused}.\n")
    sys.exit(NOT_TO_BE_STARTED)
uses.aside.keep_written()
recent.aside.keep_written()
counts.aside.keep_written()
refused_orders.aside.keep_written()
# It is a record: what a process has answered last is in it, too.
atexit.register(refused_orders.write_or_wait)

# What is loaded by now stays for the life of the process: the collector need not look
# at it again, nor often at the objects of answers, which hold no cycles. Documents do:
# those that leave their cache are freed before they are many.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 2, 2)
gc.enable()
