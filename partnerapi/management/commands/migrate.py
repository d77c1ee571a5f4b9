from django.conf import settings
from django.core.management.commands.migrate import Command as MigrateCommand

from partnerapi.core.owner import NO_OWNER, as_owner


class Command(MigrateCommand):
    """Django's, as the owner of the tables."""

    def handle(self, *arguments, **options):
        if options["verbosity"] and not settings.DATABASE_OWNER_URL:
            self.stderr.write(NO_OWNER)
        options["database"] = as_owner(options["database"])
        return super().handle(*arguments, **options)
