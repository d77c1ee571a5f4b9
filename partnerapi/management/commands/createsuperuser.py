from django.contrib.auth.management.commands.createsuperuser import (
    Command as CreateSuperuserCommand,
)

from partnerapi.core.owner import as_owner


class Command(CreateSuperuserCommand):
    """Django's, as the owner of the tables: nobody else makes a superuser."""

    def handle(self, *arguments, **options):
        options["database"] = as_owner(options["database"])
        return super().handle(*arguments, **options)
