"""The rows that all servers read, and what plain SQL says an answer has to hold.

Rows are made so that the primary key's order is also the product's: issuers by name,
figures by year, the latest first. So each peer may list in its cheapest order, and all
of them answer the same.
"""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import uuid_utils.compat as uuid
from django.db import connection
from stdnum.iso7064 import mod_97_10

from accounts.people.models import User
from issuers.models import Issuer, IssuerFinancialData
from tests.owner import as_owner

LATEST_YEAR, YEARS = 2025, 4
TOWNS = {
    "FR": ["Angers", "Besançon", "Nîmes", "Saint-Étienne"],
    "DE": ["Göttingen", "Köln", "Münster", "Weißenfels"],
    "PT": ["Évora", "Leiria", "Viana do Castelo"],
}
FORMS = [User.LegalForm.SA, User.LegalForm.GMBH, User.LegalForm.SAS]
ABOUT = (
    "maker of measuring instruments for rivers, harbours and laboratories, founded by "
    "two engineers; sells in nine countries, repairs what it sells, trains apprentices "
    "and publishes its drawings after ten years"
)
WORDS = ABOUT.split()


def ordered_ids(count: int) -> list[Any]:
    return sorted(uuid.uuid7() for _ in range(count))


def add_issuers(first: int, last: int) -> None:
    """Make the issuers with these numbers, with owners and four years' figures."""
    chance = random.Random(first)
    numbers = range(first, last + 1)
    owners = [
        make_owner(number, key, chance)
        for number, key in zip(numbers, ordered_ids(len(numbers)), strict=True)
    ]
    issuers = [
        make_issuer(number, key, owner, chance)
        for number, key, owner in zip(
            numbers, ordered_ids(len(numbers)), owners, strict=True
        )
    ]
    User.objects.bulk_create(owners, batch_size=1000)
    Issuer.objects.bulk_create(issuers, batch_size=1000)
    add_figures(issuers, LATEST_YEAR, YEARS)


def add_figures(issuers: list[Issuer], latest: int, years: int) -> None:
    """Yearly figures of these issuers, from the latest year backwards."""
    chance = random.Random(latest)
    keys = iter(ordered_ids(len(issuers) * years))
    IssuerFinancialData.objects.bulk_create(
        [
            make_figures(next(keys), issuer, latest - n, chance)
            for issuer in issuers
            for n in range(years)
        ],
        batch_size=2000,
    )


def analyze() -> None:
    """Tell PostgreSQL what the tables hold, as its autovacuum would in a minute.

    Only the owner may: for another role PostgreSQL passes the tables over.
    """
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def make_owner(number: int, key: Any, chance: random.Random) -> User:
    country = chance.choice(list(TOWNS))
    body = f"9695{number:014d}"
    return User(
        id=key,
        type=User.Type.COMPANY,
        company_name=f"Établissements {number:06d} & Cie",
        legal_form=chance.choice(FORMS),
        lei=body + mod_97_10.calc_check_digits(body),
        country_id=country,
        address=f"{chance.randint(1, 200)} rue des Lentilles",
        postal_code=f"{chance.randint(1000, 99999):05d}",
        city=chance.choice(TOWNS[country]),
    )


def make_issuer(number: int, key: Any, owner: User, chance: random.Random) -> Issuer:
    slug = f"issuer-{number:06d}"

    def sometimes(text: str) -> str | None:
        return text if chance.random() < 0.8 else None

    return Issuer(
        id=key,
        trading_name=f"Issuer {number:06d} {owner.city}",
        slug=slug,
        tag_line=sometimes(
            f"“{chance.choice(WORDS)}” since {chance.randint(1900, 2020)}"
        ),
        description=" ".join(chance.choices(WORDS, k=35)),
        market_description=sometimes(" ".join(chance.choices(WORDS, k=12))),
        website=f"https://{slug}.example",
        twitter_url=sometimes(f"https://x.com/{slug}"),
        youtube_url=sometimes(f"https://youtube.com/@{slug}"),
        linkedin_url=sometimes(f"https://linkedin.com/company/{slug}"),
        facebook_url=sometimes(f"https://facebook.com/{slug}"),
        discord_url=sometimes(f"https://discord.gg/{slug}"),
        instagram_url=sometimes(f"https://instagram.com/{slug}"),
        trading_location=owner.city,
        owner=owner,
        initial_number_of_shares=chance.randint(1_000, 2_000_000_000),
    )


def make_figures(
    key: Any, issuer: Issuer, year: int, chance: random.Random
) -> IssuerFinancialData:
    # Within 32 bits: peers have no other Int.
    revenue = chance.randint(1_000_000, 2_000_000_000)
    return IssuerFinancialData(
        id=key,
        issuer=issuer,
        period_type=IssuerFinancialData.PeriodType.YEAR,
        year=year,
        revenue_cents=revenue,
        ebitda_cents=revenue // 5,
        ebit_cents=None if chance.random() < 0.1 else revenue // 7,
        net_income_cents=revenue // 9 - 50_000_000,
    )


ISSUERS = """
SELECT i.id::text, trading_name AS "tradingName", tag_line AS "tagLine",
       description, website, slug, trading_location AS "tradingLocation",
       u.lei, twitter_url AS "twitterUrl", youtube_url AS "youtubeUrl",
       linkedin_url AS "linkedinUrl", facebook_url AS "facebookUrl",
       discord_url AS "discordUrl", instagram_url AS "instagramUrl",
       initial_number_of_shares AS "initialNumberOfShares",
       market_description AS "marketDescription", u.company_name AS "companyName",
       u.legal_form AS "legalForm",
       concat_ws(', ', nullif(u.address, ''),
                 nullif(trim(u.postal_code || ' ' || u.city), ''),
                 c.name) AS "headquartersAddress"
FROM issuers_issuer i
JOIN accounts_user u ON u.id = i.owner_id
LEFT JOIN accounts_country c ON c.code = u.country_id
ORDER BY lower(trading_name) COLLATE "C", i.id
LIMIT %s
"""
FIGURES = """
SELECT issuer_id::text, id::text, created_at AS "createdAt",
       period_type AS "periodType", year, revenue_cents AS revenue,
       ebitda_cents AS ebitda, ebit_cents AS ebit, net_income_cents AS "netIncome"
FROM issuers_issuerfinancialdata
WHERE issuer_id::text = ANY(%s)
ORDER BY year DESC, period_type DESC
"""


def expected(first: int, nested: int) -> dict[str, Any]:
    """What a page of issuers with figures holds, from plain SQL.

    `issuers` and each one's `financialData` are lists of fields by name;
    `hasNextPage` says whether the list goes on.
    """
    issuers = select(ISSUERS, [first])
    figures = select(FIGURES, [[issuer["id"] for issuer in issuers]])
    for issuer in issuers:
        own = [f for f in figures if f["issuer_id"] == issuer["id"]]
        issuer["financialData"] = [
            {name: value for name, value in one.items() if name != "issuer_id"}
            for one in own[:nested]
        ]
        issuer["hasNextPage"] = len(own) > nested
    [count] = select("SELECT count(*) AS all FROM issuers_issuer", [])
    return {"issuers": issuers, "hasNextPage": count["all"] > first}


def select(statement: str, values: list[Any]) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextlib.contextmanager
def changed_row() -> Iterator[None]:
    """The first issuer has another tag line meanwhile, and its figures others."""
    issuer = Issuer.objects.get(slug="issuer-000001")
    latest = issuer.financial_data.get(year=LATEST_YEAR)

    def write(tag_line: str | None, revenue: int | None) -> None:
        Issuer.objects.filter(id=issuer.id).update(tag_line=tag_line)
        IssuerFinancialData.objects.filter(id=latest.id).update(revenue_cents=revenue)

    write("Changed between two requests", 123_456)
    try:
        yield
    finally:
        write(issuer.tag_line, latest.revenue_cents)
