"""What a caller may not see looks exactly like what does not exist.

With 10,000 objects: python -m tests.benchmarks.disclosure
"""

from datetime import UTC, datetime

import orjson
import pytest
import uuid_utils.compat as uuid
from django.test import Client

from issuers.models import Article
from tests.api.hidden import (
    NODES,
    Callers,
    Hidden,
    ask_for_hidden,
    ask_with_the_right_key,
    body_of,
    callers,
    hide,
    hold,
)
from tests.characters import Ask, World

pytestmark = pytest.mark.usefixtures("unlimited_budgets")

PAGE = """
    totalCount edges { cursor node { id } } nodes { id }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
"""


@pytest.fixture
def hidden(world: World) -> Hidden:
    return hide(world.owner, 400)


@pytest.fixture
def blind(hidden: Hidden) -> Callers:
    return callers(hidden)


def test_hidden_ids_answer_as_ids_that_do_not_exist(hidden: Hidden, blind: Callers):
    # 400 without a key; without a grant all but the 20 figures, twice; and so on.
    assert ask_for_hidden(hidden, blind) == 400 + 2 * 380 + 320 + 300 + 120


@pytest.mark.parametrize("name", ["no key", "no grant", "another's grant"])
def test_who_holds_hidden_tokens_is_hidden_too(name, hidden: Hidden, blind: Callers):
    table = """
    query ($slug: String) { issuer(slug: $slug) { capitalizationTable {
      totalValue holders { user { id } userHolder { id } } tokens { tokenID } } } }
    """
    ids = hold(hidden)
    ask, _ = blind[name]
    answers = [ask(table, {"slug": slug}).body for slug in ("hiding", "bare")]
    for answer in answers:
        [error] = answer["errors"]
        del error["extensions"]["requestId"]
        error["extensions"].pop("requiredGrant", None)
    assert answers[0] == answers[1]
    assert answers[0]["data"] == {"issuer": None}
    assert ask(NODES, {"ids": ids}).body == {"data": {"nodes": [None] * 20}}
    # The scope and the grant for the register are what shows them.
    ask, _ = blind["grant, no scope"]
    holders = ask(table, {"slug": "hiding"}).data["issuer"]["capitalizationTable"][
        "holders"
    ]
    seen = {h["user"]["id"] for h in holders} | {h["userHolder"]["id"] for h in holders}
    assert seen == set(ids)
    assert [node["id"] for node in ask(NODES, {"ids": ids}).data["nodes"]] == ids


def test_the_right_key_sees_every_one_of_them(hidden: Hidden, blind: Callers):
    assert ask_with_the_right_key(hidden, blind) == 400


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "first: 0",
        "last: 0",
        "first: 1",
        "last: 1",
        "after: $cursor",
        "before: $cursor",
        "first: 1, after: $cursor, before: $cursor",
    ],
)
@pytest.mark.parametrize("field", ["tokens", "tokens private", "articles"])
def test_lists_with_hidden_rows_are_lists_without(
    field, arguments, hidden: Hidden, blind
):
    """No count, flag or cursor reveals them, nor does the cursor of one of them."""
    name, _, private = field.partition(" ")
    given = ", ".join(filter(None, [arguments, "visibility: PRIVATE" * bool(private)]))
    declared = "$slug: String, $cursor: String" if "$" in given else "$slug: String"
    document = f"""
    query ({declared}) {{
      issuer(slug: $slug) {{ {name}{f"({given})" * bool(given)} {{ {PAGE} }} }}
    }}
    """
    cursor = cursor_in_the_middle(name, hidden, blind["every right"][0])
    for ask, types in blind.values():
        if name == "tokens" and "Token" not in types:
            continue
        variables = {"cursor": cursor} if "$cursor" in given else {}
        answer = body_of(ask, document, {"slug": "hiding", **variables})
        if not variables:
            assert answer == body_of(ask, document, {"slug": "bare"})
        page = orjson.loads(answer)["data"]["issuer"][name]
        assert page["totalCount"] == 0
        assert page["edges"] == []
        assert page["pageInfo"] == {
            "hasNextPage": False,
            "hasPreviousPage": False,
            "startCursor": None,
            "endCursor": None,
        }


def cursor_in_the_middle(name: str, hidden: Hidden, ask: Ask) -> str:
    """A cursor of a hidden row, as someone who may see it would hand it on."""
    articles = Article.objects.filter(issuer=hidden.issuer)
    articles.update(published_at=datetime.now(UTC))
    document = (
        f'{{ issuer(slug: "hiding") {{ {name}(first: 50) '
        "{ pageInfo { endCursor } } } }"
    )
    page = ask(document).data["issuer"][name]
    articles.update(published_at=None)
    return page["pageInfo"]["endCursor"]


def test_a_list_without_a_grant_is_refused_whether_it_has_rows_or_not(
    hidden: Hidden, blind
):
    document = """
    query ($slug: String!) {
      issuer(slug: $slug) { legacyShareholders { totalCount nodes { id } } }
    }
    """
    for ask, types in blind.values():
        if "IssuerLegacyShareholder" not in types:
            continue
        answers = [ask(document, {"slug": issuer}) for issuer in ("hiding", "bare")]
        for answer, issuer in zip(answers, (hidden.issuer, hidden.bare), strict=True):
            [error] = answer.errors
            assert error["extensions"].pop("requestId")
            grant = error["extensions"].pop("requiredGrant", f"Issuer|{issuer.pk}")
            assert grant == f"Issuer|{issuer.pk}"
        assert answers[0].body == answers[1].body


def test_covers_of_drafts_are_not_served(hidden: Hidden):
    client = Client()
    for document in hidden.documents[::50]:
        answers = [
            client.get(f"/documents/{pk}/{document.name}")
            for pk in (document.pk, uuid.uuid7())
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].content == answers[1].content
        assert {*answers[0].headers} == {*answers[1].headers}
    Article.objects.filter(issuer=hidden.issuer).update(published_at=datetime.now(UTC))
    published = hidden.documents[0]
    answer = client.get(f"/documents/{published.pk}/{published.name}")
    assert answer.content == published.content
