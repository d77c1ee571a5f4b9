import re
from datetime import date

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    build_schema,
    extend_schema,
    parse,
)

from partnerapi.schema import schema
from partnerapi.site import reference
from partnerapi.site.pages import SANDBOX_SDL_FILE

MOST_BYTES = 60 * 1024


@pytest.fixture
def pages(client) -> dict[str, str]:
    """The reference: its first page, and those that it links to."""
    first = client.get("/docs/schema").content.decode()
    linked = set(re.findall(r'href="(/docs/schema/[^"#]+)"', first))
    found = {path: client.get(path).content.decode() for path in sorted(linked)}
    return {"/docs/schema": first} | found


def test_describes_every_type_and_every_member_of_it(pages):
    both = extend_schema(schema, parse(SANDBOX_SDL_FILE.read_text()))
    expected = set()
    for name, type_ in both.type_map.items():
        if name.startswith("__"):
            continue
        is_root = type_ in (both.query_type, both.mutation_type)
        if not is_root:
            expected.add(name)
        match type_:
            case GraphQLEnumType():
                members = type_.values
            case (
                GraphQLObjectType() | GraphQLInterfaceType() | GraphQLInputObjectType()
            ):
                members = type_.fields
            case _:
                members = {}
        expected |= {f"{name}.{member}" for member in members}
    missing = []
    for anchor in expected:
        path, _, place = reference.address(anchor).partition("#")
        if path not in pages or (place and f' id="{place}"' not in pages[path]):
            missing.append(anchor)
    assert missing == []


def test_every_link_has_its_target(pages):
    targets = {
        path: {"", *re.findall(r' id="([^"]+)"', page)} for path, page in pages.items()
    }
    for path, page in pages.items():
        for link in re.findall(r'href="((?:/docs/schema[^"#]*)?(?:#[^"]*)?)"', page):
            to, _, anchor = link.partition("#")
            assert anchor in targets[to or path], (path, link)


def test_an_anchor_names_one_place(pages):
    for path, page in pages.items():
        anchors = re.findall(r' id="([^"]+)"', page)
        assert sorted(anchors) == sorted(set(anchors)), path


def test_no_page_is_long(pages):
    sizes = {path: len(page.encode()) for path, page in pages.items()}
    assert {path: size for path, size in sizes.items() if size > MOST_BYTES} == {}


def test_an_unknown_name_is_not_found(client):
    for name in ("Nothing", "Issuer.slug", "__Type"):
        assert client.get(f"/docs/schema/{name}").status_code == 404


def test_tells_limits_as_they_are_set(settings):
    settings.PARTNER_API_MAX_PAGE_SIZE = 17
    settings.PARTNER_API_MAX_BODY_BYTES = 2_000_000

    limits = dict(reference.limits())

    assert limits["largest first or last"] == "17"
    assert limits["largest request body, bytes"] == "2,000,000"
    assert len(limits) == 15


def test_every_published_code_has_a_meaning(pages):
    errors = {error.code: error for error in reference.errors()}
    assert [error.code for error in errors.values() if not error.meaning.strip()] == []
    for code in errors:
        page = pages[f"/docs/schema/error.{code}"]
        assert f"<h1><code>{code}</code></h1>" in page
    assert errors["THROTTLED"].statuses == (429,)
    assert errors["INVALID_CURSOR"].statuses == (200,)
    assert errors["UNAUTHENTICATED"].statuses == (200, 401)
    assert errors["INTERNAL_SERVER_ERROR"].statuses == (200, 500)


def test_marks_what_is_deprecated_and_shows_defaults():
    small = build_schema(
        """
        type Query {
          "Use `issuers`."
          companies(first: Int = 10): [String!]! @deprecated(reason: "Use issuers.")
        }
        input Filter { name: String = "x" }
        """
    )
    queries, inputs, _ = reference.sections(small)

    (companies,) = queries.entries
    assert companies.deprecated == "Use issuers."
    assert companies.description == "Use <code>issuers</code>."
    assert companies.type == reference.TypeReference("[", "String", "!]!")
    assert [(m.name, m.default) for m in companies.members] == [("first", "10")]
    assert inputs.entries[0].members[0].default == '"x"'


def deprecated(reason: str) -> list[reference.Deprecation]:
    return reference.deprecations(
        build_schema(
            f"""
            type Query {{ a(b: Int, c: Int @deprecated(reason: "{reason}")): Int }}
            """
        )
    )


def test_a_deprecation_says_what_to_use_and_until_when_it_works():
    [found] = deprecated("Use `b`. Deprecated since 2026-01-31, removed on 2027-01-31.")
    assert found == reference.Deprecation(
        "Query.a.c", "Use `b`.", date(2026, 1, 31), date(2027, 1, 31)
    )


@pytest.mark.parametrize(
    "reason",
    ["Use `b`.", "Use `b`. Deprecated since 2026-01-31, removed on 2027-01-30."],
)
def test_a_deprecation_without_its_dates_or_a_year_is_no_document(reason: str):
    with pytest.raises(ValueError, match="Query.a.c"):
        deprecated(reason)
