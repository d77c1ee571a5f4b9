"""Every list, page by page, against a list that is sliced in Python."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    Article,
    IndustryClassificationBenchmark,
    Issuer,
    IssuerFinancialData,
    Token,
)
from partnerapi.graphql.cursors import encode_cursors
from partnerapi.graphql.documents import prepare
from partnerapi.graphql.pages import read_pages
from partnerapi.graphql.resolvers import Info
from partnerapi.graphql.statements import OrderedList, OrderKey
from partnerapi.schema import schema
from tests.characters import Ask, World, page_of
from tests.owner import as_committed
from tests.tiers import count

START = datetime(2024, 5, 1, tzinfo=UTC)
PAGE = """
  edges { cursor node { id } } nodes { id } totalCount
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
"""
NAMES = [
    "alpha",
    "Alpha",
    "ALPHA",
    "a|b|c",
    "100% \"real\" 'thing'",
    "%s %(name)s {0}",
    "back\\slash_",
    "été",
    "zwölf élans",
    "Ωmega",
    "東京",
    "🦉 owl",
    "a",
    "~",
    " leading",
    "x" * 200,
]


@dataclass
class Listed:
    """A list as the API should show it: a sort key and an id for each row."""

    document: str
    path: list[str]
    places: list[tuple[Any, ...]]
    ids: list[str]

    def __call__(self, ask: Ask, **arguments: Any) -> Any:
        answer = ask(self.document, arguments)
        page = answer.data
        for name in self.path:
            page = page[name]
        return page

    def fails(self, ask: Ask, **arguments: Any) -> dict[str, Any]:
        answer = ask(self.document, arguments)
        assert answer.status == 200
        [error] = answer.errors
        assert error["path"] == self.path
        return error["extensions"]


def listed(
    kind: str, rows: list[Any], place: Callable[[Any], Any], *, descending: bool = False
) -> Listed:
    """The list named `kind`, of rows that are sorted here by `place`, then by id."""
    arguments = "$first: Int, $last: Int, $after: String, $before: String"
    given = "first: $first, last: $last, after: $after, before: $before"
    field = f"{kind}({given}) {{ {PAGE} }}"
    path = [kind]
    if kind not in ("issuers", "industryClassificationBenchmarks"):
        field, path = f'issuer(slug: "lumen") {{ {field} }}', ["issuer", kind]
    type_name = {
        LegacyShareholder: "IssuerLegacyShareholder",
        Issuer: "Issuer",
    }.get(type(rows[0]), type(rows[0]).__name__)
    ordered = sorted(rows, key=lambda row: (place(row), row.pk), reverse=descending)
    return Listed(
        document=f"query ({arguments}) {{ {field} }}",
        path=path,
        places=[(n,) for n, _ in enumerate(ordered)],
        ids=[f"{type_name}|{row.pk}" for row in ordered],
    )


def issuers(world: World) -> Listed:
    made = [
        Issuer.objects.create(
            trading_name=name,
            slug=f"name-{number}",
            trading_location="Lyon",
            owner=world.owner,
        )
        for number, name in enumerate(NAMES)
    ]
    made += [world.listed, world.quiet]
    # Only the capitals of ASCII are among the names: every database lowers these.
    return listed("issuers", made, lambda issuer: issuer.trading_name.lower().encode())


def tokens(world: World) -> Listed:
    made = [
        Token.objects.create(
            issuer=world.listed,
            name="Class",
            symbol=f"T{number}",
            visibility=Token.Visibility.values[number % 2],
            created_at=START + timedelta(microseconds=number // 3),
        )
        for number in range(11)
    ]
    made += [world.public_token, world.private_token]
    return listed("tokens", made, lambda token: token.created_at)


def articles(world: World) -> Listed:
    made = [
        Article.objects.create(
            issuer=world.listed,
            title="News",
            slug=f"news-{number}",
            body="…",
            published_at=START + timedelta(hours=number // 3),
        )
        for number in range(11)
    ]
    return listed(
        "articles",
        [*made, world.article],
        lambda article: article.published_at,
        descending=True,
    )


def legacy_shareholders(world: World) -> Listed:
    made = [
        LegacyShareholder.objects.create(
            issuer=world.listed,
            user=world.owner,
            number_of_shares=1,
            price_cents=1,
            created_at=START - timedelta(days=number % 2, microseconds=number // 4),
        )
        for number in range(11)
    ]
    return listed(
        "legacyShareholders",
        [*made, *world.shareholders],
        lambda shareholder: shareholder.created_at,
    )


def financial_data(world: World) -> Listed:
    period = IssuerFinancialData.PeriodType
    made = [
        IssuerFinancialData.objects.create(
            issuer=world.listed, year=year, period_type=period_type
        )
        for year in (1900, 2199, 2010, 2011, 2012)
        for period_type in period
    ]
    return listed(
        "financialData",
        [*made, *world.figures],
        lambda figures: (figures.year, figures.period_type == period.YEAR),
        descending=True,
    )


def classification(world: World) -> Listed:
    codes = ["10101010", "10101015", "60101000", "10102010", "50101010", "99999999"]
    made = [
        IndustryClassificationBenchmark.objects.create(
            industry_code=code[:2],
            supersector_code=code[:4],
            sector_code=code[:6],
            subsector_code=code,
        )
        for code in codes
    ]
    return listed(
        "industryClassificationBenchmarks", made, lambda entry: entry.subsector_code
    )


LISTS = [issuers, tokens, articles, legacy_shareholders, financial_data, classification]
pytestmark = pytest.mark.usefixtures("unlimited_budgets")
by_list = pytest.mark.parametrize("make", LISTS, ids=lambda make: make.__name__)
many_examples = partial(
    settings,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def sliced(ids: list[str], first, last, after, before) -> dict[str, Any]:
    """The page that the Relay specification's algorithm gives, by list positions.

    A page without rows lies where its last row would have ended, or its first begun.
    """
    start = 0 if after is None else after + 1
    end = len(ids) if before is None else before
    if start > end:
        # The cursors have passed each other: nothing lies between them.
        return {"ids": [], "next": end < len(ids), "previous": start > 0}
    if first is not None:
        end = min(end, start + first)
    if last is not None:
        start = max(start, end - last)
    return {"ids": ids[start:end], "next": end < len(ids), "previous": start > 0}


@by_list
def test_every_combination_of_arguments_is_relays_page(
    make, world: World, partner: Ask
):
    rows = make(world)
    whole = rows(partner, first=100)
    assert [edge["node"]["id"] for edge in whole["edges"]] == rows.ids
    cursors = [edge["cursor"] for edge in whole["edges"]]
    size = st.none() | st.integers(0, len(rows.ids) + 1) | st.just(100)
    place = st.none() | st.integers(0, len(rows.ids) - 1)

    @many_examples(max_examples=count(20, 80))
    @given(first=size, last=size, after=place, before=place)
    def check(first, last, after, before):
        asked = first if first is not None or last is not None else 100
        page = rows(
            partner,
            first=first,
            last=last,
            after=None if after is None else cursors[after],
            before=None if before is None else cursors[before],
        )
        expected = sliced(rows.ids, asked, last, after, before)
        ids = expected["ids"]
        of_page = [cursors[rows.ids.index(id)] for id in ids]
        assert [edge["node"]["id"] for edge in page["edges"]] == ids
        assert [node["id"] for node in page["nodes"]] == ids
        assert [edge["cursor"] for edge in page["edges"]] == of_page
        assert page["totalCount"] == len(rows.ids)
        assert page["pageInfo"] == {
            "hasNextPage": expected["next"],
            "hasPreviousPage": expected["previous"],
            "startCursor": of_page[0] if ids else None,
            "endCursor": of_page[-1] if ids else None,
        }

    check()


@by_list
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_walking_either_way_meets_every_row_once(
    make, size, world: World, partner: Ask
):
    rows = make(world)
    met, cursor = [], None
    while True:
        page = rows(partner, first=size, after=cursor)
        met += [node["id"] for node in page["nodes"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        cursor = page["pageInfo"]["endCursor"]
    assert met == rows.ids
    met, cursor = [], None
    while True:
        page = rows(partner, last=size, before=cursor)
        met = [node["id"] for node in page["nodes"]] + met
        if not page["pageInfo"]["hasPreviousPage"]:
            break
        cursor = page["pageInfo"]["startCursor"]
    assert met == rows.ids


@by_list
@pytest.mark.parametrize("argument", ["first", "last"])
def test_sizes_are_refused_beyond_the_limits_and_never_clamped(
    make, argument, world: World, partner: Ask
):
    rows = make(world)
    for size in (0, 100):
        assert len(rows(partner, **{argument: size})["nodes"]) == min(
            size, len(rows.ids)
        )
    for size in (-1, 101, 2**31 - 1):
        refusal = rows.fails(partner, **{argument: size})
        assert refusal.pop("requestId")
        assert refusal.pop("docUrl") == page_of("BAD_USER_INPUT")
        assert refusal == {
            "code": "BAD_USER_INPUT",
            "argument": argument,
            "maximum": 100,
        }


def test_without_a_size_a_root_list_has_100_rows_and_a_nested_one_20(
    world: World, partner: Ask
):
    Issuer.objects.bulk_create(
        Issuer(
            trading_name=f"Company {number}",
            slug=f"company-{number}",
            trading_location="Lyon",
            owner=world.owner,
        )
        for number in range(100)
    )
    LegacyShareholder.objects.bulk_create(
        LegacyShareholder(
            issuer=world.listed, user=world.owner, number_of_shares=1, price_cents=1
        )
        for number in range(20)
    )
    data = partner(
        '{ issuers { nodes { id } } issuer(slug: "lumen") { '
        "legacyShareholders(first: null, last: null, after: null) { nodes { id } } } }"
    ).data
    assert len(data["issuers"]["nodes"]) == 100
    assert len(data["issuer"]["legacyShareholders"]["nodes"]) == 20


def test_pages_of_several_parents_are_each_their_own(world: World, stranger: Ask):
    expected = {}
    for company in range(6):
        issuer = Issuer.objects.create(
            trading_name=f"N{company}",
            slug=f"n-{company}",
            trading_location="Lyon",
            owner=world.owner,
        )
        expected[issuer.slug] = [
            Token.objects.create(
                issuer=issuer,
                name=f"{company}.{number}",
                symbol=f"T{company}.{number}",
                created_at=START + timedelta(days=number),
            )
            for number in range(company)
        ]
    as_committed()
    tokens = """
      slug tokens(first: $first, last: $last, after: $after, before: $before) {
        totalCount edges { cursor node { name } }
        pageInfo { hasNextPage hasPreviousPage }
      }
    """
    variables = "$first: Int, $last: Int, $after: String, $before: String"
    of_all = (
        f'query ({variables}) {{ issuers(search: "n") {{ nodes {{ {tokens} }} }} }}'
    )
    of_one = f'query ({variables}) {{ issuer(slug: "n-5") {{ {tokens} }} }}'

    def read(**arguments: Any) -> dict[str, Any]:
        if arguments.get("after") or arguments.get("before"):
            nodes = [stranger(of_one, arguments).data["issuer"]]
        else:
            nodes = stranger(of_all, arguments).data["issuers"]["nodes"]
        return {node["slug"]: node["tokens"] for node in nodes}

    whole = read(first=5)
    assert [*whole] == [*expected]
    # A cursor is of one parent's list.
    cursors = [edge["cursor"] for edge in whole["n-5"]["edges"]]
    places = [(token.created_at, token.pk) for token in expected["n-5"]]
    size = st.none() | st.integers(0, 3)
    place = st.none() | st.integers(0, 4)

    @many_examples(max_examples=count(15, 60))
    @given(first=size, last=size, after=place, before=place)
    def check(first, last, after, before):
        pages = read(
            first=first,
            last=last,
            after=None if after is None else cursors[after],
            before=None if before is None else cursors[before],
        )
        for slug in pages:
            tokens = expected[slug]
            own = [(token.created_at, token.pk) for token in tokens]
            asked = first if first is not None or last is not None else 20
            page = sliced(
                [token.name for token in tokens],
                asked,
                last,
                None if after is None else bisect_right(own, places[after]) - 1,
                None if before is None else bisect_left(own, places[before]),
            )
            answer = pages[slug]
            assert answer["totalCount"] == len(tokens)
            assert [edge["node"]["name"] for edge in answer["edges"]] == page["ids"]
            assert answer["pageInfo"] == {
                "hasNextPage": page["next"],
                "hasPreviousPage": page["previous"],
            }

    check()


def test_a_nullable_column_takes_two_keys(world: World):
    """Drafts come last, and no row is met twice where the column is null."""
    latest_first = OrderedList(
        "drafts",
        "Article",
        Article,
        (
            OrderKey("(issuers_article.published_at IS NULL)::integer", "bigint"),
            OrderKey("coalesce(issuers_article.published_at, 'epoch')", "timestamptz"),
        ),
        parent="issuer_id",
    )
    rows = [world.article, world.draft] + [
        Article.objects.create(
            issuer=world.listed,
            title=f"{number}",
            slug=f"a-{number}",
            body="…",
            published_at=START + timedelta(days=number // 2) if number < 5 else None,
        )
        for number in range(9)
    ]
    expected = sorted(
        rows, key=lambda a: (a.published_at is None, a.published_at or START, a.pk)
    )
    document = '{ issuer(slug: "lumen") { articles { nodes { slug } } } }'
    prepared = prepare(schema, document, None, {})
    [issuer] = prepared.plan.selection.fields("Query")
    [articles] = issuer.selection.fields("Issuer")
    info = Info(SimpleNamespace(largest_page=100), articles.selection, {})
    parents = [str(world.listed.pk)]
    for size in (1, 2, 4):
        met, cursor, more = [], None, True
        while more:
            [page] = read_pages(
                latest_first,
                info,
                Article.objects.all(),
                parents,
                first=size,
                after=cursor,
            )
            met += [row.slug for row in page.rows]
            more = page.has_next_page
            [cursor] = encode_cursors(page.rows[-1:])
        assert met == [article.slug for article in expected]
