from django.core.management.base import CommandError
from graphql import build_schema, find_breaking_changes, print_schema

from partnerapi.core.commands import CommandWithExamples
from partnerapi.schema import schema
from partnerapi.site.pages import SDL_FILE


class Command(CommandWithExamples):
    help = """Write the GraphQL schema to partnerapi/schema.graphql, which is committed.

The file is served at /schema.graphql and compared in the tests. A change that breaks
partners' clients is refused, unless --breaking acknowledges it.

examples:
  manage.py print_schema
  manage.py print_schema --dry-run
  manage.py print_schema --check
  manage.py print_schema --breaking
"""

    def add_arguments(self, parser):
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            "--check",
            action="store_true",
            help="write nothing; fail where the file is not the schema",
        )
        mode.add_argument(
            "--dry-run",
            action="store_true",
            help="write the schema to standard output instead",
        )

        mode.add_argument(
            "--breaking",
            action="store_true",
            help="write it although it breaks clients, which have been told",
        )

    def handle(self, *, check, dry_run, breaking, **options):
        text = print_schema(schema) + "\n"
        if dry_run:
            return text
        committed = SDL_FILE.read_text()
        if committed == text:
            return f"{SDL_FILE.name} is the schema, {len(text.splitlines())} lines."
        if check:
            raise CommandError(
                f"{SDL_FILE.name} is not the schema that the code describes; "
                "run manage.py print_schema and commit the file."
            )
        changes = [
            f"Breaks clients: {change.description}"
            for change in find_breaking_changes(
                build_schema(committed), build_schema(text)
            )
        ]
        if changes and not breaking:
            raise CommandError(
                "\n".join([*changes, "Deprecate it first, or acknowledge: --breaking"])
            )
        SDL_FILE.write_text(text)
        wrote = f"Wrote {SDL_FILE.name}, {len(text.splitlines())} lines."
        return "\n".join([wrote, *changes])
