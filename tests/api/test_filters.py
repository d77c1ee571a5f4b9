"""What narrows the list of issuers, and the two ways to name one."""

import pytest

from issuers.models import IndustryClassificationBenchmark, Issuer
from tests.api.test_search import NAMES as OF_SEARCH
from tests.characters import Ask, World
from tests.owner import as_committed

NAMES = OF_SEARCH[:12]


@pytest.fixture
def issuers(world: World) -> World:
    codes = ["10101010", "10101015", "10102010", "60101000"]
    benchmarks = [
        IndustryClassificationBenchmark.objects.create(
            industry_code=code[:2],
            supersector_code=code[:4],
            sector_code=code[:6],
            subsector_code=code,
        )
        for code in codes
    ]
    for number, name in enumerate(NAMES):
        Issuer.objects.create(
            trading_name=name,
            slug=f"i-{number}",
            trading_location="Lyon",
            owner=world.owner,
            country_id=["PT", "FR", None][number % 3],
            industry_classification_benchmark=[*benchmarks, None][number % 5],
        )
    as_committed()
    return world


def found(ask: Ask, **arguments: str) -> set[str]:
    document = """
    query ($search: String, $country: String, $industryCode: String) {
      issuers(search: $search, country: $country, industryCode: $industryCode) {
        totalCount nodes { tradingName }
      }
    }
    """
    page = ask(document, arguments).data["issuers"]
    assert page["totalCount"] == len(page["nodes"])
    return {node["tradingName"] for node in page["nodes"]}


def refused(ask: Ask, **arguments: str) -> str:
    document = """
    query ($search: String, $country: String, $industryCode: String) {
      issuers(search: $search, country: $country, industryCode: $industryCode) {
        totalCount
      }
    }
    """
    answer = ask(document, arguments)
    assert answer.status == 200
    assert answer.code == "BAD_USER_INPUT"
    return answer.errors[0]["extensions"]["argument"]


@pytest.mark.parametrize(
    ("country", "count"),
    [("PT", 4), ("FR", 5), ("XK", 0), ("pt", 4), ("fR", 5), ("xk", 0)],
)
def test_country_narrows_the_list(country, count, issuers: World, stranger: Ask):
    assert len(found(stranger, country=country)) == count


@pytest.mark.parametrize("country", ["FRA", "F", "F1", "fr ", "É€", "ﬁ", "F\0"])
def test_a_country_is_two_letters(country, issuers: World, stranger: Ask):
    assert refused(stranger, country=country) == "country"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("10", 8),
        ("1010", 8),
        ("101010", 6),
        ("10101010", 3),
        ("60101000", 2),
        ("6010", 2),
        ("99", 0),
        ("", 14),
    ],
)
def test_an_industry_code_narrows_the_list(code, count, issuers: World, stranger: Ask):
    assert len(found(stranger, industryCode=code)) == count


def test_an_issuer_is_of_the_industry_that_its_code_says(issuers: World, stranger: Ask):
    Issuer.objects.update(industry_code="99999999")
    assert found(stranger, industryCode="99") == set()
    coded = IndustryClassificationBenchmark.objects.filter(subsector_code="60101000")
    coded.update(
        industry_code="45",
        supersector_code="4510",
        sector_code="451010",
        subsector_code="45101010",
    )
    assert len(found(stranger, industryCode="45")) == 2
    assert found(stranger, industryCode="60") == set()
    Issuer.objects.update(industry_classification_benchmark=None)
    assert found(stranger, industryCode="45") == set()


@pytest.mark.parametrize(
    "code", ["1", "101", "1010101", "1010101010", "1x", "١٠", "%%"]
)
def test_an_industry_code_has_2_4_6_or_8_digits(code, issuers: World, stranger: Ask):
    assert refused(stranger, industryCode=code) == "industryCode"


def test_filters_narrow_together_and_their_pages_are_whole(
    issuers: World, stranger: Ask
):
    assert found(stranger, search="ze", country="FR") == {"zen_x"}
    assert found(stranger, search="ze", country="FR", industryCode="60") == set()
    document = """
    query ($after: String) {
      issuers(first: 2, after: $after, search: "ZEN") {
        totalCount nodes { tradingName } pageInfo { hasNextPage endCursor }
      }
    }
    """
    first = stranger(document).data["issuers"]
    rest = stranger(document, {"after": first["pageInfo"]["endCursor"]}).data["issuers"]
    assert [page["totalCount"] for page in (first, rest)] == [4, 4]
    assert [page["pageInfo"]["hasNextPage"] for page in (first, rest)] == [True, False]
    names = [node["tradingName"] for page in (first, rest) for node in page["nodes"]]
    assert names == ["Zen 100%", "Zen 1000", "zen_x", "Zenyx"]


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "(id: null)",
        "(id: null, slug: null)",
        '(id: "Issuer|1", slug: "lumen")',
        '(slug: "lumen", lei: "529900T8BM49AURSDO55")',
    ],
)
def test_an_issuer_is_named_by_exactly_one_argument(
    arguments, world: World, stranger: Ask
):
    answer = stranger(f"{{ issuer{arguments} {{ slug }} }}")
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["arguments"] == ["id", "slug", "lei"]
    assert answer.body["data"] == {"issuer": None}


def test_an_issuer_is_found_by_its_id_and_by_its_slug(world: World, stranger: Ask):
    document = (
        "query ($id: ID, $slug: String) { issuer(id: $id, slug: $slug) { slug } }"
    )
    for variables in ({"id": f"Issuer|{world.listed.pk}"}, {"slug": "lumen"}):
        assert stranger(document, variables).data == {"issuer": {"slug": "lumen"}}


@pytest.mark.parametrize(
    "id",
    [
        "",
        "Issuer",
        "Issuer|",
        "|",
        "Issuer|{uuid}|",
        "Issuer|{uuid} ",
        " Issuer|{uuid}",
        "Issuer|{uuid}\n",
        "issuer|{uuid}",
        "Token|{uuid}",
        "Issuer|{upper}",
        "Issuer|{hex}",
        "Issuer|{{{uuid}}}",
        "Issuer|00000000-0000-0000-0000-000000000000",
        "Issuer|\0",
        "Issuer|' OR TRUE --",
        "SXNzdWVyOjE=",
    ],
)
def test_an_id_that_names_nothing_is_null(id, world: World, stranger: Ask):
    key = world.listed.pk
    id = id.format(uuid=key, upper=str(key).upper(), hex=key.hex)
    answer = stranger(
        "query ($id: ID!) { node(id: $id) { id } nodes(ids: [$id]) { id } "
        "issuer(id: $id) { id } token(id: $id) { id } }",
        {"id": id},
    )
    assert answer.data == {"node": None, "nodes": [None], "issuer": None, "token": None}


@pytest.mark.parametrize("slug", ["", "Lumen", "lumen ", "lu men", "lumen\0", "%", "é"])
def test_a_slug_that_names_nothing_is_null(slug, world: World, stranger: Ask):
    answer = stranger("query ($s: String) { issuer(slug: $s) { id } }", {"s": slug})
    assert answer.data == {"issuer": None}


def test_nodes_keep_the_order_and_take_at_most_100(world: World, stranger: Ask):
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    ids = [f"Issuer|{issuer.pk}" for issuer in (world.listed, world.quiet)]
    ids += [f"Token|{world.public_token.pk}", f"Token|{world.private_token.pk}"]
    ids += [f"Article|{world.article.pk}", ids[0]]
    answer = stranger(document, {"ids": ids})
    assert answer.data["nodes"] == [
        None if str(world.private_token.pk) in id else {"id": id} for id in ids
    ]
    assert len(stranger(document, {"ids": ids[:1] * 100}).data["nodes"]) == 100
    answer = stranger(document, {"ids": ids[:1] * 101})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["maximum"] == 100
    assert stranger(document, {"ids": []}).data == {"nodes": []}
