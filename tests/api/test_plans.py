"""PostgreSQL's plans of pages: an index in the list's order, read where a page begins.

What page 10,000 of a million rows costs is measured by tests.benchmarks.pages.
"""

from collections.abc import Iterator
from string import Template
from typing import Any

import orjson
import pytest
from django.db import connection

from issuers.search import BY_RARITY
from tests.characters import Ask, World
from tests.owner import as_committed

pytestmark = pytest.mark.usefixtures("unlimited_budgets")
FILLED = [
    "issuers_issuer",
    "issuers_industryclassificationbenchmark",
    "issuers_token",
    "issuers_article",
    "issuers_legacyshareholder",
    "issuers_issuerfinancialdata",
    "accounts_user",
]
FILL = {
    "issuers": """
        INSERT INTO issuers_issuer (id, trading_name, slug, trading_location, owner_id)
        SELECT gen_random_uuid(), 'Company ' || mod(n, 1000), 'c-' || n, 'Lyon', %s
        FROM generate_series(1, 4000) AS n
    """,
    "industryClassificationBenchmarks": """
        INSERT INTO issuers_industryclassificationbenchmark (id, industry_code,
            industry, supersector_code, supersector, sector_code, sector,
            subsector_code, subsector, description)
        SELECT gen_random_uuid(), left(code, 2), '', left(code, 4), '', left(code, 6),
            '', code, '', ''
        FROM (SELECT (n + 10000000)::text AS code FROM generate_series(1, 4000) AS n) s
    """,
    "tokens": """
        INSERT INTO issuers_token (id, issuer_id, name, symbol, market_type, visibility,
            created_at)
        SELECT gen_random_uuid(), %s, 'Class', 'S' || n, 'PRIMARY_MARKET', 'PUBLIC',
            '2024-05-01'::timestamptz + mod(n, 1000) * interval '1 minute'
        FROM generate_series(1, 4000) AS n
    """,
    "articles": """
        INSERT INTO issuers_article (id, issuer_id, title, slug, body, published_at)
        SELECT gen_random_uuid(), %s, 'News', 'news-' || n, '',
            '2024-05-01'::timestamptz + mod(n, 1000) * interval '1 minute'
        FROM generate_series(1, 4000) AS n
    """,
    "legacyShareholders": """
        INSERT INTO issuers_legacyshareholder (id, issuer_id, user_id, status,
            number_of_shares, price_cents, created_at)
        SELECT gen_random_uuid(), issuer.id, owner_id, 'PENDING', 1, 1,
            '2024-05-01'::timestamptz + mod(n, 1000) * interval '1 minute'
        FROM generate_series(1, 4000) AS n, issuers_issuer AS issuer
        WHERE issuer.id = %s
    """,
    # Years beyond those that it may have would be needed for as many rows of one
    # issuer, so here are several issuers.
    "financialData": """
        WITH made AS (
            INSERT INTO issuers_issuer (id, trading_name, slug, trading_location,
                owner_id)
            SELECT gen_random_uuid(), 'Company ' || n, 'company-' || n, 'Lyon', owner_id
            FROM generate_series(1, 20) AS n, issuers_issuer AS issuer
            WHERE issuer.id = %s
            RETURNING id
        )
        INSERT INTO issuers_issuerfinancialdata (id, issuer_id, year, period_type)
        SELECT gen_random_uuid(), issuer_id, year, period_type
        FROM (SELECT id FROM made UNION SELECT id FROM issuers_issuer) AS i(issuer_id),
            generate_series(1900, 2020) AS year,
            unnest(array['YEAR', 'FIRST_SEMESTER']) AS period_type
    """,
}
NODE = {
    "issuers": "tradingName lei headquartersAddress",
    "industryClassificationBenchmarks": "subsector",
    "tokens": "symbol",
    "articles": "title",
    "legacyShareholders": "numberOfShares",
    "financialData": "revenue",
}
PUBLISHED = "(published_at <= statement_timestamp())"
AT_ROOT = ("issuers", "industryClassificationBenchmarks")
WHERE = {
    "from the start": "first: 10",
    "after a cursor": "first: 10, after: $middle",
    "from the end": "last: 10",
    "before a cursor": "last: 10, before: $middle",
    "backwards after a cursor": "last: 10, after: $middle",
    "between cursors": "first: 10, after: $middle, before: $far",
}


def document(name: str, arguments: str) -> str:
    field = f"""{name}({arguments}) {{
        nodes {{ {NODE[name]} }} pageInfo {{ hasNextPage startCursor endCursor }}
    }}"""
    if name not in AT_ROOT:
        field = f'issuers(symbol: "LUM") {{ nodes {{ {field} }} }}'
    return f"{{ {field} }}"


def page_info(name: str, data: dict[str, Any]) -> dict[str, Any]:
    if name not in AT_ROOT:
        [data] = data["issuers"]["nodes"]
    return data[name]["pageInfo"]


def planned(ask: Ask, text: str) -> tuple[Any, list[dict[str, Any]]]:
    """What a document answers, and the plan of its last statement as it was run."""
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
        asked.append((sql, values))
        return execute(sql, values, many, context)

    with connection.execute_wrapper(note):
        data = ask(text).data
    statement, values = asked[-1]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
        [[plan]] = cursor.fetchall()
    [root] = orjson.loads(plan) if isinstance(plan, str) else plan
    return data, [*nodes_of(root["Plan"])]


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes_of(inner)


@pytest.fixture(params=NODE)
def name(request: pytest.FixtureRequest, world: World) -> str:
    """A list that has become long."""
    parent = world.owner.pk if request.param == "issuers" else world.listed.pk
    fill = FILL[request.param]
    with connection.cursor() as cursor:
        cursor.execute(fill, [parent] if "%s" in fill else None)
        cursor.execute("SELECT partnerapi_analyze(%s)", [FILLED])
    return request.param


def test_a_page_reads_an_index_from_where_it_begins(name: str, partner: Ask):
    middle = page_info(name, partner(document(name, "first: 90")).data)["endCursor"]
    far = page_info(name, partner(document(name, "last: 1")).data)["endCursor"]
    for where, arguments in WHERE.items():
        given = Template(arguments).substitute(middle=f'"{middle}"', far=f'"{far}"')
        data, nodes = planned(partner, document(name, given))
        assert page_info(name, data)
        table = f"issuers_{NAMES[name]}"
        scans = [node for node in nodes if node.get("Relation Name") == table]
        case = f"{name} {where}"
        assert scans, case
        assert not [n for n in nodes if "Sort" in n["Node Type"]], case
        for scan in scans:
            assert scan["Node Type"] in ("Index Scan", "Index Only Scan"), case
            assert scan["Actual Loops"] == 1, case
            assert scan["Actual Rows"] <= 11, case
            assert scan.get("Rows Removed by Filter", 0) == 0, case
            found_by = scan.get("Index Cond", "").replace(PUBLISHED, "")
            compares = bool({*"<>"} & {*found_by})
            assert compares == ("$" in arguments), (case, scan)


# Every company of the list has the word; ten names begin with "company 99".
SEARCHES = {
    "company": "a page in the middle of a word that all have",
    "company 99": "a beginning, and then a word with a rare one",
    "made compa": "two words that all have, the last one begun",
    "c": "the names that begin with a letter",
    "company 999": "several words, one of them rare",
}
MOST_TERMS_READ = 100


@pytest.mark.parametrize("name", ["issuers"], indirect=True)
def test_a_search_reads_about_as_many_terms_as_its_page_holds(name: str, stranger: Ask):
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE issuers_issuer SET trading_name = 'Made ' || trading_name"
            " WHERE mod(hashtext(id::text), 2) = 0 AND trading_name LIKE 'C%'"
        )
    as_committed()
    with connection.cursor() as cursor:
        cursor.execute("SELECT partnerapi_analyze(%s)", [["issuers_issuerterm"]])
    for text, case in SEARCHES.items():
        first = f'{{ issuers(search: "{text}", first: 10) {{ nodes {{ slug }} '
        first += "pageInfo { endCursor } } }"
        data = stranger(first).data
        cursor_key = data["issuers"]["pageInfo"]["endCursor"]
        for arguments in ("first: 10", f'first: 10, after: "{cursor_key}"', "last: 10"):
            document = f'{{ issuers(search: "{text}", {arguments}) {{'
            document += " nodes { slug } pageInfo { hasNextPage hasPreviousPage } } }"
            read = sum(
                (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
                * node["Actual Loops"]
                for nodes in all_planned(stranger, document, "issuers_issuerterm")
                for node in nodes
                if node.get("Relation Name") == "issuers_issuerterm"
            )
            assert 0 < read <= MOST_TERMS_READ, (case, arguments)


@pytest.mark.parametrize("name", ["issuers"], indirect=True)
def test_a_search_whose_filter_finds_little_reads_the_terms_of_that(
    name: str, stranger: Ask
):
    found = {
        'updatedSince: "2099-01-01T00:00:00Z"': 0,
        'isin: ["FR0000000000"]': 0,
        'country: "ZZ"': 0,
        'industryCode: "99"': 0,
        'symbol: ["LUM"]': 0,
        'country: "FR"': 20,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE issuers_issuer SET country_id = 'FR' WHERE id IN (SELECT id FROM"
            " issuers_issuer WHERE trading_name LIKE 'Company%' LIMIT 20)"
        )
    as_committed()
    with connection.cursor() as cursor:
        tables = ["issuers_issuer", "issuers_issuerterm"]
        cursor.execute("SELECT partnerapi_analyze(%s)", [tables])
    for narrowing, count in found.items():
        document = f'{{ issuers(search: "company", first: 50, {narrowing}) {{'
        document += " nodes { tradingName } } }"
        answered = stranger(document).data["issuers"]["nodes"]
        assert len(answered) == count, narrowing
        assert answered == sorted(answered, key=lambda node: node["tradingName"])
        read = sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
            * node["Actual Loops"]
            for nodes in all_planned(stranger, document, "issuers_issuerterm")
            for node in nodes
            if node.get("Relation Name") == "issuers_issuerterm"
        )
        assert read <= max(200, 150 * count), narrowing


def all_planned(
    ask: Ask, text: str, table: str, variables: dict[str, Any] | None = None
) -> list[list[dict[str, Any]]]:
    """The plans, as they were run, of the statements that read a table."""
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
        if table in sql and sql is not BY_RARITY:
            asked.append((sql, values))
        return execute(sql, values, many, context)

    with connection.execute_wrapper(note):
        assert ask(text, variables).data
    plans = []
    for statement, values in asked:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
            [[[root]]] = cursor.fetchall()
        plans.append([*nodes_of(root["Plan"])])
    return plans


@pytest.mark.parametrize("name", ["legacyShareholders"], indirect=True)
def test_a_status_that_no_line_has_reads_no_line(name: str, partner: Ask):
    text = document(name, "first: 10, status: DELIVERED")
    data, nodes = planned(partner, text)
    assert data["issuers"]["nodes"] == [
        {name: {"nodes": [], "pageInfo": page_info(name, data)}}
    ]
    [scan] = [n for n in nodes if n.get("Relation Name") == f"issuers_{NAMES[name]}"]
    assert scan["Index Name"] == "legacy_shareholder_by_status"
    assert scan["Actual Rows"] == scan.get("Rows Removed by Filter", 0) == 0


NAMES = {
    "issuers": "issuer",
    "industryClassificationBenchmarks": "industryclassificationbenchmark",
    "tokens": "token",
    "articles": "article",
    "legacyShareholders": "legacyshareholder",
    "financialData": "issuerfinancialdata",
}
