import gc
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from accounts.key_uses import uses
from partnerapi.core.postgresql.lending import lend

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")

application = get_wsgi_application()
lend(settings.PARTNER_API_DATABASE_CONNECTIONS, settings.PARTNER_API_MAX_SECONDS)
uses.keep_written()

# What is loaded by now stays for the life of the process: the collector need not look
# at it again, nor often at the objects of answers: a large one has a million of them,
# and they hold no cycles. Documents do; so what is old is looked at before long, too.
gc.collect()
gc.freeze()
gc.set_threshold(100_000, 2, 2)
