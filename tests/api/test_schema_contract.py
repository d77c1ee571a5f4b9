"""The schema against that of the last release, and against what was committed last."""

import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone
from graphql import (
    GraphQLEnumType,
    GraphQLNamedType,
    GraphQLSchema,
    build_client_schema,
    build_schema,
    get_introspection_query,
    is_introspection_type,
    is_specified_scalar_type,
    print_schema,
)

from partnerapi.management.write import schema as command
from partnerapi.schema import schema
from partnerapi.site.pages import SDL_FILE
from partnerapi.site.released import RELEASED_FILE, find_breaks, strip_descriptions
from tests.characters import Ask

RELEASED = RELEASED_FILE.read_text()
# Through its printed form, so that its types are graphql-core's own classes.
SERVED = build_schema(print_schema(schema))


def own_types(of: GraphQLSchema) -> list[GraphQLNamedType]:
    return [
        type_
        for type_ in of.type_map.values()
        if not is_introspection_type(type_) and not is_specified_scalar_type(type_)
    ]


def members(of: GraphQLSchema) -> dict[str, str]:
    """Every type, field, argument and value by its path, with its type."""
    found = {}
    for type_ in own_types(of):
        interfaces = [i.name for i in getattr(type_, "interfaces", ())]
        kind = type(type_).__name__
        url = getattr(type_, "specified_by_url", None)
        found[type_.name] = f"{kind} implements {interfaces} specified by {url}"
        if isinstance(type_, GraphQLEnumType):
            for value in type_.values:
                found[f"{type_.name}.{value}"] = "value"
        for name, field in getattr(type_, "fields", {}).items():
            found[f"{type_.name}.{name}"] = str(field.type)
            for argument_name, argument in getattr(field, "args", {}).items():
                found[f"{type_.name}.{name}({argument_name}:)"] = (
                    f"{argument.type} = {argument.default_value}"
                )
    for directive in of.directives:
        found[f"@{directive.name}"] = ", ".join(directive.args)
    return found


def test_nothing_breaks_the_clients_of_the_last_release():
    changes = [*find_breaks(RELEASED, SERVED, timezone.now().date())]
    assert changes == [], "deprecate it, or manage.py write schema --breaking"


def test_the_schema_of_the_release_has_no_descriptions():
    assert strip_descriptions(RELEASED) == RELEASED
    assert members(build_schema(strip_descriptions(SDL_FILE.read_text()))) == members(
        SERVED
    )


OLD = """
    scalar Day @specifiedBy(url: "https://days.example/1")
    enum Kind { GOOD BAD }
    interface Named { name: String }
    type Thing implements Named { name: String! kind: Kind part: Part }
    type Part { of: Thing day: Day id(of: ID): ID }
    input Filter { kind: Kind name: String }
    type Query { thing(id: ID, first: Int = 10): Thing part(by: Filter): Part }
"""
CHANGES = [
    ("name: String! kind", "name: String kind", "Thing.name changed type"),
    ("kind: Kind part: Part", "part: Part", "Thing.kind was removed"),
    ("GOOD BAD", "GOOD", "BAD was removed from enum type Kind"),
    ("first: Int = 10", "first: Int = 20", "first has changed defaultValue"),
    ("thing(id: ID, ", "thing(", "arg id was removed"),
    ("thing(id: ID", "thing(id: ID!", "arg id has changed type"),
    ("thing(", "thing(to: Int!, ", "required arg to on Query.thing was added"),
    (
        "name: String }\n    type Q",
        "name: String! }\n    type Q",
        "Filter.name changed",
    ),
    ("implements Named", "", "Thing no longer implements interface Named"),
    ("example/1", "example/2", "Day is specified by https://days.example/2"),
    ("by: Filter): Part", "by: Filter): Thing", "Query.part changed type"),
]


@pytest.mark.parametrize(("before", "after", "told"), CHANGES)
def test_each_kind_of_break_is_told(before: str, after: str, told: str):
    assert OLD.count(before) == 1
    changed = build_schema(OLD.replace(before, after))
    [said] = find_breaks(OLD, changed, date(2026, 11, 24))
    assert told in said
    assert [*find_breaks(OLD, build_schema(OLD), date(2026, 11, 24))] == []


def test_what_is_added_breaks_nothing():
    wider = OLD.replace("GOOD BAD", "GOOD BAD UGLY").replace(
        "(id: ID", "(id: ID, at: ID"
    )
    wider = wider.replace("name: String }\n    type", "name: String at: ID } type")
    assert [*find_breaks(OLD, build_schema(wider), date(2026, 11, 24))] == []


def test_a_deprecated_member_goes_on_its_day_with_the_types_that_it_alone_names():
    reason = "Use x. Deprecated since 2025-11-24, removed on 2026-11-24."
    mark = f'@deprecated(reason: "{reason}")'
    deprecated = (
        OLD.replace("BAD", f"BAD {mark}")
        .replace("part: Part", f"part: Part {mark}")
        .replace("first: Int = 10", f"first: Int = 10 {mark}")
        .replace("part(by: Filter): Part", f"part(by: Filter): Part {mark}")
    )
    smaller = build_schema("""
        enum Kind { GOOD }
        interface Named { name: String }
        type Thing implements Named { name: String! kind: Kind }
        type Query { thing(id: ID): Thing }
    """)
    assert [*find_breaks(deprecated, smaller, date(2026, 11, 24))] == []
    told = [*find_breaks(deprecated, smaller, date(2026, 11, 23))]
    assert {"Part was removed.", "Day was removed.", "Filter was removed."} < {*told}
    undated = deprecated.replace(reason, "Use x.")
    assert [*find_breaks(undated, smaller, date(2030, 1, 1))] == told


def test_everything_has_a_description():
    described: list[tuple[str, Any]] = []
    for type_ in own_types(SERVED):
        described.append((type_.name, type_))
        for name, value in getattr(type_, "values", {}).items():
            described.append((f"{type_.name}.{name}", value))
        for name, field in getattr(type_, "fields", {}).items():
            described.append((f"{type_.name}.{name}", field))
            for argument_name, argument in getattr(field, "args", {}).items():
                described.append((f"{type_.name}.{name}.{argument_name}", argument))
    missing = [name for name, member in described if not member.description]
    assert missing == []
    assert len(described) == len(members(SERVED)) - len(SERVED.directives)


def test_the_committed_file_is_the_schema():
    # First the command: it names the remedy.
    call_command("write", "schema", "--check")
    assert SDL_FILE.read_text() == print_schema(schema) + "\n"


def test_the_introspection_is_the_committed_schema(stranger: Ask):
    answer = stranger(get_introspection_query(specified_by_url=True))
    client = build_client_schema(answer.data)
    assert members(client) == members(SERVED)


@pytest.fixture
def other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    other = tmp_path / "schema.graphql"
    monkeypatch.setattr(command, "SDL_FILE", other)
    return other


@pytest.fixture
def other_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    other = tmp_path / "released.graphql"
    other.write_text(RELEASED)
    monkeypatch.setattr(command, "RELEASED_FILE", other)
    return other


def test_check_names_the_remedy(other_file: Path):
    other_file.write_text("type Query { nothing: Int }\n")
    with pytest.raises(CommandError, match="run manage.py write schema and commit"):
        call_command("write", "schema", "--check")
    assert other_file.read_text() == "type Query { nothing: Int }\n"


def test_writes_the_file(
    other_file: Path, other_release: Path, capsys: pytest.CaptureFixture[str]
):
    older = RELEASED.replace("  tradingName: String!\n", "")
    other_release.write_text(older)
    other_file.write_text("")
    call_command("write", "schema")
    assert other_file.read_text() == SDL_FILE.read_text()
    assert capsys.readouterr().out.startswith("Wrote schema.graphql, ")

    call_command("write", "schema")
    assert capsys.readouterr().out.startswith("schema.graphql is the schema, ")
    assert other_release.read_text() == older

    call_command("write", "schema", "--release")
    assert other_release.read_text() == strip_descriptions(SDL_FILE.read_text())


@pytest.mark.parametrize("left", ["", "<<<<<<< ours\ntype Query { a: Int }\n"])
def test_compares_with_no_file_that_is_no_schema(
    other_file: Path, other_release: Path, left: str
):
    other_file.write_text("before\n")
    other_release.write_text(left)
    for arguments in ([], ["--release"]):
        with pytest.raises(
            CommandError, match=r"released\.graphql is not a valid schema"
        ) as e:
            call_command("write", "schema", *arguments)
        assert "Restore the committed one first" in str(e.value)
    assert (other_file.read_text(), other_release.read_text()) == ("before\n", left)

    call_command("write", "schema", "--breaking")
    assert other_file.read_text() == SDL_FILE.read_text()
    assert other_release.read_text() == strip_descriptions(SDL_FILE.read_text())


@pytest.mark.parametrize(("mode", "left"), [("w", ""), ("a", "before\n")])
def test_refuses_to_have_its_words_written_over_the_schema(
    tmp_path: Path, mode: str, left: str
):
    other = tmp_path / "schema.graphql"
    other.write_text("before\n")
    code = (
        "import sys; from pathlib import Path; import django; django.setup();"
        "from django.core.management import call_command;"
        "from partnerapi.management.write import schema as command;"
        "command.SDL_FILE = Path(sys.argv[1]);"
        "call_command('write', 'schema', '--breaking')"
    )
    with other.open(mode) as redirected:
        done = subprocess.run(
            [sys.executable, "-c", code, str(other)],
            cwd=settings.BASE_DIR,
            stdout=redirected,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "git restore partnerapi/schema.graphql" in done.stderr
    assert other.read_text() == left


def test_breaks_no_client_unless_that_is_acknowledged(
    other_file: Path, other_release: Path, capsys: pytest.CaptureFixture[str]
):
    before = RELEASED.replace("tradingName: String!", "tradingName: Int!")
    other_release.write_text(before)
    other_file.write_text("before\n")
    for arguments in ([], ["--release"]):
        with pytest.raises(CommandError, match="Issuer.tradingName changed type") as e:
            call_command("write", "schema", *arguments)
        assert "--breaking" in str(e.value)
    assert (other_file.read_text(), other_release.read_text()) == ("before\n", before)

    call_command("write", "schema", "--breaking")
    assert other_file.read_text() == SDL_FILE.read_text()
    assert (
        "Breaks clients: Issuer.tradingName changed type from Int! to String!."
        in capsys.readouterr().out
    )
    call_command("write", "schema")


def test_a_dry_run_writes_to_standard_output(
    other_file: Path, capsys: pytest.CaptureFixture[str]
):
    call_command("write", "schema", "--dry-run")
    assert capsys.readouterr().out == SDL_FILE.read_text()
    assert not other_file.exists()
