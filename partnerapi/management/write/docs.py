from django.conf import settings
from django.core.management.base import CommandError

from partnerapi.core.commands import CommandWithExamples
from partnerapi.site import docs
from partnerapi.site.docs_tables import TABLES, fill_tables

LOCKS = settings.BASE_DIR / "partnerapi/core/locks.md"


class Command(CommandWithExamples):
    help = """Write the generated tables of templates/docs.

Settings, limits, errors, scopes and commands have such tables, and so have locks, in
partnerapi/core/locks.md. The rest of a document stays as it is.

examples:
  manage.py write docs
  manage.py write docs --check
"""
    # It needs no database: the tables are those of the code.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing; fail if a table differs from the code",
        )

    def handle(self, *, check, **options):
        changed = []
        for path in (*sorted(docs.DIRECTORY.glob("*.md")), LOCKS):
            before = path.read_text()
            try:
                after = fill_tables(before)
            except KeyError as error:
                raise CommandError(
                    f"{path.name}: there is no generated table {error}; the tables "
                    f"are {', '.join(TABLES)}."
                ) from None
            if after != before:
                changed.append(path.name)
                if not check:
                    path.write_text(after)
        if check and changed:
            raise CommandError(
                f"{', '.join(changed)}: different from the code; run manage.py write "
                "docs and commit the files."
            )
        return f"Wrote {', '.join(changed)}." if changed else "Nothing has changed."
