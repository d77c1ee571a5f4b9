import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")

application = get_wsgi_application()

# What is loaded by now stays for the life of the process: the collector need not look
# at it again, nor at each answer's few thousand objects, which hold no cycles.
gc.collect()
gc.freeze()
gc.set_threshold(20_000)
