from django.conf import settings
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.owner import NO_OWNER, owner_alias
from partnerapi.core.roles import (
    Role,
    RoleRefused,
    session_statements,
    statements,
)


class Command(CommandWithExamples):
    help = """Print or run the SQL that grants a role exactly its rights.

The role is that of DATABASE_URL, which serves requests: it can append to the register
and to the logs, but not change them. The owner of the tables (DATABASE_OWNER_URL)
grants the rights after every `migrate`. Behind a pooler (DATABASE_DIRECT_URL) the
role also gets the limits of a session, which it sets itself. Readers and backups have
separate roles.

examples:
  manage.py grant_application_role partnerapi_application
  manage.py grant_application_role partnerapi_application --apply
  manage.py grant_application_role partnerapi_application --apply --keep-release-before
  manage.py grant_application_role analyst --as read-only --apply
  manage.py grant_application_role dump --as backup --apply
"""

    def add_arguments(self, parser):
        parser.add_argument("role", metavar="ROLE", help="name of a database role")
        parser.add_argument(
            "--as",
            dest="kind",
            type=Role,
            choices=list(Role),
            default=Role.APPLICATION,
            help="purpose of the role (application)",
        )
        parser.add_argument(
            "--apply", action="store_true", help="run the SQL, in one transaction"
        )
        parser.add_argument(
            "--keep-release-before",
            action="store_true",
            help="keep the rights of the release before, while it still serves",
        )

    def handle(self, *, role, kind, apply, keep_release_before, **options):
        if not settings.DATABASE_OWNER_URL:
            self.stderr.write(NO_OWNER)
        alias = owner_alias()
        try:
            granted = [*statements(connections[alias], kind, role, keep_release_before)]
        except RoleRefused as error:
            raise CommandError(str(error)) from None
        session = []
        if settings.IS_POOLED and kind is Role.APPLICATION:
            session = settings.SESSION_OF_REQUESTS
            session = [*session_statements(connections[alias], role, session)]
        if not apply:
            return "".join(f"{statement};\n" for statement in [*granted, *session])
        run(alias, granted)
        # The owner of the tables may rule over no other role.
        run(DEFAULT_DB_ALIAS, session)
        return f"{role} has exactly the rights of {kind}."


def run(alias: str, statements: list[str]) -> None:
    with transaction.atomic(alias), connections[alias].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
