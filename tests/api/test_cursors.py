"""What comes back as a cursor and is none, or another list's."""

import base64
import zlib
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from issuers.models import Issuer, IssuerGrant
from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.sandbox.data.approvals import approved_grant
from tests.characters import START, Ask, World
from tests.issuers.register import empty_token
from tests.marketdata.trading.trading import (
    give,
    new_clients,
    new_market,
    place,
    sell,
)
from tests.tiers import count

pytestmark = pytest.mark.usefixtures("unlimited_budgets")
many_examples = partial(
    settings,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
LISTS = {
    "issuers": "{ issuers(first: 1) { pageInfo { endCursor } } }",
    "industryClassificationBenchmarks": (
        "{ industryClassificationBenchmarks(first: 1) { pageInfo { endCursor } } }"
    ),
} | {
    name: f'{{ issuer(slug: "lumen") {{ {name}(first: 1) '
    "{ pageInfo { endCursor } } } }"
    for name in ("tokens", "articles", "financialData", "legacyShareholders")
}
UUID = "0189abcd-0000-7000-8000-00000000000f"
TIME = "2024-05-01 00:00:00+00"


def forged(place: str | bytes, version: bytes = b"\x01") -> str:
    """A cursor with a checksum that is right."""
    if isinstance(place, str):
        place = place.encode()
    content = version + zlib.crc32(place).to_bytes(4, "big") + place
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def ask_after(ask: Ask, name: str, cursor: str, argument: str = "after"):
    document = LISTS[name].replace("first: 1", f"first: 1, {argument}: $cursor")
    return ask(f"query ($cursor: String) {document}", {"cursor": cursor})


def is_refused(answer) -> bool:
    assert answer.status == 200
    return "errors" in answer.body and answer.code == "INVALID_CURSOR"


OF_PARENTS = {
    "tokens": "issuer",
    "articles": "issuer",
    "financialData": "issuer",
    "legacyShareholders": "issuer",
    "transactions": "token",
    "priceHistory": "token",
    "statusHistory": "account",
    "orders": "account",
}
"""Nested lists, and what they are lists of."""


@pytest.fixture
def pairs(world: World) -> dict[str, list[str]]:
    """Two objects of each kind, whose lists all have a row."""
    tokens = [empty_token(i, f"C{n}", START) for n, i in enumerate(two_issuers(world))]
    accounts = new_clients(2, world.partner)
    market = new_market()
    give(market, dict.fromkeys(accounts, 10))
    for account in accounts:
        place(market, sell(account, 1, 100))
    holders = ledger.holder_accounts(account.user_id for account in accounts)
    for token in tokens:
        ledger.record(
            [Entry(token.pk, "MINT", 5, None, to) for to in holders.values()], "me"
        )
        ledger.set_price(token.pk, 5, "NAV", "me")
    return {
        "issuer": [f"Issuer|{issuer.pk}" for issuer in two_issuers(world)],
        "token": [f"Token|{token.pk}" for token in tokens],
        "account": [f"Account|{account.pk}" for account in accounts],
    }


def two_issuers(world: World) -> list[Issuer]:
    """Both of the world, with a row in each list."""
    for issuer in (world.listed, world.quiet):
        issuer.articles.get_or_create(
            title="A", slug=f"c-{issuer.slug}", body="b", published_at=START
        )
        issuer.financial_data.get_or_create(year=2001, period_type="YEAR")
        issuer.legacy_shareholders.get_or_create(
            user=world.owner, number_of_shares=3, price_cents=1
        )
        if not IssuerGrant.objects.filter(partner=world.partner, issuer=issuer):
            approved_grant(world.partner, issuer)
    return [world.listed, world.quiet]


def nested(kind: str, name: str, **page: str) -> str:
    arguments = "".join(f', {key}: "{value}"' for key, value in page.items())
    return (
        f"query ($ids: [ID!]!) {{ nodes(ids: $ids) {{ ... on {kind.title()} {{ "
        f"{name}(first: 1{arguments}) "
        "{ edges { cursor } pageInfo { startCursor endCursor } } } } }"
    )


@pytest.mark.parametrize("name", OF_PARENTS)
@pytest.mark.parametrize("argument", ["after", "before"])
def test_a_cursor_is_bound_to_its_parent(
    name: str, argument: str, pairs: dict[str, list[str]], partner: Ask
):
    kind = OF_PARENTS[name]
    found = partner(nested(kind, name), {"ids": pairs[kind]}).data["nodes"]
    pages = [node[name] for node in found]
    cursors = [page["edges"][0]["cursor"] for page in pages]
    assert [p["pageInfo"]["endCursor"] for p in pages] == cursors
    assert [p["pageInfo"]["startCursor"] for p in pages] == cursors
    for n, cursor in enumerate(cursors):
        own, other = pairs[kind][n], pairs[kind][1 - n]
        asked = nested(kind, name, **{argument: cursor})
        assert partner(asked, {"ids": [own]}).data["nodes"][0][name] is not None
        assert is_refused(partner(asked, {"ids": [other]}))
        # Of several parents only those whose it is not refuse it.
        answer = partner(asked, {"ids": [own, other]})
        first, second = answer.body["data"]["nodes"]
        assert first[name] is not None
        assert second is None
        assert answer.code == "INVALID_CURSOR"
        assert answer.errors[0]["path"] == ["nodes", 1, name]
        assert answer.errors[0]["extensions"]["argument"] == argument


def test_cursors_of_the_release_before_are_taken(
    pairs: dict[str, list[str]], partner: Ask
):
    """They knew their list, and no parent: a walk goes on while a release starts."""
    [own, _] = pairs["issuer"]
    data = partner(nested("issuer", "tokens"), {"ids": [own]}).data
    cursor = data["nodes"][0]["tokens"]["edges"][0]["cursor"]
    place = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))[5:]
    asked = nested("issuer", "tokens", after=forged(place))
    assert partner(asked, {"ids": [own]}).data["nodes"][0]["tokens"] is not None
    # With a checksum of another parent it is refused.
    asked = nested("issuer", "tokens", after=forged(place, b"\x02"))
    assert is_refused(partner(asked, {"ids": [own]}))


@pytest.mark.parametrize("taken", LISTS)
@pytest.mark.parametrize("given_to", LISTS)
def test_a_cursor_is_bound_to_its_list(taken, given_to, world: World, partner: Ask):
    data = partner(LISTS[taken]).data
    page = data.get(taken) or (data.get("issuer") or {}).get(taken)
    cursor = page["pageInfo"]["endCursor"] if page else None
    if cursor is None:
        # No entry of the classification is there.
        cursor = forged(f"classification|{UUID}|10101010")
    for argument in ("after", "before"):
        answer = ask_after(partner, given_to, cursor, argument)
        assert is_refused(answer) == (taken != given_to)


@pytest.mark.parametrize(
    ("name", "cursor"),
    [
        ("tokens", forged(f"tokens|{UUID}|{TIME}", version=b"\x00")),
        ("tokens", forged(f"tokens|{UUID}|{TIME}", version=b"\x02")),
        ("tokens", forged(f"Tokens|{UUID}|{TIME}")),
        ("tokens", forged(f"tokens|{UUID}")),
        ("tokens", forged(f"tokens|{UUID}|")),
        ("tokens", forged(f"tokens|{UUID}|{TIME}|{TIME}")),
        ("tokens", forged(f"tokens|{TIME}|{UUID}")),
        ("tokens", forged(f"tokens|{UUID.upper()}|{TIME}")),
        ("tokens", forged(f"tokens|{UUID}|2024-02-30 00:00:00+00")),
        ("tokens", forged(f"tokens|{UUID}|2024-02-28 24:00:00+00")),
        ("tokens", forged(f"tokens|{UUID}|2024-02-28 23:59:60+00")),
        ("tokens", forged(f"tokens|{UUID}|0000-02-28 23:59:00+00")),
        ("tokens", forged(f"tokens|{UUID}|2024-02-28 23:59:00+00\n")),
        ("tokens", forged(f"tokens|{UUID}|٢٠٢٤-02-28 23:59:00+00")),
        ("tokens", forged(f"tokens|{UUID}|infinity")),
        ("tokens", forged(f"tokens|{UUID}|now")),
        ("financialData", forged(f"financialData|{UUID}|{10**18}|YEAR")),
        ("financialData", forged(f"financialData|{UUID}|2024.5|YEAR")),
        ("financialData", forged(f"financialData|{UUID}|2024|YE\0AR")),
        ("financialData", forged(f"financialData|{UUID}|٢٠٢٤|YEAR")),
        ("issuers", forged(f"issuers|{UUID}|a\0b")),
        ("issuers", forged(f"issuers|{UUID}|".encode() + b"\xff\xfe")),
        ("issuers", forged(f"issuers|{UUID}|".encode() + b"\xed\xa0\x80")),
        ("issuers", ""),
        ("issuers", "="),
        ("issuers", "arrayconnection:5"),
        ("issuers", "YXJyYXljb25uZWN0aW9uOjU="),
    ],
)
def test_forged_and_foreign_cursors_are_refused(
    name, cursor, world: World, partner: Ask
):
    assert is_refused(ask_after(partner, name, cursor))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("issuers", "'); DROP TABLE issuers_issuer; --"),
        ("issuers", "a|b|c"),
        ("issuers", "%s %(x)s 100%"),
        ("issuers", "\U0010ffff"),
        ("financialData", f"{-(10**17)}|NEVER"),
        ("financialData", f"{10**18 - 1}|"),
        ("tokens", "0001-01-01 00:00:00+00"),
        ("tokens", "9999-12-31 23:59:59.999999+00"),
    ],
)
def test_a_place_where_no_row_is_still_cuts_the_list(
    name, place, world: World, partner: Ask
):
    cursor = forged(f"{name}|{UUID}|{place}")
    for argument in ("after", "before"):
        answer = ask_after(partner, name, cursor, argument)
        assert answer.data


def test_no_bytes_make_an_internal_error(world: World, partner: Ask):
    Issuer.objects.create(
        trading_name="Überkühn | 100%",
        slug="u",
        trading_location="Bern",
        owner=world.owner,
    )
    cursors = {}
    for name, document in LISTS.items():
        data = partner(document).data
        page = data.get(name) or (data.get("issuer") or {}).get(name)
        if page:
            cursors[name] = page["pageInfo"]["endCursor"]
    keys = st.lists(st.text(max_size=12) | st.sampled_from([UUID, TIME, "2024"]))

    @many_examples(max_examples=count(60, 300))
    @given(
        name=st.sampled_from(sorted(LISTS)),
        cursor=st.one_of(
            st.text(),
            st.binary().map(lambda b: base64.urlsafe_b64encode(b).decode()),
            st.binary().map(forged),
            st.tuples(st.sampled_from(sorted(LISTS)), keys).map(
                lambda parts: forged("|".join([parts[0], *parts[1]]))
            ),
        ),
    )
    @example(name="issuers", cursor="\ud800")
    @example(name="issuers", cursor="ﬀ" * 8)
    def check(name, cursor):
        body = cursor.encode("utf-8", "replace").decode()
        answer = ask_after(partner, name, body)
        assert answer.status == 200
        assert "errors" not in answer.body or answer.code == "INVALID_CURSOR"

    check()

    @many_examples(max_examples=count(40, 200))
    @given(data=st.data())
    def check_damaged(data):
        name = data.draw(st.sampled_from(sorted(set(cursors) - {""})))
        cursor = cursors[name]
        if cursor is None:
            return
        at = data.draw(st.integers(0, len(cursor) - 1))
        damaged = data.draw(
            st.sampled_from(
                [
                    cursor[:at],
                    cursor[at + 1 :],
                    cursor[:at] + cursor[at + 1 :],
                    cursor[:at] + "A" + cursor[at:],
                    cursor[:at] + cursor[at].swapcase() + cursor[at + 1 :],
                ]
            )
        )
        answer = ask_after(partner, name, damaged)
        # The last character's unused bits are not part of the place.
        if padded(damaged) == padded(cursor):
            assert answer.data == ask_after(partner, name, cursor).data
        else:
            assert is_refused(answer)

    check_damaged()


def padded(cursor: str) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError:
        return None
