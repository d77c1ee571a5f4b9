"""Fills an empty sandbox; what it writes is the same every time, but for the keys."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from uuid import UUID

from accounts.access import Scope
from accounts.accounts.models import Account, AccountStatusChange
from accounts.keys.models import Partner
from accounts.people.models import User, UserHolder
from issuers.imports.classification import PACKAGED_FILE, import_classification
from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    Article,
    Document,
    IndustryClassificationBenchmark,
    Issuer,
    IssuerFinancialData,
    Token,
)
from issuers.register.models import (
    HolderBalance,
    HoldingPeriod,
    LedgerAccount,
    LedgerPosting,
    LedgerTransaction,
    TokenLedgerHead,
    TokenPrice,
)
from marketdata.models.sessions import NotBound
from partnerapi.core.database import execute, planned_by_index
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from partnerapi.sandbox.data.chance import (
    OPENING,
    dice,
    invented_contract,
    invented_isin,
    invented_lei,
    moment_after,
)
from partnerapi.sandbox.data.clients import write_accounts
from partnerapi.sandbox.data.companies import COMPANIES, Company
from partnerapi.sandbox.data.figures import financial_data
from partnerapi.sandbox.data.holders import write_investors, write_shareholders
from partnerapi.sandbox.data.markets import open_markets
from partnerapi.sandbox.data.news import articles
from partnerapi.sandbox.data.offerings import make_offerings
from partnerapi.sandbox.data.pictures import logo
from partnerapi.sandbox.data.registers import write_register
from partnerapi.sandbox.data.sessions import (
    FixAccess,
    extend_fix_sessions,
    write_fix_sessions,
)

NETWORKS = ("Polygon", "Ethereum", "Tezos EVM")
COUNTED = {
    "issuers": Issuer,
    "tokens": Token,
    "financialData": IssuerFinancialData,
    "articles": Article,
    "documents": Document,
    "legacyShareholders": LegacyShareholder,
    "users": User,
    "partners": Partner,
    "ledgerEntries": LedgerTransaction,
    "prices": TokenPrice,
    "accounts": Account,
    "statusChanges": AccountStatusChange,
}
BY_SLUG = {company.slug: company for company in COMPANIES}


class SeedRefused(Exception):
    """The database is not one to seed; the message names the remedy."""


@dataclass(slots=True)
class Seeded:
    """New keys: `keys` by their partner's login, `fix` those of partners for load."""

    keys: dict[str, str] = field(default_factory=dict)
    fix: list[FixAccess] = field(default_factory=list)
    changed: bool = False


def joined_at(company: Company) -> datetime:
    days = 23 * COMPANIES.index(company)
    return moment_after(OPENING, days, company.slug)


def issuer_id(company: Company) -> UUID:
    return derived_uuid7(joined_at(company), f"issuer {company.slug}")


def seed(
    totals: dict[str, int],
    follow: Callable[[str, int], Callable[[int], object]],
    fix_sessions: int = 0,
) -> Seeded:
    """Write what is missing in one transaction; registers grow to `totals` by slug.

    `fix_sessions` is how many partners there are to be for load on the FIX feed.

    `follow` is given a piece of work and its size, and returns what to call with
    each part done.

    Raises:
        SeedRefused: other issuers are there, a register cannot become as asked, or
            the pool holds too few CompIDs.
    """
    seeded = Seeded()
    with planned_by_index():
        ids = [issuer_id(company) for company in COMPANIES]
        if not Issuer.objects.filter(id__in=ids).exists():
            if Issuer.objects.exists():
                raise SeedRefused(
                    "This database has issuers that are not the sandbox's. Point "
                    "DATABASE_URL at an empty database."
                )
            seed_companies(follow("Companies", len(COMPANIES)))
            seeded.keys = seed_partners()
            seeded.changed = True
        seeded.changed |= date_companies()
        seeded.changed |= write_registers(follow)
        ids_by_slug = {company.slug: issuer_id(company) for company in COMPANIES}
        seeded.changed |= write_accounts(ids_by_slug)
        seeded.changed |= open_markets()
        seeded.changed |= make_offerings()
        try:
            seeded.changed |= write_fix_sessions()
            seeded.fix = extend_fix_sessions(fix_sessions)
        except NotBound as error:
            raise SeedRefused(f"{error} Nothing was written.") from None
        seeded.changed |= bool(seeded.fix)
        for slug, total in totals.items():
            seeded.changed |= extend_register(slug, total, follow)
        if seeded.changed:
            analyze()
    return seeded


def seed_companies(advance: Callable[[int], object]) -> None:
    if not IndustryClassificationBenchmark.objects.exists():
        import_classification(PACKAGED_FILE.read_bytes(), dry_run=False)
    subsectors = IndustryClassificationBenchmark.objects.in_bulk(
        field_name="subsector_code"
    )
    write_investors()
    for number, company in enumerate(COMPANIES):
        at = joined_at(company)
        picture = logo(company, at)
        picture.save(force_insert=True)
        issuer = profile(company, at)
        issuer.owner.save(force_insert=True)
        UserHolder.objects.create(
            id=derived_uuid7(at, f"holder {company.slug}"),
            user=issuer.owner,
            name=str(issuer.owner),
            wallet_address=invented_contract(f"owner {company.slug}"),
        )
        issuer.company_logo = picture
        issuer.industry_classification_benchmark = subsectors.get(
            company.subsector_code
        )
        issuer.save(force_insert=True)
        Token.objects.bulk_create(tokens(company, issuer, number))
        IssuerFinancialData.objects.bulk_create(financial_data(company, issuer))
        news, covers = articles(company, issuer)
        Document.objects.bulk_create(covers)
        Article.objects.bulk_create(news)
        write_shareholders(company, issuer, 0, company.shareholders, lambda done: None)
        advance(1)


def date_companies() -> bool:
    """Say when the companies were formed that do not; whether there were any."""
    undated = Issuer.objects.filter(
        id__in=map(issuer_id, COMPANIES), formation_date=None
    )
    for issuer in undated:
        issuer.formation_date = formed_on(issuer.slug)
        issuer.save(update_fields=["formation_date"])
    return bool(undated)


def formed_on(slug: str) -> date:
    """Some day of the sixty years that ended before the platform opened."""
    days = dice("formed", slug).randrange(60 * 365)
    return date(1960, 1, 4) + timedelta(days=days)


def write_registers(follow: Callable[[str, int], Callable[[int], object]]) -> bool:
    """Those of the companies whose ledgers are all empty; whether there were any."""
    heads = TokenLedgerHead.objects.exclude(last_seq=0, last_price=0)
    written = set(heads.values_list("token__issuer", flat=True))
    empty = [company for company in COMPANIES if issuer_id(company) not in written]
    if not empty:
        return False
    advance = follow("Registers", len(empty))
    for company in empty:
        issuer = Issuer.objects.get(id=issuer_id(company))
        write_register(issuer, company.shareholders)
        advance(1)
    return True


def profile(company: Company, at: datetime) -> Issuer:
    slug = company.slug
    return Issuer(
        id=issuer_id(company),
        trading_name=company.name,
        slug=slug,
        tag_line=company.tag_line,
        description=f"{company.name} {company.activity}. It sits in {company.city}.",
        market_description=company.market,
        website=f"https://www.{slug}.example",
        twitter_url=f"https://twitter.example/{slug}",
        youtube_url=f"https://youtube.example/@{slug}",
        linkedin_url=f"https://linkedin.example/company/{slug}",
        facebook_url=f"https://facebook.example/{slug}",
        discord_url=f"https://discord.example/{slug}",
        instagram_url=f"https://instagram.example/{slug}",
        country_id=company.country,
        formation_date=formed_on(slug),
        trading_location=company.city,
        owner=owner(company, at),
        initial_number_of_shares=dice("shares", slug).randrange(250, 40_000) * 1000,
        created_at=at,
    )


def owner(company: Company, at: datetime) -> User:
    user = User(
        id=derived_uuid7(at, f"owner {company.slug}"),
        password="!",
        email=f"owner@{company.slug}.example",
        country_id=company.country,
        address=company.address,
        postal_code=company.postal_code,
        city=company.city,
        created_at=at,
    )
    if company.form is None:
        user.type = User.Type.INDIVIDUAL
        user.first_name, user.last_name = "Solveig", "Fjellsang"
    else:
        user.type = User.Type.COMPANY
        user.company_name = f"{company.name} {company.form.label}"
        user.legal_form = company.form
        user.lei = invented_lei(company.slug)
    return user


def tokens(company: Company, issuer: Issuer, number: int) -> list[Token]:
    """Ordinary shares; for some companies also a private class or two."""
    market, visibility = Token.MarketType, Token.Visibility
    classes = [
        (
            "Ordinary shares",
            "",
            # One company shows itself to the public, and none of its tokens.
            visibility.PRIVATE if number == 2 else visibility.PUBLIC,
            market.PRIMARY_MARKET if number % 4 == 3 else market.SECONDARY_MARKET,
        )
    ]
    if number % 2 == 0:
        row = ("Preference shares", "-B", visibility.PRIVATE, market.PRIMARY_MARKET)
        classes.append(row)
    if number % 5 == 0:
        row = ("Employee shares", "-E", visibility.PRIVATE, market.SECONDARY_MARKET)
        classes.append(row)
    rows = []
    for position, (name, suffix, seen_by, traded_on) in enumerate(classes):
        symbol = company.symbol + suffix
        at = moment_after(issuer.created_at, 1 + position, symbol)
        is_deployed = traded_on == market.SECONDARY_MARKET
        rows.append(
            Token(
                id=derived_uuid7(at, f"token {symbol}"),
                issuer=issuer,
                name=name,
                symbol=symbol,
                isin=None
                if suffix == "-E"
                else invented_isin(company.country, number * 10 + position),
                market_type=traded_on,
                visibility=seen_by,
                contract_address=invented_contract(symbol) if is_deployed else None,
                network=NETWORKS[number % len(NETWORKS)] if is_deployed else None,
                created_at=at,
            )
        )
    return rows


def seed_partners() -> dict[str, str]:
    """Two integration accounts, one that may do all and one that may little."""
    demo = Partner.objects.create(
        id=derived_uuid7(OPENING, "partner demo"),
        login="demo",
        name="Demo partner",
        created_at=OPENING,
    )
    observer = Partner.objects.create(
        id=derived_uuid7(OPENING, "partner observer"),
        login="observer",
        name="Observing partner",
        created_at=OPENING,
    )
    approved_grant(
        demo,
        id=derived_uuid7(OPENING, f"grant {demo.login} every issuer"),
    )
    for company in COMPANIES[::3]:
        grant(observer, company)
    some = [Scope.ISSUERS_READ, Scope.SHAREHOLDERS_READ]
    return {
        "demo": approved_key(demo, Scope.values)[1],
        "observer": approved_key(observer, some)[1],
    }


def grant(partner: Partner, company: Company) -> None:
    at = joined_at(company)
    approved_grant(
        partner,
        Issuer.objects.get(pk=issuer_id(company)),
        id=derived_uuid7(at, f"grant {partner.login} {company.slug}"),
    )


def extend_register(
    slug: str, total: int, follow: Callable[[str, int], Callable[[int], object]]
) -> bool:
    company = BY_SLUG.get(slug)
    if company is None:
        raise SeedRefused(
            f"{slug} is not a company of the sandbox; choose one of "
            f"{', '.join(BY_SLUG)}."
        )
    issuer = Issuer.objects.select_for_update().get(id=issuer_id(company))
    there = LegacyShareholder.objects.filter(issuer=issuer).count()
    if total < there:
        raise SeedRefused(
            f"{slug} has {there} legacy shareholders; {total} were requested, but "
            "none is ever removed. Request more, or start with an empty database."
        )
    if total == there:
        return False
    advance = follow(f"Shareholders of {company.name}", total - there)
    write_shareholders(company, issuer, there, total, advance)
    return True


def analyze() -> None:
    # Else the planner knows nothing of the rows until autovacuum comes by.
    derived = (
        UserHolder, LedgerAccount, LedgerPosting, TokenLedgerHead, HolderBalance,
        HoldingPeriod,
    )  # fmt: skip
    tables = {model._meta.db_table for model in (*COUNTED.values(), *derived)}
    execute("SELECT partnerapi_analyze(%s)", [sorted(tables)])


def counts() -> dict[str, int]:
    return {name: model._default_manager.count() for name, model in COUNTED.items()}
