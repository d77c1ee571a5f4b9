"""The documents under /docs: generated tables are the code's, pages are sound."""

import html
import re
from uuid import uuid4

import pytest
from django.core.management import (
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)

from accounts.access import Scope
from issuers.compliance.models import TokenRule
from issuers.legacy import imports as import_csv
from partnerapi.celery import app
from partnerapi.command_line import DUTIES
from partnerapi.core.commands import CommandGroup
from partnerapi.management.write.docs import LOCKS
from partnerapi.settings import VARIABLES
from partnerapi.site import docs, docs_tables, reference
from partnerapi.site.released import difference
from tests.characters import Ask, World

NAMES = [*docs.FOR_PARTNERS, *docs.FOR_OPERATORS]
MADE = (
    "/docs/schema",
    "/docs/clients",
    "/docs/fix",
    "/schema.graphql",
    "/scalars.json",
)
each_document = pytest.mark.parametrize("name", NAMES)


def text(response) -> str:
    return html.unescape(response.content.decode())


def main(page: str) -> str:
    return page.split("<main", 1)[1]


def rows_of(page: str) -> str:
    [rows] = re.findall("<tbody>.*?</tbody>", main(page), re.DOTALL)
    return rows


CODE_OF_ROW = r"<tr>\s*<td[^>]*>(?:<a [^>]*>)?<code>(\S+).*?</code>"


def first_column(page: str) -> set[str]:
    """The code at the beginning of each row."""
    return set(re.findall(CODE_OF_ROW, main(page)))


def test_every_generated_table_is_what_the_code_says():
    call_command("write", "docs", "--check")


def test_every_table_that_can_be_generated_stands_in_a_document():
    written = "".join(docs.path_of(name).read_text() for name in NAMES)
    written += LOCKS.read_text()
    found = [found["name"] for found in docs_tables.GENERATED.finditer(written)]
    assert sorted(found) == sorted(docs_tables.TABLES)


def test_every_number_of_the_limits_is_the_code_s():
    """None is written by hand but names, a status, a header's value and a date."""
    written = docs.path_of("limits").read_text()
    by_hand = docs_tables.GENERATED.sub("", written)
    for meant in (
        "status 400", "status 429", "`X-Cost-Debug: 1`", "`X-Cost-Only: 1`",
        "`X-Kill-Switch: 1`", "IPv6 /64",
    ):  # fmt: skip
        by_hand = by_hand.replace(meant, "")
    assert re.findall(r"[0-9][0-9,]*", by_hand) == []


def test_every_file_is_served():
    inside = {path.stem for path in docs.DIRECTORY.glob("*.md")}
    assert inside | set(docs.ELSEWHERE) == set(NAMES)
    assert not inside & set(docs.ELSEWHERE)


def test_every_setting_stands_in_its_document(client):
    assert set(VARIABLES) <= first_column(text(client.get("/docs/settings")))


def test_every_type_of_a_setting_is_explained(client):
    kinds = {variable.kind for variable in VARIABLES.values()}
    assert kinds <= first_column(text(client.get("/docs/settings")))


def test_every_error_code_stands_in_its_document(client):
    codes = {error.code for error in reference.errors()}
    assert first_column(text(client.get("/docs/errors"))) == codes


def test_every_error_has_an_example_and_a_remedy():
    for error in reference.errors():
        assert error.plain, error.code
        assert error.remedy.endswith("."), error.code
        assert all(error.examples), error.code


DOCUMENTS = [
    (error.code, example)
    for error in reference.errors()
    for example in error.examples
    if reference.is_document(example)
]


@pytest.mark.parametrize(("code", "document"), DOCUMENTS)
def test_an_example_of_an_error_gets_it(
    code: str, document: str, world: World, partner: Ask, stranger: Ask
):
    ask = stranger if code == "UNAUTHENTICATED" else partner
    answer = ask(document, **{"Idempotency-Key": str(uuid4())})
    assert {error["extensions"]["code"] for error in answer.errors} == {code}


def test_examples_are_documents_wherever_one_line_tells():
    assert len(DOCUMENTS) >= 9


def test_every_scope_stands_in_its_document_with_a_field(client):
    page = text(client.get("/docs/scopes"))
    assert first_column(page) == set(Scope.values)
    unused = [scope for scope in Scope if not any(docs_tables.fields_with(scope))]
    assert unused == [], "no field requires these scopes"


def test_every_command_stands_in_its_document(client):
    rows = re.findall(
        r"<tr>\s*<td[^>]*><code>(.*?)</code>", text(client.get("/docs/commands"))
    )
    names = [
        name
        for commands in DUTIES.values()
        for command in commands
        for name, _ in docs_tables.commands_of(command)
    ]
    assert len(rows) == len(names)
    for row, name in zip(rows, names, strict=True):
        assert f"{row} ".startswith(f"{name} ")


def test_write_docs_writes_what_has_changed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "DIRECTORY", tmp_path)
    sound = tmp_path / "errors.md"
    stale = tmp_path / "settings.md"
    sound.write_text("# Errors\n\nNone is generated here.\n")
    stale.write_text(
        "# Settings\n\nBefore.\n\n[//]: # (generated: settings)\n| old |\n"
        "[//]: # (end of generated)\n\nAfter.\n"
    )

    with pytest.raises(CommandError, match="settings.md: different from the code"):
        call_command("write", "docs", "--check")
    assert "| old |" in stale.read_text()

    call_command("write", "docs")
    written = stale.read_text()
    assert "| old |" not in written
    assert "| `DATABASE_URL` | url | none | " in written
    assert written.startswith("# Settings\n\nBefore.\n\n[//]: # (generated: settings)")
    assert written.endswith("\n\n[//]: # (end of generated)\n\nAfter.\n")
    assert sound.read_text() == "# Errors\n\nNone is generated here.\n"
    call_command("write", "docs", "--check")


def test_write_docs_names_the_tables_that_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "DIRECTORY", tmp_path)
    (tmp_path / "a.md").write_text(
        "# A\n\n[//]: # (generated: nothing)\n[//]: # (end of generated)\n"
    )
    with pytest.raises(CommandError, match="no generated table 'nothing'.*settings"):
        call_command("write", "docs")


@each_document
def test_a_page_has_one_title_a_lead_and_heads_of_columns(client, name):
    response = client.get(f"/docs/{name}")
    page = main(text(response))

    assert response.status_code == 200
    assert len(re.findall("<h1>", page)) == 1
    assert re.search(r'<h1>[^<]+</h1>\s*<p class="lead">[^<]+</p>', page)
    assert page.count("<table") == page.count("<thead>")
    assert "<th>" not in page
    for row in re.findall(r"<tbody>.*?</tbody>", page, re.DOTALL):
        assert "<td>" not in row


@each_document
def test_every_link_of_a_page_leads_somewhere(client, db, name):
    page = text(client.get(f"/docs/{name}"))
    anchors = set(re.findall(r' id="([^"]+)"', page))
    for address, anchor in re.findall(r'<a [^>]*href="([^"#]*)(?:#([^"]*))?"', page):
        if not address:
            assert anchor in anchors
            continue
        target = client.get(address)
        assert target.status_code in (200, 302), address
        if anchor:
            assert f' id="{anchor}"' in text(target), f"{address}#{anchor}"


@each_document
def test_a_link_of_a_file_works_in_the_repository_too(client, name):
    written = docs.path_of(name).read_text()
    for linked in re.findall(r"\]\(([^)]+)\)", written):
        if linked.startswith("/"):
            # What is not of Markdown, or lies elsewhere, has no file to be linked.
            assert client.get(linked.partition("#")[0]).status_code == 200
        else:
            assert (docs.DIRECTORY / linked.partition("#")[0]).is_file()


def test_markdown_brings_no_html_of_its_own():
    made = docs.doc_of("x", "# T\n\nLead.\n\n<script>alert(1)</script> <b>x</b>\n")
    assert "<script" not in made.html
    assert "&lt;script&gt;" in made.html
    made = docs.doc_of("x", "# T\n\nLead.\n\n[a](javascript:alert)\n")
    assert "<a" not in made.html


def test_the_comments_around_generated_tables_are_not_shown(client):
    assert "generated" not in main(text(client.get("/docs/settings")))


@pytest.mark.parametrize("name", docs.FOR_PARTNERS)
def test_commands_of_a_sandbox_name_the_address_in_use(client, settings, name):
    settings.PARTNER_API_SANDBOX = True
    page = text(client.get(f"/docs/{name}", headers={"host": "localhost:9191"}))
    assert "8080" not in page
    if name == "proof":
        assert "http://localhost:9191/docs/verify.py\ncurl" in page


def test_the_index_links_every_document(client):
    page = text(client.get("/docs"))
    links = set(re.findall(r'href="(/[^"]*)"', main(page)))
    assert links == set(MADE) | {f"/docs/{name}" for name in NAMES}
    for name in NAMES:
        assert docs.read(name).lead in page


@each_document
def test_the_menu_has_the_documents_of_its_readers_only(client, name):
    menu = text(client.get(f"/docs/{name}")).split("<main", 1)[0]
    index = menu.split('<nav class="index"', 1)[1]
    own = docs.FOR_PARTNERS if name in docs.FOR_PARTNERS else docs.FOR_OPERATORS
    assert {n for n in NAMES if f'href="/docs/{n}"' in index} == {*own}


def test_the_index_is_linked_from_every_page(client):
    for path in ("/", "/docs", "/docs/schema", "/docs/fix", "/docs/errors"):
        header = text(client.get(path)).split("<main", 1)[0]
        assert '<a href="/docs">Docs</a>' in header


def test_an_unknown_name_is_not_found(client):
    # Not a file outside the directory either, whatever the name says.
    for path in ("/docs/nothing", "/docs/settings.md", "/docs/../README"):
        assert client.get(path).status_code == 404


def test_every_task_that_beat_starts_stands_in_production(client):
    page = text(client.get("/docs/production"))
    tasks = {
        entry["task"].rpartition(".")[2] for entry in app.conf.beat_schedule.values()
    }
    assert tasks <= first_column(page)


def test_columns_of_legacy_shares_and_kinds_of_rules_stand_with_the_register(client):
    page = text(client.get("/docs/register"))
    columns = {*import_csv.REQUIRED, *import_csv.OPTIONAL}
    _, lines, _, rules, *_ = re.findall("<tbody>.*?</tbody>", main(page), re.DOTALL)
    assert columns == set(re.findall(r"<code>(\w+)</code>", lines))
    assert set(TokenRule.Kind) == set(re.findall(r"<code>(\w+)</code>", rules))


def test_every_command_that_a_document_names_is_there(client):
    commands = get_commands()
    for name in NAMES:
        written = docs.path_of(name).read_text()
        for command, verb in re.findall(r"manage\.py (\w+)(?: (\w[\w-]*))?", written):
            if command == "help":
                continue
            assert command in commands
            loaded = load_command_class(commands[command], command)
            if verb and isinstance(loaded, CommandGroup):
                assert verb in loaded.verbs


def test_the_changelog_shows_what_the_schema_adds():
    old = "type A {\n  a: Int\n  b: Int\n}\n\ntype Query {\n  a: A\n}\n"
    new = (
        "type A {\n  a: Int\n  c: Int\n}\n\ntype B {\n  b: Int\n}\n\n"
        "type Query {\n  a: A\n  b: B\n}\n"
    )
    assert difference(old, new) == (
        "  type A {\n-   b: Int\n+   c: Int\n\n"
        "+ type B {\n+   b: Int\n+ }\n\n  type Query {\n+   b: B\n"
    )
    assert difference(new, old).startswith("  type A {\n-   c: Int\n+   b: Int\n")
    assert difference(old, old) == ""
    shown = docs.schema_changes()
    added = [parts(line) for line in shown.splitlines() if line.startswith("+")]
    removed = [line for line in shown.splitlines() if line.startswith("-")]
    # A field that gains an argument is removed and added.
    lost = [line for line in removed if not any(parts(line) <= new for new in added)]
    assert lost == [], "a release keeps what clients use"


def parts(line: str) -> set[str]:
    """The name, arguments and type in a line of a difference."""
    return set(re.split(r"[(),:]\s*", line[1:].strip()))
