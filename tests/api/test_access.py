"""Who may read what: no key, a key without the scope, without the grant, with both."""

from typing import Any

import pytest

from accounts.access import Scope
from accounts.models import Partner
from issuers.models import Issuer
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import Ask, World

READ = {
    "owner": "owner { displayName }",
    "financialData": "financialData { nodes { year } }",
    "legacyShareholders": "legacyShareholders { nodes { numberOfShares } }",
}
SCOPES = {
    "owner": Scope.ISSUERS_READ,
    "financialData": Scope.ISSUERS_READ,
    "legacyShareholders": Scope.SHAREHOLDERS_READ,
}
guarded = pytest.mark.parametrize("field", READ)


def key(scopes: list[Scope], *granted: Issuer | None) -> Ask:
    """The key of a new partner."""
    login = f"other{Partner.objects.count()}"
    partner = Partner.objects.create(login=login, name="Other")
    for issuer in granted:
        if issuer is None:
            approved_grant(partner)
        else:
            approved_grant(partner, issuer)
    return Ask(approved_key(partner, scopes)[1])


def ask_for(field: str, ask: Ask) -> dict[str, Any]:
    """The one error of a field of an issuer; it nulls the issuer, the nearest null."""
    answer = ask(f'{{ issuer(slug: "lumen") {{ tradingName {READ[field]} }} }}')
    assert answer.status == 200
    assert answer.body["data"] == {"issuer": None}
    [error] = answer.errors
    assert error["path"] == ["issuer", field]
    assert error["locations"] == [{"line": 1, "column": 39}]
    assert error["extensions"].pop("requestId") == answer.headers["X-Request-Id"]
    return error["extensions"]


@guarded
def test_without_a_key_it_is_unauthenticated(field, world: World, stranger: Ask):
    assert ask_for(field, stranger) == {"code": "UNAUTHENTICATED"}


@guarded
def test_without_the_scope_it_is_forbidden_whatever_is_granted(field, world: World):
    others = [scope for scope in Scope if scope != SCOPES[field]]
    for scopes in (others, []):
        assert ask_for(field, key(scopes, None)) == {
            "code": "FORBIDDEN",
            "requiredScope": str(SCOPES[field]),
        }


def test_shareholders_without_the_grant_are_forbidden(world: World):
    for granted in ([], [world.quiet]):
        assert ask_for("legacyShareholders", key(list(Scope), *granted)) == {
            "code": "FORBIDDEN",
            "requiredGrant": f"Issuer|{world.listed.pk}",
        }


@guarded
@pytest.mark.parametrize("grant", ["the issuer", "every issuer"])
def test_with_the_scope_and_the_grant_it_answers(field, grant, world: World):
    issuer = world.listed if grant == "the issuer" else None
    ask = key([SCOPES[field]], issuer)
    answer = ask(f'{{ issuer(slug: "lumen") {{ {READ[field]} }} }}')
    assert answer.data["issuer"][field]


@pytest.mark.parametrize("field", ["owner", "financialData"])
def test_what_needs_no_grant_answers_without(field, world: World, observer: Ask):
    answer = observer(f'{{ issuer(slug: "lumen") {{ {READ[field]} }} }}')
    assert answer.data["issuer"][field]


def test_a_missing_grant_nulls_only_its_issuer_where_lists_may_hold_null(
    world: World, partner: Ask
):
    ids = [f"Issuer|{issuer.pk}" for issuer in (world.quiet, world.listed)]
    answer = partner(
        "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Issuer { slug "
        "legacyShareholders { totalCount } } } }",
        {"ids": ids},
    )
    assert answer.body["data"] == {
        "nodes": [None, {"slug": "lumen", "legacyShareholders": {"totalCount": 7}}]
    }
    [error] = answer.errors
    assert error["path"] == ["nodes", 0, "legacyShareholders"]
    assert error["extensions"]["requiredGrant"] == ids[0]


def test_a_missing_grant_nulls_all_where_nothing_between_may_be_null(
    world: World, partner: Ask
):
    answer = partner("{ issuers { nodes { slug legacyShareholders { totalCount } } } }")
    assert answer.body["data"] is None
    [error] = answer.errors
    assert error["path"] == ["issuers", "nodes", 0, "legacyShareholders"]
    assert error["extensions"]["code"] == "FORBIDDEN"


def test_siblings_survive_a_refused_field(world: World, stranger: Ask):
    answer = stranger(
        '{ a: issuer(slug: "lumen") { owner { id } } '
        'b: issuer(slug: "lumen") { slug lei companyName headquartersAddress '
        "tokens { nodes { symbol } } articles { nodes { slug } } } "
        "viewer { login } industryClassificationBenchmarks { totalCount } }"
    )
    assert answer.body["data"] == {
        "a": None,
        "b": {
            "slug": "lumen",
            "lei": "529900T8BM49AURSDO55",
            "companyName": "Lumen Optique SA",
            "headquartersAddress": "3 rue des Lentilles, 21000 Dijon, France",
            "tokens": {"nodes": [{"symbol": "LUM"}]},
            "articles": {"nodes": [{"slug": "hello"}]},
        },
        "viewer": None,
        "industryClassificationBenchmarks": {"totalCount": 0},
    }
    assert [error["path"] for error in answer.errors] == [["a", "owner"]]


def test_private_tokens_need_the_grant_and_no_scope(world: World):
    ask = key([], world.listed)
    answer = ask(
        '{ issuer(slug: "lumen") { tokens(visibility: PRIVATE) '
        "{ totalCount nodes { symbol } } } }"
    )
    assert answer.data["issuer"]["tokens"] == {
        "totalCount": 1,
        "nodes": [{"symbol": "LUMF"}],
    }


def test_the_viewer_is_the_key(world: World, partner: Ask, observer: Ask):
    asked = "{ viewer { login partner scopes } }"
    assert partner(asked).data["viewer"] == {
        "login": "broker_one",
        "partner": "Broker One",
        "scopes": sorted(Scope.values),
    }
    assert observer(asked).data["viewer"]["scopes"] == ["issuers:read"]
