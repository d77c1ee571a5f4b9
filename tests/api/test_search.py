"""Issuers that a text finds: which, in which order, page by page, and for whom."""

import random
import re
import unicodedata
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.people.models import User
from issuers.models import Issuer, Token
from tests.characters import Ask, World, new_world
from tests.owner import as_committed
from tests.threads import in_threads

pytestmark = pytest.mark.usefixtures("unlimited_budgets")
NAMES = [
    "Éclat",
    "éclair",
    "Zen 100%",
    "Zen 1000",
    "zen_x",
    "Zenyx",
    'O\'Brien "Bros"',
    "back\\slash",
    "a|b",
    " space",
    "ﬁne",
    "東京電力",
    "Société Générale d'Œuvres",
    "Straße & Łódź Ørsted",
]
DOCUMENT = """
query ($search: String, $first: Int, $last: Int, $after: String, $before: String) {
  issuers(search: $search, first: $first, last: $last, after: $after, before: $before) {
    totalCount edges { cursor node { tradingName } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}
"""


def make(world: World, name: str, number: int, owner: User | None = None) -> Issuer:
    return Issuer.objects.create(
        trading_name=name,
        slug=f"i-{number}",
        trading_location="Lyon",
        owner=owner or world.shareholders[0].user,
    )


@pytest.fixture
def named(world: World) -> World:
    for number, name in enumerate(NAMES):
        make(world, name, number)
    as_committed()
    return world


def page(ask: Ask, search: str, **arguments: Any) -> dict[str, Any]:
    return ask(DOCUMENT, {"search": search, **arguments}).data["issuers"]


def names(ask: Ask, search: str, **arguments: Any) -> list[str]:
    found = page(ask, search, **arguments)
    names = [edge["node"]["tradingName"] for edge in found["edges"]]
    assert found["totalCount"] == len(names)
    return names


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("zen", ["Zen 100%", "Zen 1000", "zen_x", "Zenyx"]),
        ("ZEN 1", ["Zen 100%", "Zen 1000"]),
        ("zen 100%", ["Zen 100%", "Zen 1000"]),
        ("zen_", ["zen_x", "Zen 100%", "Zen 1000", "Zenyx"]),
        ("100 zen", ["Zen 100%"]),
        ("%", []),
        ("_", []),
        ("\\", []),
        ("back\\S", ["back\\slash"]),
        ("slash", ["back\\slash"]),
        ("sl", []),
        ("o'brien \"", ['O\'Brien "Bros"']),
        ("bro brien", []),
        ("bros BRIEN", ['O\'Brien "Bros"']),
        ("'; DROP TABLE issuers_issuer; --", []),
        ("A|", ["a|b"]),
        ("b a", ["a|b"]),
        ("  space ", [" space"]),
        ("enyx", []),
        ("東京", ["東京電力"]),
        ("ﬁ", ["ﬁne"]),
        ("eclair", ["éclair"]),
        ("ÉCLA", ["éclair", "Éclat"]),
        ("generale societe", ["Société Générale d'Œuvres"]),
        ("OEUV", ["Société Générale d'Œuvres"]),
        ("strasse", ["Straße & Łódź Ørsted"]),
        ("lodz orsted", ["Straße & Łódź Ørsted"]),
        ("ors lodz", []),
        ("lumen and more than its name", []),
        ("optique", ["Lumen"]),
        ("lum", ["Lumen"]),
        ("529900T8BM49AURSDO55", ["Lumen"]),
        ("529900t8bm", ["Lumen"]),
        ("52", []),
    ],
)
def test_search_finds_names_words_and_identifiers(
    search, expected, named: World, stranger: Ask
):
    assert names(stranger, search) == expected


def test_a_blank_text_narrows_nothing(named: World, stranger: Ask):
    for blank in ("", " ", "\t\u00a0"):
        assert len(names(stranger, blank)) == len(NAMES) + 2


@pytest.mark.parametrize(
    ("search", "maximum"),
    [("ze\0n", None), ("x" * 101, 100), ("a b c d e f g h i", 8)],
)
def test_search_is_refused(search, maximum, named: World, stranger: Ask):
    answer = stranger(DOCUMENT, {"search": search})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == "search"
    assert answer.errors[0]["extensions"].get("maximum") == maximum
    assert len(answer.errors[0]["message"]) < 100


def test_an_identifier_comes_first_then_names_then_words(
    world: World, partner: Ask, stranger: Ask
):
    for number, name in enumerate(["Zeta", "Lum", "Halo Lum", "Alum", "Lumo", "Beta"]):
        make(world, name, number)
    Token.objects.filter(symbol="LUM").update(symbol="L0")
    Token.objects.create(
        issuer=Issuer.objects.get(trading_name="Zeta"), name="Shares", symbol="LUM"
    )
    as_committed()
    assert names(stranger, "lum") == ["Zeta", "Lum", "Lumen", "Lumo", "Halo Lum"]
    assert names(stranger, "LUM ") == names(partner, "lum")


def test_a_private_token_finds_its_issuer_for_who_may_see_it(
    world: World, partner: Ask, observer: Ask, stranger: Ask
):
    Token.objects.filter(symbol="LUMF").update(symbol="SECRET")
    as_committed()
    for text in ("secret", "secr", "lumen secret", "secret optique"):
        assert names(partner, text) == ["Lumen"]
        assert names(observer, text) == names(stranger, text) == []
    Token.objects.filter(symbol="SECRET").update(visibility="PUBLIC")
    as_committed()
    assert names(stranger, "secret") == ["Lumen"]


def test_a_search_is_narrowed_by_the_other_arguments(named: World, partner: Ask):
    document = (
        """query { issuers(search: "lumen", %s) { totalCount nodes { slug } } }"""
    )
    for other, count in {
        'country: "FR"': 1,
        'country: "PT"': 0,
        "granted: true": 1,
        "granted: false": 0,
        'symbol: ["LUM"]': 1,
        "symbol: []": 0,
    }.items():
        found = partner(document % other).data["issuers"]
        assert found["totalCount"] == len(found["nodes"]) == count, other


def fold(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return " ".join(plain.lower().split())


def expected_order(found: str, issuers: dict[str, tuple[str, str, list[str]]]) -> list:
    """The ids that a text finds, in order, by the rules as they are written down."""
    text, places = fold(found), []
    words = re.findall(r"[a-z0-9]+", text)
    for key, (name, company, symbols) in issuers.items():
        own = re.findall(r"[a-z0-9]+", fold(f"{name} {company}"))
        own += [symbol.lower() for symbol in symbols]
        *whole, last = words
        kinds = [
            text in [symbol.lower() for symbol in symbols],
            fold(name).startswith(text),
            set(whole) <= set(own)
            and any(w == last or len(last) > 2 and w.startswith(last) for w in own),
        ]
        if any(kinds):
            places.append((kinds.index(True), fold(name), key))
    return [key for _, _, key in sorted(places)]


@pytest.mark.parametrize("seed", range(6))
def test_pages_are_the_whole_list_in_order_in_both_directions(
    seed, world: World, stranger: Ask
):
    chance = random.Random(seed)
    syllables = ["an", "ana", "anab", "bo", "Bör", "cé", "delta", "del"]
    issuers = {}

    def phrase(most: int) -> str:
        return " ".join(chance.choices(syllables, k=chance.randint(1, most)))

    for number in range(60):
        owner = User.objects.create(type=User.Type.COMPANY, company_name=phrase(2))
        issuer = make(world, phrase(3), number, owner)
        symbols = []
        if number % 4 == 0 and number // 4 < len(syllables):
            symbols = [fold(syllables[number // 4]).upper()]
            Token.objects.create(issuer=issuer, name="Shares", symbol=symbols[0])
        issuers[str(issuer.pk)] = (issuer.trading_name, owner.company_name, symbols)
    as_committed()
    document = DOCUMENT.replace("node { tradingName }", "node { id }")
    for _ in range(12):
        text = phrase(2)
        expected = [f"Issuer|{key}" for key in expected_order(text, issuers)]
        for size, cursor, ends in (
            ("first", "after", ("hasNextPage", "endCursor")),
            ("last", "before", ("hasPreviousPage", "startCursor")),
        ):
            walked: list[str] = []
            place = None
            while True:
                given = {"search": text, size: 7, cursor: place}
                found = stranger(document, given).data["issuers"]
                assert found["totalCount"] == len(expected), text
                ids = [edge["node"]["id"] for edge in found["edges"]]
                backward = size == "last"
                walked = ids + walked if backward else walked + ids
                other = "hasNextPage" if backward else "hasPreviousPage"
                assert found["pageInfo"][other] == (place is not None)
                if not found["pageInfo"][ends[0]]:
                    break
                place = found["pageInfo"][ends[1]]
            assert walked == expected, text
        edges = stranger(document, {"search": text}).data["issuers"]["edges"]
        if len(edges) > 4:
            given = {"after": edges[0]["cursor"], "before": edges[-1]["cursor"]}
            between = stranger(document, {"search": text, "first": 100, **given}).data[
                "issuers"
            ]
            assert between["edges"] == edges[1:-1]
            assert between["pageInfo"]["hasNextPage"]
            assert between["pageInfo"]["hasPreviousPage"]


def test_a_cursor_of_another_list_is_refused(named: World, stranger: Ask):
    unsorted = stranger("{ issuers(first: 1) { pageInfo { endCursor } } }")
    cursor = unsorted.data["issuers"]["pageInfo"]["endCursor"]
    answer = stranger(DOCUMENT, {"search": "zen", "after": cursor})
    assert answer.code == "INVALID_CURSOR"
    cursor = page(stranger, "zen", first=1)["pageInfo"]["endCursor"]
    assert stranger(DOCUMENT, {"after": cursor}).code == "INVALID_CURSOR"


def test_terms_follow_every_change(world: World, stranger: Ask):
    as_committed()
    lumen = Issuer.objects.get(slug="lumen")
    lumen.trading_name = "Candela"
    lumen.save()
    User.objects.filter(pk=world.owner.pk).update(company_name="Photon SA", lei=None)
    Token.objects.filter(symbol="LUM").update(symbol="CAND")
    as_committed()
    for gone in ("lumen", "lum", "529900T8BM49AURSDO55"):
        assert names(stranger, gone) == []
    for there in ("candela", "photon", "cand", "sa"):
        assert names(stranger, there) == ["Candela"]
    quiet = Issuer.objects.create(
        trading_name="Brief", slug="brief", trading_location="Lyon", owner=world.owner
    )
    as_committed()
    assert names(stranger, "photon") == ["Brief", "Candela"]
    quiet.delete()
    as_committed()
    assert names(stranger, "photon") == ["Candela"]
    assert names(stranger, "brief") == []


def test_changes_that_race_leave_the_terms_that_follow_from_them(
    transactional_db: None,
):
    with transaction.atomic():
        world = new_world()

    def rename(number: int) -> None:
        for step in range(10):
            with transaction.atomic():
                Issuer.objects.filter(pk=world.listed.pk).update(
                    trading_name=f"Name {number} {step}"
                )

    def enter(number: int) -> None:
        for step in range(10):
            with transaction.atomic():
                Token.objects.filter(symbol__startswith="LUMF").update(
                    symbol=f"LUMF{number}{step}"
                )

    def take_over(number: int) -> None:
        for step in range(10):
            with transaction.atomic():
                User.objects.filter(pk=world.owner.pk).update(
                    company_name=f"Owner {number} {step}"
                )

    def found(number: int) -> None:
        for step in range(10):
            with transaction.atomic():
                make(world, f"New {step}", 10 * number + step, world.owner)

    work = [rename, enter, take_over, found]
    assert in_threads(8, lambda number: work[number % 4](number)) == []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tests.tamper($$CREATE TEMP TABLE due AS SELECT t.term, t.name,"
            " i.id AS issuer_id, t.private FROM issuers_issuer i"
            " CROSS JOIN LATERAL search_terms(i.id) t;"
            " GRANT SELECT ON due TO PUBLIC$$, TRUE)"
        )
        for one, other in (
            ("due", "issuers_issuerterm"),
            ("issuers_issuerterm", "due"),
        ):
            cursor.execute(
                f"SELECT term, name, issuer_id, private FROM {one} EXCEPT"
                f" SELECT term, name, issuer_id, private FROM {other}"
            )
            assert cursor.fetchall() == []
