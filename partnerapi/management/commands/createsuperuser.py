import getpass

from django.contrib.auth.management.commands.createsuperuser import (
    Command as CreateSuperuserCommand,
)

from partnerapi.core.authors import written_by
from partnerapi.core.owner import as_owner


class Command(CreateSuperuserCommand):
    """Django's, as the owner of the tables: no other role makes a superuser.

    The first two decide requests at once, a later one after 24 hours.
    """

    def handle(self, *arguments, **options):
        options["database"] = as_owner(options["database"])
        who = f"operator {getpass.getuser()}"
        with written_by(who, "command createsuperuser", using=options["database"]):
            return super().handle(*arguments, **options)
