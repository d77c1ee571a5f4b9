"""Access to fields: without a key, without the scope, without the grant, with both."""

import uuid
from typing import Any

import pytest

from accounts.access import OF_ACCOUNTS, Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Issuer
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import Ask, World, page_of
from tests.marketdata.trading.trading import (
    as_committed,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)

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
    assert error["extensions"].pop("docUrl") == page_of(answer.code)
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


ACCOUNT = """
query ($id: String!, $ids: [ID!]!) {
  account(id: $id) { id status statusReason reference allowedStatuses }
  accounts { totalCount nodes { id status statusReason reference allowedStatuses } }
  nodes(ids: $ids) { id ... on Account { allowedStatuses } }
}
"""
TOLD = """{ events { nodes { type account { id } subject { id } } } }"""


@pytest.fixture
def client(world: World) -> Account:
    """It has 5 € and an order."""
    [account] = new_clients(1, world.partner)
    deposit(account, 500)
    token = new_market()
    give(token, {account: 1})
    placed(token, sell(account, 1, 100))
    as_committed()
    return account


@pytest.mark.parametrize("scope", [*Scope, None])
def test_one_rule_says_who_is_told_of_an_account(
    scope: Scope | None, client: Account, world: World
):
    """Each scope that reads of accounts opens them, wherever they are named."""
    ask = Ask(approved_key(world.partner, [scope] if scope else [])[1])
    id = f"Account|{client.pk}"
    answer = ask(ACCOUNT, {"id": id, "ids": [id]})
    events = ask(TOLD).data["events"]["nodes"]
    of_account = [
        event
        for event in events
        if event["type"].startswith(("ACCOUNT_", "CASH_", "ORDER_", "INVESTOR_"))
    ]
    if scope not in OF_ACCOUNTS:
        assert {error["path"][0] for error in answer.errors} == {"accounts", "account"}
        for error in answer.errors:
            assert error["extensions"]["code"] == "FORBIDDEN"
            assert error["extensions"]["requiredScope"] == "accounts:read"
        assert answer.body["data"] is None
        assert ask(
            "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": [id]}
        ).data == {"nodes": [None]}
        assert of_account == []
        return
    assert answer.data["accounts"] == {
        "totalCount": 1,
        "nodes": [answer.data["account"]],
    }
    assert answer.data["account"]["id"] == answer.data["nodes"][0]["id"] == id
    assert [event["account"] for event in of_account] == [{"id": id}] * len(of_account)
    assert all(event["subject"] for event in of_account)
    if scope == Scope.TRADING_READ:
        orders = ask(
            "{ orders { nodes { account { id status statusReason reference "
            "allowedStatuses } } } }"
        ).data["orders"]
        assert orders["nodes"] == [{"account": answer.data["account"]}]


def test_cash_is_read_with_its_scope_alone(client: Account, world: World):
    ask = Ask(approved_key(world.partner, [Scope.CASH_READ])[1])
    found = ask(
        "{ accounts { nodes { cash { balance } cashEntries { totalCount } } } }"
    )
    assert found.data["accounts"]["nodes"] == [
        {"cash": {"balance": 500}, "cashEntries": {"totalCount": 1}}
    ]
    told = ask("{ events { nodes { type account { cash { balance } } } } }").data
    changed = {"type": "CASH_CHANGED", "account": {"cash": {"balance": 500}}}
    assert changed in told["events"]["nodes"]


@pytest.mark.parametrize("scope", OF_ACCOUNTS)
def test_who_a_client_is_needs_the_scope_of_accounts(
    scope: Scope, client: Account, world: World
):
    ask = Ask(approved_key(world.partner, [scope])[1])
    user = f"User|{client.user_id}"
    for field in ("user { id }", "statusHistory { totalCount }"):
        answer = ask(f"{{ accounts {{ nodes {{ {field} }} }} }}")
        assert ("errors" not in answer.body) == (scope == Scope.ACCOUNTS_READ)
    for found in (user, f"User|{uuid.uuid4()}"):
        answer = ask(f'{{ accounts(userID: "{found}") {{ totalCount }} }}')
        if scope != Scope.ACCOUNTS_READ:
            assert answer.code == "FORBIDDEN"
    nodes = ask("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": [user]})
    told = [{"id": user}] if scope == Scope.ACCOUNTS_READ else [None]
    assert nodes.data["nodes"] == told


@pytest.mark.parametrize("scope", OF_ACCOUNTS)
def test_another_partner_is_told_of_no_account(
    scope: Scope, client: Account, world: World
):
    ask = key([scope], None)
    id = f"Account|{client.pk}"
    answer = ask(ACCOUNT, {"id": id, "ids": [id]})
    assert answer.data == {
        "account": None, "accounts": {"totalCount": 0, "nodes": []}, "nodes": [None],
    }  # fmt: skip
