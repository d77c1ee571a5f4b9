from django.core.management.base import BaseCommand

from issuers.models import announce_articles


class Command(BaseCommand):
    help = """Publish due articles.

Partners see an article from its publication time; this adds the event. Celery beat runs
this every minute; it can also be run manually at any time.

example:
  manage.py run articles
"""

    def handle(self, **options):
        announced = announce_articles()
        return f"Published {announced} articles."
