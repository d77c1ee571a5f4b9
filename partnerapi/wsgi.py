import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")

application = get_wsgi_application()

# What is loaded by now stays for the life of the process: the collector need not look
# at it again, nor often at the objects of answers: a large one has a million of them,
# and they hold no cycles. Documents do; so what is old is looked at before long, too.
gc.collect()
gc.freeze()
gc.set_threshold(100_000, 2, 2)
