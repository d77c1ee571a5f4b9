import os
import sys

from django.core.management.base import CommandError
from graphql import (
    GraphQLSyntaxError,
    build_schema,
    find_breaking_changes,
    print_schema,
)

from partnerapi.core.commands import CommandWithExamples
from partnerapi.schema import schema
from partnerapi.site.pages import SDL_FILE


class Command(CommandWithExamples):
    help = """Write the GraphQL schema to partnerapi/schema.graphql, which is committed.

The file is served at /schema.graphql and compared in the tests. The command writes it
itself: a shell that is told to (> FILE) would empty it first. A change that breaks
partners' clients is refused, unless --breaking acknowledges it.

examples:
  manage.py print_schema
  manage.py print_schema --dry-run
  manage.py print_schema --check
  manage.py print_schema --breaking
"""
    # It needs no database: the schema is that of the code.
    requires_system_checks = []

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
        if is_standard_output(SDL_FILE):
            raise CommandError(
                f"Standard output is {SDL_FILE.name} itself, and the shell may have "
                f"emptied it. Run `git restore partnerapi/{SDL_FILE.name}`, then "
                "manage.py print_schema without a redirection: it writes the file."
            )
        committed = SDL_FILE.read_text()
        if committed == text:
            return f"{SDL_FILE.name} is the schema, {len(text.splitlines())} lines."
        if check:
            raise CommandError(
                f"{SDL_FILE.name} is not the schema that the code describes; "
                "run manage.py print_schema and commit the file."
            )
        changes = breaking_changes(committed, text)
        if changes and not breaking:
            raise CommandError(
                "\n".join([*changes, "Deprecate it first, or acknowledge: --breaking"])
            )
        SDL_FILE.write_text(text)
        wrote = f"Wrote {SDL_FILE.name}, {len(text.splitlines())} lines."
        return "\n".join([wrote, *changes])


def breaking_changes(committed, text):
    """What clients of the committed schema would miss, a line each."""
    try:
        before = build_schema(committed)
    except (GraphQLSyntaxError, TypeError) as error:
        # An empty file, or one with the marks of a merge.
        return [
            f"{SDL_FILE.name} is no schema, and nothing can be compared with it: "
            f"{str(error).splitlines()[0]} Restore the committed one first."
        ]
    return [
        f"Breaks clients: {change.description}"
        for change in find_breaking_changes(before, build_schema(text))
    ]


def is_standard_output(path):
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), path.stat())
    except OSError:
        # It is no file at all, as under pytest.
        return False
