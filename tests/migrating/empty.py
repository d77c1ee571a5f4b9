"""An empty database, of the owner, for migrations."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from partnerapi.core.owner import OWNER
from tests.owner import credentials


@contextmanager
def empty_database(django_db_blocker) -> Iterator[str]:
    """The usual connection is the owner's, to a database that was just made.

    Yields its name.
    """
    usual = connections["default"]
    name = f"migrated_{uuid.uuid4().hex}"
    with django_db_blocker.unblock():
        usual.close()
        own = usual.copy()
        if OWNER in connections.settings:
            own.settings_dict |= credentials(OWNER)
        maker = own.copy()
        with maker._nodb_cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}"')
        own.settings_dict["NAME"] = name
        connections["default"] = own
        try:
            yield name
        finally:
            own.close()
            connections["default"] = usual
            with maker._nodb_cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
