import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.test import TransactionTestCase
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts.apps import load_countries, open_cash_accounts, write_policies
from accounts.people.models import User, UserManager
from partnerapi.gateway import authentication
from partnerapi.sandbox.data import approvals
from partnerapi.staff.authentication.passwords import PBKDF2PasswordHasher
from tests import sampling, tiers
from tests.owner import appoint, as_owner, tamper
from tests.system import System, free_port, remove_servers, system
from tests.threads import patient_locks
from tests.waiting import PATIENCE_SECONDS

pytest_plugins = ["tests.characters", "tests.databases"]

# The time of an example depends on the machine.
hypothesis.settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine")

WRITTEN_BY_MIGRATE = {
    "django_content_type", "auth_permission", "auth_group", "auth_group_permissions",
    "accounts_keyscope", "issuers_entrykind",
}  # fmt: skip
"""What `migrate` writes into these at its end no test changes for good."""


MANY_BYTES = 1_000_000
"""From this size on a table is sooner emptied by TRUNCATE, which takes a quarter of a
second for all of them however little they hold."""
SIZE = "SELECT '{0}', pg_relation_size('{0}') WHERE EXISTS (SELECT FROM {0})"


def flush_as_owner(case: TransactionTestCase) -> None:
    """Empty the tables; Django would empty and fill these four each time, too."""
    # Their owner may do what no one else can: empty the register.
    with as_owner(), transaction.atomic(), connection.cursor() as cursor:
        tables = connection.introspection.django_table_names(
            only_existing=True, include_views=False
        )
        emptied = sorted({*tables} - WRITTEN_BY_MIGRATE)
        # Whoever still writes has ended then.
        cursor.execute(f"LOCK TABLE {', '.join(emptied)} IN ACCESS EXCLUSIVE MODE")
        cursor.execute(" UNION ALL ".join(map(SIZE.format, emptied)))
        sizes = dict(cursor.fetchall())
        if max(sizes.values(), default=0) > MANY_BYTES:
            cursor.execute(f"TRUNCATE {', '.join(emptied)}")
        else:
            cursor.execute(";".join(f"DELETE FROM {table}" for table in sizes))
        for fill in (load_countries, write_policies, open_cash_accounts):
            fill(using=connection.alias)


TransactionTestCase._fixture_teardown = flush_as_owner


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Digest passwords in microseconds: no one guesses a test's passwords."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PBKDF2PasswordHasher, "iterations", 10)
        yield


@pytest.fixture(scope="session", autouse=True)
def static_files_are_found_once() -> Iterator[None]:
    """Each test's client would look for all of them again: 12 ms."""
    found: dict[str, Any] = {}
    find = WhiteNoiseMiddleware.add_files_from_finders

    def find_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            find(middleware)
            found.update(middleware.files)
        middleware.files |= found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def owner_within_the_test() -> Iterator[None]:
    """A connection of the owner's would not see what a test has not committed."""
    appointed = UserManager.appoint

    def appoint_within(users: UserManager, user: User) -> None:
        if users.db == DEFAULT_DB_ALIAS:
            appoint(user)
        else:
            appointed(users, user)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approvals, "owner_alias", lambda: DEFAULT_DB_ALIAS)
        patch.setattr(UserManager, "appoint", appoint_within)
        yield


@pytest.fixture(scope="session", autouse=True)
def patient_connections() -> Iterator[None]:
    """Threads connect however long that takes.

    Fifty that begin at once take more than the two seconds of production.
    """
    with pytest.MonkeyPatch.context() as patch:
        for one in connections.all():
            options = one.settings_dict["OPTIONS"]
            patch.setitem(options, "connect_timeout", round(PATIENCE_SECONDS))
        yield


@pytest.fixture(scope="session", autouse=True)
def patient_keys() -> Iterator[None]:
    """A key is not read again between two requests whose statements are counted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(authentication, "CACHE_SECONDS", PATIENCE_SECONDS)
        yield


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The directory of real data: listed companies, classification, books."""
    named = os.environ.get("PARTNER_API_TEST_DATA")
    directory = Path(named or settings.BASE_DIR.parent / "shared" / "data")
    if not directory.is_dir():
        pytest.skip(f"no data in {directory}: set PARTNER_API_TEST_DATA to where it is")
    return directory


@pytest.fixture(name="patient_locks")
def wait_for_locks() -> Iterator[None]:
    with patient_locks():
        yield


@pytest.fixture
def one_person(db: None) -> Iterator[None]:
    """Nothing needs a second person, as the owner of the tables may have it.

    For tests of many writers: what they enter follows on what others enter.
    """
    tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
    yield
    tamper("UPDATE accounts_approvalpolicy SET is_required = TRUE")


@pytest.fixture
def keeps_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name it before `transactional_db`: the test removes its rows itself.

    Django would empty every table, of the countries that migrations bring, too.
    """
    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: None)


@pytest.fixture(scope="session")
def running_system() -> Iterator[System]:
    """The real system, seeded, in a directory that every user can reach."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        directory = Path(parent) / "state"
        with system(directory, free_port()) as running:
            yield running
        remove_servers(directory)


@pytest.fixture(scope="session")
def running_server(running_system: System) -> dict:
    """As `manage.py up --json` describes the running system."""
    return running_system.described


@pytest.fixture(scope="session")
def cookies_of_staff() -> list[Any]:
    """Of a browser in which staff of the running system signed in, once one has."""
    return []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long runs, too")


def pytest_configure(config: pytest.Config) -> None:
    tiers.with_long = config.option.long


def pytest_report_header() -> str:
    return f"samples of {sampling.seed()}: repeat them with {sampling.VARIABLE}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of `-m fast`, files are not even loaded that have no such test."""
    if config.option.markexpr != "fast" or collection_path.is_dir():
        return None
    return None if tiers.is_fast(seen_from_root(collection_path)) else True


def seen_from_root(path: Path) -> str:
    return str(path.relative_to(settings.BASE_DIR))


def leave_out_long_runs(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those stay whose file the command names."""
    named = {
        path
        for argument in config.args
        if (path := (config.invocation_params.dir / argument.split("::")[0])).is_file()
    }
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        is_out = tiers.is_left_out(item.nodeid) and item.path not in named
        (left_out if is_out else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def is_short(item: pytest.Item) -> bool:
    directories = item.path.relative_to(settings.BASE_DIR / "tests").parent.parts
    return not {"chaos", "commands", "pages"} & {*directories}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # What is loaded and collected stays to the end: no one looks there for garbage.
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config,
    items: list[pytest.Item],
) -> Generator[None, object, object]:
    # One of xdist's workers runs a file, which sets up once what its tests share, and
    # all files whose tests ask the running system.
    for item in items:
        if tiers.is_fast(item.nodeid):
            item.add_marker("fast")
        if tiers.is_long(item.nodeid):
            item.add_marker("long")
        asks = "running_system" in getattr(item, "fixturenames", ())
        if item.get_closest_marker("xdist_group") is None:
            name = "running_system" if asks else item.nodeid.split("::")[0]
            item.add_marker(pytest.mark.xdist_group(name))
    if not config.option.long:
        leave_out_long_runs(config, items)
    result = yield
    # Long tests first: at the end, one worker would go on where others have no more.
    items.sort(key=is_short)
    return result
