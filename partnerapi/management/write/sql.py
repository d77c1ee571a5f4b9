import re
from pathlib import Path

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.database import unshadowed_cursor
from partnerapi.core.sql_files import sql_files
from partnerapi.core.sql_objects import SqlObject, installed_objects
from partnerapi.operations.release import unapplied_migrations
from partnerapi.operations.sql_migrations import Change, NotByFile, changes, migration

NAME = re.compile(r"[a-z][a-z0-9_]*")


class Command(CommandWithExamples):
    help = """Write the migrations that install the SQL files.

It compares */sql/ with the functions, triggers and views of a database that has all
migrations and nothing else, such as that of a sandbox. A migration contains both
texts: forward that of the files, backward that of the database.

examples:
  manage.py write sql --name keep_cancelled_orders
  manage.py write sql --check
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--name", metavar="NAME", help="name of the migrations, such as keep_orders"
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing; fail if the files differ from the database",
        )

    def handle(self, *, name, check, **options):
        if not (check or name):
            raise CommandError("Name the migrations with --name NAME.")
        if name and not NAME.fullmatch(name):
            raise CommandError(
                f"--name {name}: use lower-case letters, digits and underscores, such "
                "as keep_orders."
            )
        if missing := unapplied_migrations():
            raise CommandError(
                f"The database lacks {', '.join(missing)}; run manage.py migrate."
            )
        written: list[str] = []
        leaves: list[tuple[str, str]] = []
        for label, changed in self.find_changes().items():
            for before, after in changed:
                self.stdout.write(f"{label}: {(after or before).key}")
            if check or not changed:
                continue
            path, dependencies = next_migration(label, name)
            path.write_text(migration(name, [*dependencies, *leaves], changed))
            leaves.append((label, path.stem))
            written.append(str(path))
        if check and any(self.find_changes().values()):
            raise CommandError(
                "The files differ from the database: run manage.py write sql."
            )
        return f"Wrote {', '.join(written)}." if written else "Nothing has changed."

    def find_changes(self) -> dict[str, list[Change]]:
        """What differs, by the label of the app whose files say or said it."""
        with unshadowed_cursor() as cursor:
            found = {one.key: one for one in installed_objects(cursor)}
        wanted: dict[str, dict[str, SqlObject]] = {
            label: {one.key: one for file in files for one in file.objects()}
            for label, files in sql_files().items()
        }
        said = {key for objects in wanted.values() for key in objects}
        try:
            by_label = {
                label: changes(
                    {key: one for key, one in found.items() if key in objects}, objects
                )
                for label, objects in wanted.items()
            }
        except NotByFile as error:
            raise CommandError(str(error)) from None
        # What no file says goes last: other apps' triggers may call it until then.
        last = list(by_label)[-1]
        by_label[last] += [(one, None) for key, one in found.items() if key not in said]
        return by_label


def next_migration(label: str, name: str) -> tuple[Path, list[tuple[str, str]]]:
    """Where an app's next migration is written, and the migration that it follows."""
    loader = MigrationLoader(connection)
    [leaf] = loader.graph.leaf_nodes(label)
    directory = Path(apps.get_app_config(label).path, "migrations")
    number = int(leaf[1][:4]) + 1
    return directory / f"{number:04d}_{name}.py", [leaf]
