"""Objects that callers may not see, and those who ask for them all the same.

What is hidden answers, byte for byte, as what does not exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
import uuid_utils.compat as uuid

from accounts.access import Scope
from accounts.keys.models import Partner
from accounts.people.models import User, UserHolder
from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    Article,
    Document,
    Issuer,
    IssuerFinancialData,
    Token,
)
from issuers.register import ledger
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import Ask
from tests.issuers.register import people
from tests.pictures import picture_bytes

Callers = dict[str, tuple[Ask, list[str]]]
SHARES = {
    "Token": 20,
    "IssuerLegacyShareholder": 25,
    "Article": 15,
    "Document": 15,
    "User": 10,
    "UserHolder": 10,
    "IssuerFinancialData": 5,
}
PERSONAL = ["IssuerLegacyShareholder", "User", "UserHolder"]
DRAFTS = ["Article", "Document"]
CHUNK = 90


@dataclass
class Hidden:
    """An issuer with what only its partner sees, another that has nothing, and ids."""

    issuer: Issuer
    bare: Issuer
    other: Issuer
    ids: dict[str, list[str]]
    documents: list[Document]


def hide(owner: User, objects: int) -> Hidden:
    """Write this many objects, 10,000 at most, in the proportions of SHARES."""
    counts = {name: objects * share // 100 for name, share in SHARES.items()}
    issuer, bare, other = (
        Issuer.objects.create(
            trading_name=slug, slug=slug, trading_location="Lyon", owner=owner
        )
        for slug in ("hiding", "bare", "other")
    )
    users = User.objects.bulk_create(
        User(type=User.Type.INDIVIDUAL, first_name="A", last_name=f"{number}")
        for number in range(counts["User"])
    )
    documents = Document.objects.bulk_create(
        Document.objects.new_document(f"cover-{number}.png", picture_bytes())
        for number in range(counts["Document"])
    )
    periods = [
        (year, period_type)
        for year in range(1900, 2200)
        for period_type in IssuerFinancialData.PeriodType
    ]
    rows = {
        "User": users,
        "Document": documents,
        "UserHolder": UserHolder.objects.bulk_create(
            UserHolder(user=user, name="A") for user in users
        ),
        "Token": Token.objects.bulk_create(
            Token(
                issuer=issuer,
                name="Founders",
                symbol=f"F{number}",
                visibility=Token.Visibility.PRIVATE,
            )
            for number in range(counts["Token"])
        ),
        "IssuerLegacyShareholder": LegacyShareholder.objects.bulk_create(
            LegacyShareholder(
                issuer=issuer,
                user=users[number % len(users)],
                number_of_shares=1,
                price_cents=1,
            )
            for number in range(counts["IssuerLegacyShareholder"])
        ),
        "Article": Article.objects.bulk_create(
            Article(
                issuer=issuer,
                title="Soon",
                slug=f"draft-{number}",
                body="…",
                cover_image=documents[number],
            )
            for number in range(counts["Article"])
        ),
        "IssuerFinancialData": IssuerFinancialData.objects.bulk_create(
            IssuerFinancialData(issuer=issuer, year=year, period_type=period_type)
            for year, period_type in periods[: counts["IssuerFinancialData"]]
        ),
    }
    ids = {name: [f"{name}|{row.pk}" for row in made] for name, made in rows.items()}
    return Hidden(issuer, bare, other, ids, documents)


def hold(hidden: Hidden) -> list[str]:
    """Mint the hidden tokens for people whom nothing else reveals; their ids."""
    users = people(10)
    profiles = UserHolder.objects.filter(user__in=users)
    accounts = ledger.holder_accounts(user.pk for user in users)
    tokens = Token.objects.filter(issuer=hidden.issuer)
    ledger.record(
        [
            ledger.Entry(token.pk, "MINT", 1, None, account)
            for token in tokens
            for account in accounts.values()
        ],
        "me",
    )
    return [f"User|{user.pk}" for user in users] + [
        f"UserHolder|{profile.pk}" for profile in profiles
    ]


def caller(login: str, scopes: list[Scope], *granted: Issuer | None) -> Ask:
    partner = Partner.objects.create(login=login, name=login)
    for issuer in granted:
        if issuer is None:
            approved_grant(partner)
        else:
            approved_grant(partner, issuer)
    return Ask(approved_key(partner, scopes)[1])


def callers(hidden: Hidden) -> Callers:
    """Callers by what they lack, and the types of which they may see none."""
    shares = [*DRAFTS, *PERSONAL]
    without_shareholders = [s for s in Scope if s != Scope.SHAREHOLDERS_READ]
    return {
        "no key": (Ask(), [*SHARES]),
        "no grant": (caller("newcomer", list(Scope)), [*shares, "Token"]),
        "another's grant": (
            caller("neighbour", list(Scope), hidden.other),
            [*shares, "Token"],
        ),
        "grant, no scope": (
            caller("unscoped", [Scope.CAPTABLE_READ], hidden.issuer),
            [*shares, "IssuerFinancialData"],
        ),
        "grant, other scopes": (
            caller("other_scopes", without_shareholders, None),
            shares,
        ),
        "every right": (caller("granted", list(Scope), hidden.issuer), DRAFTS),
    }


def chunks(ids: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def unknown(type_name: str, count: int) -> list[str]:
    return [f"{type_name}|{uuid.uuid7()}" for _ in range(count)]


def body_of(ask: Ask, document: str, variables: dict[str, Any]) -> bytes:
    answer = ask(document, variables)
    assert answer.status == 200
    return orjson.dumps(answer.body)


NODES = """
query ($ids: [ID!]!) {
  nodes(ids: $ids) {
    __typename id ... on User { displayName }
    ... on Token { symbol issuer { id } orderBook { sequence } }
    ... on Article { coverImage { id } } ... on IssuerFinancialData { issuer { id } }
    ... on IssuerLegacyShareholder { user { id } issuer { id } }
    ... on UserHolder { user { id } } ... on Document { url }
  }
}
"""


def singly(field: str, count: int) -> str:
    """A document that asks one id by one, under aliases."""
    variables = ", ".join(f"$i{n}: ID!" for n in range(count))
    fields = " ".join(f"a{n}: {field}(id: $i{n}) {{ id }}" for n in range(count))
    return f"query ({variables}) {{ {fields} }}"


def numbered(ids: list[str]) -> dict[str, str]:
    return {f"i{n}": id for n, id in enumerate(ids)}


def ask_for_hidden(hidden: Hidden, blind: Callers) -> int:
    """Ask each caller for all that it may not see, by every field that takes an id.

    Raises:
        AssertionError: an answer differs from that for ids that do not exist.
    """
    asked = 0
    for ask, types in blind.values():
        for name in types:
            for ids in chunks(hidden.ids[name], 100):
                answer = body_of(ask, NODES, {"ids": ids})
                absent = unknown(name, len(ids))
                assert answer == body_of(ask, NODES, {"ids": absent})
                assert answer == orjson.dumps({"data": {"nodes": [None] * len(ids)}})
                asked += len(ids)
            for field in ("node", "token", "issuer"):
                for ids in chunks(hidden.ids[name], CHUNK):
                    document = singly(field, len(ids)).replace(
                        "ID!", "ID!" if field != "issuer" else "ID"
                    )
                    answer = orjson.loads(body_of(ask, document, numbered(ids)))
                    assert {*answer["data"].values()} == {None}
    return asked


def ask_with_the_right_key(hidden: Hidden, blind: Callers) -> int:
    """Ask for everything as the partner that may see it; how many objects answered.

    Raises:
        AssertionError: an object did not answer.
    """
    ask, _ = blind["every right"]
    # Of a draft there is no right key: it is seen by all once it is published.
    Article.objects.filter(issuer=hidden.issuer).update(published_at=datetime.now(UTC))
    seen = 0
    for ids in hidden.ids.values():
        for part in chunks(ids, 100):
            answer = ask(NODES, {"ids": part})
            assert [node["id"] for node in answer.data["nodes"]] == part
            seen += len(part)
        for part in chunks(ids, CHUNK):
            answer = ask(singly("node", len(part)), numbered(part))
            assert [node["id"] for node in answer.data.values()] == part
    for part in chunks(hidden.ids["Token"], CHUNK):
        answer = ask(singly("token", len(part)), numbered(part))
        assert [token["id"] for token in answer.data.values()] == part
    return seen
