import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from partnerapi import migrations
from partnerapi.core.commands import INSTALLATION
from partnerapi.core.migrating import (
    LOCK_SECONDS,
    StillLocked,
    again_while_locked,
    waiting,
)
from partnerapi.core.owner import NO_OWNER, as_owner
from partnerapi.core.sql_files import ROOMS

BASELINE = Path(migrations.__file__).with_name("baseline.sql")
NO_TABLES = ("fake", "plan", "check_unapplied", "prune")
"""Options with which `migrate` makes no tables."""
HOLD = "SELECT pg_advisory_lock(hashtextextended('migrations', 0))"
RELEASE = "SELECT pg_advisory_unlock(hashtextextended('migrations', 0))"
OLDEST_RELEASE = "b5e26fa"
"""The commit whose migrations the baselines replace: the oldest to upgrade from."""


def refuse_older_release(connection: BaseDatabaseWrapper) -> None:
    """Refuse an installation whose migrations end before the baselines do.

    Raises:
        CommandError
    """
    applied = {*MigrationRecorder(connection).applied_migrations()}
    migrations = MigrationLoader(connection, load=False)
    migrations.load_disk()
    lacking = {
        replaced
        for migration in migrations.disk_migrations.values()
        for replaced in migration.replaces
    } - applied
    ours = {app for app, _ in lacking}
    if lacking and any(app in ours for app, _ in applied):
        raise CommandError(
            f"This database is older than release {OLDEST_RELEASE}, the oldest to "
            f"upgrade from. Run `migrate` of {OLDEST_RELEASE} first, then of this "
            "release."
        )


@contextmanager
def alone(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Keep other `migrate`s waiting; their `lock_timeout` ends the wait."""
    with connection.cursor() as cursor:
        cursor.execute(HOLD)
    try:
        yield
    finally:
        # The lock also ends with the session, which a failed migration may have ended.
        if connection.connection is not None and not connection.in_atomic_block:
            with connection.cursor() as cursor:
                cursor.execute(RELEASE)


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
            connection = connections[options["database"]]
            with (
                keeping_garbage(),
                waiting(connection, LOCK_SECONDS),
                alone(connection),
            ):
                if not any(options[name] for name in NO_TABLES):
                    self.install_baseline(options)
                refuse_older_release(connection)
                return MigrateCommand.handle(self, *arguments, **options)

        def report(text):
            self.stderr.write(f"{text}: the table is in use; trying again")

        try:
            return again_while_locked(migrate, report)
        except StillLocked as error:
            raise CommandError(
                f"{error}: another session locks the table; pg_locks shows it. "
                "Completed migrations are kept: run this again for the rest."
            ) from None

    def install_baseline(self, options):
        """Make what the first migrations make, if the database has no tables yet.

        Raises:
            CommandError: Django's tables are there without ours.
        """
        connection = connections[options["database"]]
        recorder = MigrationRecorder(connection)
        if recorder.has_table():
            if not {app for app, _ in recorder.applied_migrations()} & {*ROOMS}:
                raise CommandError(
                    "This database has the table django_migrations, but none of this "
                    "platform's migrations. Start with an empty database."
                )
            return
        if options["verbosity"]:
            self.stdout.write("Tables of the baseline", ending="")
            self.stdout.flush()
        # The zone of an installation stays when the setting changes, as its days do.
        statements = BASELINE.read_text().replace(
            "'MARKET_TIME_ZONE'", f"'{settings.MARKET_TIME_ZONE}'"
        )
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            cursor.execute(statements)
        if options["verbosity"]:
            self.stdout.write(self.style.SUCCESS(" OK"))
