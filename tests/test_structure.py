"""Which room may know which: imports and foreign keys go one way, and nothing circles.

Every import counts, those in functions and those for type checkers, too.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

# A room may import itself and the rooms before it. A room's own modules come after the
# rooms inside it: `issuers` is its schema, its admin, its commands.
ORDER = [
    "partnerapi.variables",
    "partnerapi.settings",
    "partnerapi.command_line",
    "partnerapi.core",
    "partnerapi.celery",
    "partnerapi.graphql",
    "accounts.access",
    "accounts.totals",
    "accounts.people",
    "accounts.passkeys",
    "accounts.approvals",
    "accounts.history",
    "accounts.keys",
    "accounts.desk",
    "accounts.accounts.models",
    "accounts.accounts.filters",
    "accounts.accounts.schema",
    "accounts.applicants",
    "accounts.accounts",
    "accounts.investors",
    "accounts.cash.models",
    "accounts.payments",
    "accounts.cash",
    "accounts",
    "issuers.models",
    "issuers.register",
    "issuers.compliance",
    "issuers.legacy",
    "issuers.imports",
    "issuers.exports",
    "issuers.ocf",
    "issuers",
    "marketdata.models",
    "marketdata.books",
    "marketdata.trading",
    "marketdata.replay",
    "marketdata.fix.protocol",
    "marketdata.fix.client",
    "marketdata.fix.conformance",
    "marketdata.fix.acceptor",
    "marketdata.fix",
    "marketdata",
    "partnerapi.operations.models",
    "partnerapi.gateway",
    "partnerapi.exports",
    "partnerapi.webhooks",
    "partnerapi.desk",
    "partnerapi.staff.lookup",
    "partnerapi.staff.charts",
    "partnerapi.staff.picking",
    "partnerapi.staff.authentication",
    "partnerapi.staff.log",
    "partnerapi.staff.approvals",
    "partnerapi.staff.register",
    "partnerapi.staff.market",
    "partnerapi.staff.people",
    "partnerapi.staff",
    "partnerapi.schema",
    "partnerapi.sandbox",
    "partnerapi.site",
    "partnerapi.operations",
    "partnerapi",
]
SPEAKS_GRAPHQL = (
    "partnerapi.graphql",
    "partnerapi.gateway",
    "partnerapi.exports.rows",
    "partnerapi.exports.schema",
    "partnerapi.webhooks.schema",
    "partnerapi.sandbox.schema",
    "partnerapi.sandbox.schema_conformance",
    "partnerapi.schema",
    "partnerapi.site",
    "partnerapi.management.write.schema",
    "accounts.accounts.schema",
    "accounts.applicants.schema",
    "accounts.cash.schema",
    "accounts.keys.schema",
    "accounts.people.schema",
    "issuers.schema",
    "marketdata.schema",
    "marketdata.trading.schema",
)
GRAPHQL = ("graphene", "graphene_django", "graphql", "partnerapi.graphql")
TOP_LEVEL = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "accounts",
    "issuers",
    "manage.py",
    "marketdata",
    "partnerapi",
    "pyproject.toml",
    "templates",
    "tests",
}


def lies_in(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def room_of(module: str) -> str:
    """The innermost room of ORDER that contains one of our modules."""
    return max((room for room in ORDER if lies_in(module, (room,))), key=len)


@cache
def modules() -> dict[str, Path]:
    found = {}
    for directory in ("partnerapi", "accounts", "issuers", "marketdata"):
        for path in sorted((settings.BASE_DIR / directory).rglob("*.py")):
            relative = path.relative_to(settings.BASE_DIR).with_suffix("")
            found[".".join(relative.parts).removesuffix(".__init__")] = path
    return found


def names_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imports() -> dict[str, set[str]]:
    """For each of our modules, the modules that it imports, ours and others."""
    return {
        module: {
            name if name in modules() else name.rpartition(".")[0] or name
            for name in names_imported(path)
        }
        for module, path in modules().items()
    }


def ours(module: str) -> set[str]:
    return {name for name in imports()[module] if name in modules()} - {module}


WRITERS = {
    "issuers.register.writer.Writer": {
        "issuers.offerings.allotting",
        "issuers.register.ledger",
        "marketdata.books.log",
        "marketdata.trading.busts",
        "marketdata.trading.locked",
        "marketdata.trading.market",
        "marketdata.trading.round",
    },
}
"""Importers allowed for modules that write the register, cash and the books' logs."""


def test_only_these_write():
    found = {
        name: {
            module for module, path in modules().items() if name in names_imported(path)
        }
        for name in WRITERS
    }
    assert found == WRITERS


def circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle of the graph; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_imports_go_one_way():
    wrong = [
        f"{module} imports {name}"
        for module in modules()
        for name in sorted(ours(module))
        if ORDER.index(room_of(name)) > ORDER.index(room_of(module))
    ]
    assert wrong == []


def test_no_files_import_each_other_in_a_circle():
    assert circle({module: ours(module) for module in modules()}) == []


def test_no_rooms_import_each_other_in_a_circle():
    graph = defaultdict(set)
    for module in modules():
        graph[room_of(module)] |= {room_of(name) for name in ours(module)}
    for room in graph:
        graph[room].discard(room)
    assert circle(graph) == []


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert set(circle(graph)) == {"a", "b", "c"}
    assert circle({"a": {"b"}, "b": {"c"}}) == []


def test_only_schemas_and_what_serves_them_speak_graphql():
    wrong = {
        module: spoken
        for module in modules()
        if not lies_in(module, SPEAKS_GRAPHQL)
        and (spoken := {name for name in imports()[module] if lies_in(name, GRAPHQL)})
    }
    assert wrong == {}


LOADS = """
import sys
import django
django.setup()
import {module}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


# Not those of a sandbox that may be in this directory, nor of none.
PRODUCTION = {
    "DATABASE_URL": "postgres://api:secret@database.invalid:5432/partnerapi",
    "REDIS_URL": "redis://cache.invalid:6379/0",
    "SECRET_KEY": "s" * 50,
    "PARTNER_API_KEY_PEPPER": "p" * 50,
    "ALLOWED_HOSTS": "api.example.com",
}


def loaded(program: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=settings.BASE_DIR,
        env={"DJANGO_SETTINGS_MODULE": "partnerapi.settings", **PRODUCTION},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "issuers.legacy.imports",
        "issuers.register.ledger",
        "issuers.register.captable",
        "marketdata.books.log",
        "marketdata.trading.busts",
        "marketdata.books.feed",
        "marketdata.fix.acceptor.logon",
    ],
)
def test_the_register_and_the_books_load_no_graphql(module: str):
    assert not loaded(LOADS.format(module=module)) & {"graphene", "graphql"}


def test_a_command_starts_without_what_few_need():
    begun = loaded(LOADS.format(module="partnerapi.core.commands"))
    dear = {
        "PIL",
        "celery",
        "graphene",
        "graphql",
        "prometheus_client",
        "redis",
        "rich",
    }
    assert begun & dear == set()


def test_the_protocol_of_fix_loads_the_standard_library_only():
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from marketdata.fix.protocol import layouts, messages, rules, statuses, wire\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*(names - sys.stdlib_module_names))\n"
        "print(*(name for name in sys.modules if name.startswith('marketdata.')))\n"
    )
    assert loaded(program) == {
        "marketdata",
        "marketdata.fix",
        "marketdata.fix.protocol",
        "marketdata.fix.protocol.execution_layouts",
        "marketdata.fix.protocol.instrument_layouts",
        "marketdata.fix.protocol.instruments",
        "marketdata.fix.protocol.layouts",
        "marketdata.fix.protocol.messages",
        "marketdata.fix.protocol.rules",
        "marketdata.fix.protocol.statuses",
        "marketdata.fix.protocol.tags",
        "marketdata.fix.protocol.wire",
    }


def test_foreign_keys_go_one_way():
    wrong = [
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        if model.__module__ in modules()
        for field in model._meta.get_fields()
        if field.is_relation and field.concrete and field.related_model
        if field.related_model.__module__ in modules()
        and model._meta.app_label != field.related_model._meta.app_label
        and ORDER.index(room_of(field.related_model.__module__))
        > ORDER.index(room_of(model.__module__))
    ]
    assert wrong == []


def test_the_top_level_is_the_given_one():
    shown = {
        path.name
        for path in settings.BASE_DIR.iterdir()
        if not path.name.startswith(".")
        and not path.name.endswith(".egg-info")
        and path.name not in ("staticfiles", "build", "__pycache__")
    }
    assert shown <= TOP_LEVEL
