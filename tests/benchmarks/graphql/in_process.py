"""The product without a server: Django is set up, and nothing of a web process runs."""

from django.core.wsgi import get_wsgi_application

product = get_wsgi_application()
