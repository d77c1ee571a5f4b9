"""Each migration goes back and forth over data, in a database of its own."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.executor import MigrationExecutor

from accounts.accounts.models import Account
from issuers.models import Issuer, Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import HolderBalance, LedgerTransaction
from issuers.register.verification import verify
from partnerapi.operations.release import known_migrations
from tests.approved import approved_record
from tests.characters import new_world
from tests.issuers.register import people
from tests.migrating.empty import empty_database
from tests.owner import allow_tampering


@pytest.fixture
def migrated(django_db_setup: None, django_db_blocker) -> Iterator[None]:
    with empty_database(django_db_blocker):
        migrate()
        allow_tampering(connections["default"])
        yield


def test_each_migration_goes_back_and_forth_over_data(migrated: None):
    world = new_world()
    token = world.public_token
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    approved_record([Entry(token.pk, "MINT", 100, None, account)], "me")
    before = told()
    baselines = [key for key in known_migrations() if key[1].endswith("_baseline")]
    assert len(baselines) == 5
    go(baselines)
    go(MigrationExecutor(connection).loader.graph.leaf_nodes())
    # The command writes scopes that are newer than the migration of their table.
    migrate()
    assert told() == before
    with pytest.raises(IrreversibleError, match="refuse_without_baseline"):
        migrate("accounts", "zero")


def migrate(*target: str) -> None:
    call_command("migrate", *target, skip_checks=True, verbosity=0)


def go(targets: list[tuple[str, str]]) -> None:
    begun = ["before the first"]

    def note(action: str, migration=None, fake=False) -> None:
        if action.endswith("_start"):
            begun.append(f"{action} {migration}")

    executor = MigrationExecutor(connection, note)
    try:
        executor.migrate(targets)
    except Exception as error:
        raise AssertionError(begun[-1]) from error


def told() -> tuple[dict[str, int], list[str]]:
    """The rows of what the first migrations make tables for; what `verify` finds."""
    kept = (Account, Issuer, Token, LedgerTransaction, HolderBalance)
    rows = {model.__name__: model.objects.count() for model in kept}
    return rows, [str(finding) for finding in verify() if finding.breaches]
