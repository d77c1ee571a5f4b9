"""How partners find what they may see: by grants, identifiers and filters."""

import string
from datetime import timedelta

import pytest
from stdnum import isin as stdnum_isin
from stdnum.iso7064 import mod_97_10

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models import (
    Article,
    IndustryClassificationBenchmark,
    Issuer,
    Token,
)
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import desk
from tests.characters import START, Ask, World

MANY = 250
COMPANIES = 25
GRANTED = 9


def lei_of(number: int) -> str:
    base = f"9695{number:014d}"
    return base + mod_97_10.calc_check_digits(base)


def isin_of(number: int) -> str:
    base = f"FR{number:09d}"
    return base + stdnum_isin.calc_check_digit(base)


def symbol_of(number: int) -> str:
    letters = string.ascii_uppercase
    return f"M{letters[number // 26]}{letters[number % 26]}"


def company(number: int) -> Issuer:
    """An issuer whose owner has an LEI, with one token that has an ISIN."""
    owner = User.objects.create(
        type=User.Type.COMPANY, company_name=f"Made {number}", lei=lei_of(number)
    )
    issuer = Issuer.objects.create(
        trading_name=f"Made {number:04d}",
        slug=f"made-{number}",
        trading_location="Lyon",
        owner=owner,
    )
    Token.objects.create(
        issuer=issuer, name="Shares", symbol=symbol_of(number), isin=isin_of(number)
    )
    return issuer


@pytest.fixture
def nine_of_25(world: World) -> tuple[Ask, set[str]]:
    """A partner's key, and the slugs of the issuers that it has grants for."""
    partner = Partner.objects.create(login="nine", name="Nine")
    issuers = [company(number) for number in range(COMPANIES)]
    granted = issuers[:: COMPANIES // GRANTED][:GRANTED]
    for issuer in granted:
        approved_grant(partner, issuer)
    key = approved_key(partner, list(Scope))[1]
    return Ask(key), {issuer.slug for issuer in granted}


def test_a_partner_reads_all_tables_that_it_may_see_in_one_request(nine_of_25):
    ask, slugs = nine_of_25
    assert len(slugs) == GRANTED
    answer = ask(
        """{ issuers(first: 25, granted: true) { totalCount nodes { slug viewerGrant
             capitalizationTable { totalValue holders { totalValue } } } } }"""
    )
    page = answer.data["issuers"]
    assert page["totalCount"] == GRANTED
    assert {node["slug"] for node in page["nodes"]} == slugs
    assert {node["viewerGrant"] for node in page["nodes"]} == {True}
    others = ask(
        "{ issuers(granted: false) { totalCount nodes { slug viewerGrant } } }"
    ).data["issuers"]
    assert others["totalCount"] == Issuer.objects.count() - GRANTED
    assert slugs.isdisjoint({node["slug"] for node in others["nodes"]})
    assert {node["viewerGrant"] for node in others["nodes"]} == {False}


def test_grants_are_paged_in_the_order_of_the_issuers_ids(nine_of_25):
    ask, slugs = nine_of_25
    document = """query ($after: String) { viewer { allIssuers
        grants(first: 4, after: $after) { totalCount pageInfo { hasNextPage endCursor }
            nodes { createdAt issuer { id slug } } } } }"""
    found, after = [], None
    while True:
        viewer = ask(document, {"after": after}).data["viewer"]
        assert viewer["allIssuers"] is False
        assert viewer["grants"]["totalCount"] == GRANTED
        found += [node["issuer"] for node in viewer["grants"]["nodes"]]
        if not viewer["grants"]["pageInfo"]["hasNextPage"]:
            break
        after = viewer["grants"]["pageInfo"]["endCursor"]
    ids = [issuer["id"] for issuer in found]
    assert ids == sorted(ids)
    assert {issuer["slug"] for issuer in found} == slugs


def test_a_grant_for_every_issuer_is_told_apart(world: World):
    partner = Partner.objects.create(login="all", name="All")
    approved_grant(partner)
    ask = Ask(approved_key(partner, list(Scope))[1])
    assert ask(
        "{ viewer { allIssuers grants { totalCount } } "
        "all: issuers(granted: true) { nodes { slug viewerGrant } } "
        "none: issuers(granted: false) { totalCount } }"
    ).data == {
        "viewer": {"allIssuers": True, "grants": {"totalCount": 0}},
        "all": {
            "nodes": [
                {"slug": "arbor", "viewerGrant": True},
                {"slug": "lumen", "viewerGrant": True},
            ]
        },
        "none": {"totalCount": 0},
    }


def test_without_a_grant_or_a_key(world: World, observer: Ask, stranger: Ask):
    document = "{ issuers(granted: true) { totalCount } }"
    assert observer(document).data == {"issuers": {"totalCount": 0}}
    for narrowed in ("granted: false", 'granted: false, search: "lumen"'):
        answer = observer(f"{{ issuers({narrowed}) {{ nodes {{ viewerGrant }} }} }}")
        assert {"viewerGrant": False} in answer.data["issuers"]["nodes"]
    answer = stranger(document)
    assert answer.code == "UNAUTHENTICATED"
    seen = stranger("{ issuers(granted: null) { nodes { viewerGrant } } }").data
    assert seen == {"issuers": {"nodes": [{"viewerGrant": False}] * 2}}


def test_many_identifiers_become_objects_in_few_requests(world: World, stranger: Ask):
    companies = [f"Issuer|{company(number).pk}" for number in range(MANY)]
    for name, of in {"lei": lei_of, "isin": isin_of, "symbol": symbol_of}.items():
        ids = {of(number): id for number, id in enumerate(companies)}
        document = f"""query ($codes: [String!]) {{ issuers({name}: $codes) {{ nodes {{
            id lei tokens(first: 1) {{ nodes {{ isin symbol }} }} }} }} }}"""
        asked, found, requests = list(ids), {}, 0
        for start in range(0, MANY, 100):
            codes = [code.lower() for code in asked[start : start + 100]]
            for node in stranger(document, {"codes": codes}).data["issuers"]["nodes"]:
                [token] = node["tokens"]["nodes"]
                found[(node | token)[name]] = node["id"]
            requests += 1
        assert found == ids
        assert requests * 1000 / MANY <= 12


def test_an_identifier_finds_one_object(world: World, partner: Ask, stranger: Ask):
    issuer = company(1)
    token = issuer.tokens.get()
    document = """query ($lei: String, $isin: String, $symbol: String) {
        issuer(lei: $lei) { id } byIsin: token(isin: $isin) { id }
        bySymbol: token(symbol: $symbol) { id } }"""
    codes = {"lei": lei_of(1), "isin": isin_of(1), "symbol": symbol_of(1)}
    for values in (codes, {name: code.lower() for name, code in codes.items()}):
        assert stranger(document, values).data == {
            "issuer": {"id": f"Issuer|{issuer.pk}"},
            "byIsin": {"id": f"Token|{token.pk}"},
            "bySymbol": {"id": f"Token|{token.pk}"},
        }
    for wrong in ("", "\0", "%", "é", "X" * 21, "ſ", lei_of(2)):
        assert stranger(document, dict.fromkeys(codes, wrong)).data == {
            "issuer": None,
            "byIsin": None,
            "bySymbol": None,
        }
    answer = stranger("{ token { id } }")
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["arguments"] == ["id", "symbol", "isin"]


def test_of_an_owners_issuers_its_lei_finds_the_first_by_name(
    world: World, stranger: Ask
):
    for name in ("zebra", "Alpha", "beta"):
        Issuer.objects.create(
            trading_name=name,
            slug=name.lower(),
            trading_location="Lyon",
            owner=world.owner,
        )
    assert stranger(
        f'{{ issuer(lei: "{world.owner.lei}") {{ slug }} '
        f'issuers(lei: "{world.owner.lei}") {{ nodes {{ slug }} }} }}'
    ).data == {
        "issuer": {"slug": "alpha"},
        "issuers": {
            "nodes": [{"slug": slug} for slug in ("alpha", "beta", "lumen", "zebra")]
        },
    }


def test_a_private_token_is_found_with_its_grant_only(
    world: World, partner: Ask, observer: Ask, stranger: Ask
):
    document = """{ token(symbol: "LUMF") { symbol }
        issuers(symbol: ["LUMF"]) { nodes { slug } } }"""
    assert partner(document).data == {
        "token": {"symbol": "LUMF"},
        "issuers": {"nodes": [{"slug": "lumen"}]},
    }
    for ask in (observer, stranger):
        assert ask(document).data == {"token": None, "issuers": {"nodes": []}}


@pytest.mark.parametrize("name", ["lei", "isin", "symbol"])
def test_a_list_of_identifiers_has_at_most_100_and_may_be_empty(
    name, world: World, stranger: Ask
):
    document = (
        f"query ($codes: [String!]) {{ issuers({name}: $codes) {{ totalCount }} }}"
    )
    assert stranger(document, {"codes": []}).data["issuers"]["totalCount"] == 0
    assert stranger(document, {"codes": ["\0"]}).data["issuers"]["totalCount"] == 0
    assert stranger(document, {"codes": None}).data["issuers"]["totalCount"] == 2
    assert stranger(document, {"codes": ["X"] * 100}).data["issuers"]["totalCount"] == 0
    answer = stranger(document, {"codes": ["X"] * 101})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == name
    assert answer.errors[0]["extensions"]["maximum"] == 100


def test_accounts_are_narrowed_by_user_status_and_opening(world: World, partner: Ask):
    accounts = []
    for day in range(4):
        client = User.objects.create(
            type=User.Type.INDIVIDUAL, first_name="C", last_name=str(day)
        )
        at = START + timedelta(days=day)
        accounts.append(Account.objects.open(world.partner, client, desk(), at))
    accounts[2].change_status("ACTIVE", desk(), None)
    document = """query ($user: ID, $status: AccountStatus, $after: Time) {
        accounts(userID: $user, status: $status, createdAfter: $after) {
            totalCount nodes { id } } }"""

    def found(**variables):
        page = partner(document, variables).data["accounts"]
        assert page["totalCount"] == len(page["nodes"])
        ids = [node["id"].partition("|")[2] for node in page["nodes"]]
        return [n for n, account in enumerate(accounts) if str(account.pk) in ids]

    assert found() == [0, 1, 2, 3]
    assert found(user=f"User|{accounts[1].user_id}") == [1]
    assert found(user=f"Account|{accounts[1].pk}") == []
    assert found(user="") == []
    assert found(status="ACTIVE") == [2]
    assert found(after="2024-01-02T12:00:00Z") == [2, 3]
    assert found(after="2024-01-02T11:59:59Z", status="PENDING") == [1, 3]


def test_what_issuers_have_is_narrowed(world: World, partner: Ask):
    figures, period = world.figures, "FIRST_SEMESTER"
    world.shareholders[0].delete()
    Article.objects.create(
        issuer=world.listed,
        title="Later",
        slug="later",
        body="…",
        published_at=START + timedelta(days=1),
    )
    assert partner(
        f"""{{ issuer(slug: "lumen") {{
            year: financialData(year: 2024) {{ totalCount nodes {{ year }} }}
            half: financialData(periodType: {period}) {{ nodes {{ year }} }}
            both: financialData(year: 2025, periodType: YEAR) {{ totalCount }}
            new: articles(publishedAfter: "2024-01-01T12:00:00Z") {{ nodes {{ slug }} }}
            none: articles(publishedAfter: "2024-01-02T12:00:00Z") {{ totalCount }}
            pending: legacyShareholders(status: PENDING) {{ totalCount }}
            delivered: legacyShareholders(status: DELIVERED) {{ totalCount }}
        }} }}"""
    ).data["issuer"] == {
        "year": {"totalCount": 2, "nodes": [{"year": 2024}] * 2},
        "half": {"nodes": [{"year": figures[0].year}, {"year": figures[2].year}]},
        "both": {"totalCount": 0},
        "new": {"nodes": [{"slug": "later"}]},
        "none": {"totalCount": 0},
        "pending": {"totalCount": 6},
        "delivered": {"totalCount": 0},
    }


def test_classification_is_narrowed_by_code(world: World, stranger: Ask):
    for code in ("10101010", "10101015", "10102010", "60101000"):
        IndustryClassificationBenchmark.objects.create(
            industry_code=code[:2],
            supersector_code=code[:4],
            sector_code=code[:6],
            subsector_code=code,
        )
    document = """query ($code: String) { industryClassificationBenchmarks(code: $code)
        { totalCount } }"""
    for code, count in {"10": 3, "101010": 2, "60101000": 1, "99": 0}.items():
        page = stranger(document, {"code": code}).data
        assert page["industryClassificationBenchmarks"]["totalCount"] == count
    answer = stranger(document, {"code": "1"})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == "code"
