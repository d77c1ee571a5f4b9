from django.core.management.base import BaseCommand

from issuers.models import announce_articles


class Command(BaseCommand):
    help = """Tell partners of the articles whose time of publication has come.

Partners see an article from its time on; this adds the event of it. Celery's beat has
this done every minute; by hand it may run at any time, beside itself.

example:
  manage.py run articles
"""

    def handle(self, **options):
        announced = announce_articles()
        return f"{announced} articles were announced."
