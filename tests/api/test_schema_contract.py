"""The schema against what was promised, and against what was committed last."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from graphql import (
    GraphQLEnumType,
    GraphQLNamedType,
    GraphQLSchema,
    build_client_schema,
    build_schema,
    find_breaking_changes,
    get_introspection_query,
    is_introspection_type,
    is_specified_scalar_type,
    print_schema,
)

from partnerapi.management.commands import print_schema as command
from partnerapi.schema import schema
from partnerapi.site.pages import SDL_FILE
from tests.characters import Ask

CONTRACT = Path(__file__).with_name("contract.graphql").read_text()
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


def test_the_schema_is_the_contract():
    contract = members(build_schema(CONTRACT))
    served = members(SERVED)
    assert served.keys() - contract.keys() == set()
    assert contract.keys() - served.keys() == set()
    assert served == contract


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
    call_command("print_schema", "--check")
    assert SDL_FILE.read_text() == print_schema(schema) + "\n"


def test_nothing_breaks_the_clients_of_the_committed_schema():
    committed = build_schema(SDL_FILE.read_text())
    changes = [
        change.description for change in find_breaking_changes(committed, SERVED)
    ]
    assert changes == [], "manage.py print_schema --breaking acknowledges them"


def test_the_introspection_is_the_committed_schema(stranger: Ask):
    answer = stranger(get_introspection_query(specified_by_url=True))
    client = build_client_schema(answer.data)
    assert members(client) == members(SERVED)


@pytest.fixture
def other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    other = tmp_path / "schema.graphql"
    monkeypatch.setattr(command, "SDL_FILE", other)
    return other


def test_check_names_the_remedy(other_file: Path):
    other_file.write_text("type Query { nothing: Int }\n")
    with pytest.raises(CommandError, match="run manage.py print_schema and commit"):
        call_command("print_schema", "--check")
    assert other_file.read_text() == "type Query { nothing: Int }\n"


def test_writes_the_file(other_file: Path, capsys: pytest.CaptureFixture[str]):
    other_file.write_text(CONTRACT.replace("  tradingName: String!\n", ""))
    call_command("print_schema")
    assert other_file.read_text() == SDL_FILE.read_text()
    assert capsys.readouterr().out.startswith("Wrote schema.graphql, ")

    call_command("print_schema")
    assert capsys.readouterr().out.startswith("schema.graphql is the schema, ")


@pytest.mark.parametrize("left", ["", "<<<<<<< ours\ntype Query { a: Int }\n"])
def test_compares_with_no_file_that_is_no_schema(other_file: Path, left: str):
    other_file.write_text(left)
    with pytest.raises(CommandError, match=r"schema\.graphql is no schema") as error:
        call_command("print_schema")
    assert "Restore the committed one first" in str(error.value)
    assert other_file.read_text() == left

    call_command("print_schema", "--breaking")
    assert other_file.read_text() == SDL_FILE.read_text()


@pytest.mark.parametrize(("mode", "left"), [("w", ""), ("a", "before\n")])
def test_refuses_to_have_its_words_written_over_the_schema(
    tmp_path: Path, mode: str, left: str
):
    other = tmp_path / "schema.graphql"
    other.write_text("before\n")
    code = (
        "import sys; from pathlib import Path; import django; django.setup();"
        "from django.core.management import call_command;"
        "from partnerapi.management.commands import print_schema as command;"
        "command.SDL_FILE = Path(sys.argv[1]);"
        "call_command('print_schema', '--breaking')"
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
    other_file: Path, capsys: pytest.CaptureFixture[str]
):
    before = CONTRACT.replace("tradingName: String!", "tradingName: Int!")
    other_file.write_text(before)
    with pytest.raises(CommandError, match="Issuer.tradingName changed type") as error:
        call_command("print_schema")
    assert "--breaking" in str(error.value)
    assert other_file.read_text() == before

    call_command("print_schema", "--breaking")
    assert other_file.read_text() == SDL_FILE.read_text()
    assert (
        "Breaks clients: Issuer.tradingName changed type from Int! to String!."
        in capsys.readouterr().out
    )


def test_a_dry_run_writes_to_standard_output(
    other_file: Path, capsys: pytest.CaptureFixture[str]
):
    call_command("print_schema", "--dry-run")
    assert capsys.readouterr().out == SDL_FILE.read_text()
    assert not other_file.exists()
