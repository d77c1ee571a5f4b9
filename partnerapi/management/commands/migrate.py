import gc
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections

from partnerapi.core.commands import INSTALLATION
from partnerapi.core.migrating import (
    LOCK_SECONDS,
    StillLocked,
    again_while_locked,
    waiting,
)
from partnerapi.core.owner import NO_OWNER, as_owner


@contextmanager
def keeping_garbage() -> Iterator[None]:
    """Look for no garbage: 2 MB a migration, instead of a third of its time.

    Each operation makes most models anew, and these name each other in circles.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Command(MigrateCommand):
    """Django's, as the owner of the tables, who waits for locks only briefly."""

    def check(self, *arguments, **options):
        """As other commands do: all checks, of every address, load every page."""
        tags = [INSTALLATION, Tags.database]
        return super().check(*arguments, tags=tags, **options)

    def handle(self, *arguments, **options):
        if options["verbosity"] and not settings.DATABASE_OWNER_URL:
            self.stderr.write(NO_OWNER)
        options["database"] = as_owner(options["database"])

        def migrate():
            with (
                keeping_garbage(),
                waiting(connections[options["database"]], LOCK_SECONDS),
            ):
                return MigrateCommand.handle(self, *arguments, **options)

        def told(text):
            self.stderr.write(f"{text}: others use the table; this is tried again")

        try:
            return again_while_locked(migrate, told)
        except StillLocked as error:
            raise CommandError(
                f"{error}: others hold the table; pg_locks says who. What is done is "
                "done: run this again for the rest."
            ) from None
