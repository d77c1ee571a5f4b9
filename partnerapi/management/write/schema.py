import os
import sys

from django.core.management.base import CommandError
from django.utils import timezone
from graphql import GraphQLSyntaxError, build_schema, print_schema

from partnerapi.core.commands import CommandWithExamples
from partnerapi.sandbox.schema import sdl
from partnerapi.schema import schema
from partnerapi.site.pages import SANDBOX_SDL_FILE, SDL_FILE
from partnerapi.site.released import RELEASED_FILE, find_breaks, strip_descriptions


class Command(CommandWithExamples):
    help = """Write the GraphQL schema to partnerapi/schema.graphql, which is committed.

The file is served at /schema.graphql and compared in the tests. What only a sandbox has
is written to partnerapi/sandbox/schema.graphql. The command writes the file itself: a
shell redirection (> FILE) would empty it first. A change that breaks clients of the
last release is refused. For a release, --release also writes the schema to
partnerapi/released.graphql; --breaking does so even if it breaks clients.

examples:
  manage.py write schema
  manage.py write schema --dry-run
  manage.py write schema --check
  manage.py write schema --release
  manage.py write schema --breaking
"""
    # It needs no database: the schema is that of the code.
    requires_system_checks = []

    def add_arguments(self, parser):
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            "--check",
            action="store_true",
            help="write nothing; fail if the file differs from the schema",
        )
        mode.add_argument(
            "--dry-run",
            action="store_true",
            help="write the schema to standard output instead",
        )
        mode.add_argument(
            "--release",
            action="store_true",
            help="also record it as the schema of this release",
        )
        mode.add_argument(
            "--breaking",
            action="store_true",
            help="record it even if it breaks clients, after their owners were "
            "informed",
        )

    def handle(self, *, check, dry_run, release, breaking, **options):
        text = print_schema(schema) + "\n"
        if dry_run:
            return text
        sandbox = sdl()
        if check and SANDBOX_SDL_FILE.read_text() != sandbox:
            raise CommandError(
                "partnerapi/sandbox/schema.graphql differs from the mutations in the "
                "code; run manage.py write schema and commit the file."
            )
        if is_standard_output(SDL_FILE):
            raise CommandError(
                f"Standard output is {SDL_FILE.name} itself; the shell may have "
                f"emptied it. Run `git restore partnerapi/{SDL_FILE.name}`, then "
                "manage.py write schema without a redirection: it writes the file."
            )
        is_committed = SDL_FILE.read_text() == text
        if check and not is_committed:
            raise CommandError(
                f"{SDL_FILE.name} differs from the schema in the code; run manage.py "
                "write schema and commit the file."
            )
        changes = breaking_changes(text)
        if changes and not breaking:
            raise CommandError(
                "\n".join([*changes, "Deprecate it first, or acknowledge: --breaking"])
            )
        if release or breaking:
            RELEASED_FILE.write_text(strip_descriptions(text))
        if not is_committed:
            SDL_FILE.write_text(text)
        if not check:
            SANDBOX_SDL_FILE.write_text(sandbox)
        said = "{} is the schema" if is_committed else "Wrote {}"
        lines = len(text.splitlines())
        return "\n".join([f"{said.format(SDL_FILE.name)}, {lines} lines.", *changes])


def breaking_changes(text):
    """What clients of the last release would miss, a line each."""
    today = timezone.now().date()
    try:
        changes = [*find_breaks(RELEASED_FILE.read_text(), build_schema(text), today)]
    except (GraphQLSyntaxError, TypeError) as error:
        # An empty file, or one with the marks of a merge.
        return [
            f"{RELEASED_FILE.name} is not a valid schema and cannot be compared: "
            f"{str(error).splitlines()[0]} Restore the committed one first."
        ]
    return [f"Breaks clients: {change}" for change in changes]


def is_standard_output(path):
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), path.stat())
    except OSError:
        # It is no file at all, as under pytest.
        return False
