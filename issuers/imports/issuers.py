"""Issuers with their owners and tokens, from a CSV of listed companies."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from itertools import count

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from accounts.people.models import Country, User
from issuers.models import (
    IndustryClassificationBenchmark,
    Issuer,
    Token,
    validate_isin,
)
from partnerapi.core.csv_tables import CsvRow, read_table
from partnerapi.core.problems import Problem, WrongFileError
from partnerapi.core.progress import Begin
from partnerapi.core.times import past_date

REQUIRED = ("name", "isin", "symbol", "country", "city")
OPTIONAL = ("website", "sector", "industry", "formation_date")
# As in the columns that store them.
MAX_LENGTHS = {"name": 200, "city": 100, "symbol": 20, "website": 200}
MAX_SLUG_LENGTH = 100
SYMBOL = re.compile(r"[A-Z0-9][A-Z0-9.-]*")
BATCH = 1000
# Letters that do not decompose into a base letter and an accent.
LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th"}
)
validate_web_address = URLValidator(schemes=["http", "https"])


@dataclass(frozen=True, slots=True)
class TakenSymbol:
    line: int
    isin: str
    asked: str
    given: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.asked} is taken, {self.isin} gets {self.given}"


@dataclass(slots=True)
class IssuerChanges:
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    taken_symbols: list[TakenSymbol] = field(default_factory=list)
    ignored_columns: list[str] = field(default_factory=list)


class UniqueNames:
    """Gives out unique names; a name that is taken gets a number from 2 on."""

    def __init__(self, taken: Iterable[str], separator: str) -> None:
        self.taken = set(taken)
        self.separator = separator
        self.next_number: dict[str, int] = {}

    def claim(self, name: str, longest: int | None = None) -> str:
        """`name`, with a number where it is taken; at most `longest` characters."""
        unique = name = shorten(name, longest)
        numbers = count(self.next_number.get(name, 2))
        while unique in self.taken:
            number = next(numbers)
            suffix = f"{self.separator}{number}"
            kept = longest and longest - len(suffix)
            unique = shorten(name, kept) + suffix
            self.next_number[name] = number + 1
        self.taken.add(unique)
        return unique


def shorten(name: str, longest: int | None) -> str:
    # A symbol has no `longest` and keeps even a last hyphen of the file's.
    return name if longest is None else name[:longest].rstrip("-")


def import_issuers(content: bytes, begin: Begin, *, dry_run: bool) -> IssuerChanges:
    """Create or update an issuer, its owner and its token for each row.

    The ISIN identifies the company of a row. A slug never changes, nor does a symbol
    that got a number. `begin` receives the number of rows to import.

    Raises:
        WrongFileError: it names every line, field and rule; nothing was changed.
    """
    table = read_table(content, REQUIRED, OPTIONAL)
    problems = table.problems
    problems += wrong_values(table.rows)
    if problems:
        raise WrongFileError(problems)

    advance = begin("Importing", len(table.rows))
    with transaction.atomic():
        importer = IssuerImporter(IssuerChanges(ignored_columns=table.ignored_columns))
        for first in range(0, len(table.rows), BATCH):
            batch = table.rows[first : first + BATCH]
            importer.write(batch)
            advance(len(batch))
        if importer.problems:
            raise WrongFileError(importer.problems)
        transaction.set_rollback(dry_run)
    return importer.changes


def wrong_values(rows: list[CsvRow]) -> list[Problem]:
    """The problems of the rows; puts their codes in capitals, as the standards do."""
    countries = set(Country.objects.values_list("code", flat=True))
    today = timezone.now().date()
    first_lines: dict[str, int] = {}
    problems = []
    for row in rows:
        for code in ("isin", "symbol", "country"):
            row.values[code] = row.values[code].upper()
        isin = row.values["isin"]
        first_line = first_lines.setdefault(isin, row.line)
        if isin and first_line != row.line:
            rule = f"{isin} is already on line {first_line}"
            problems.append(Problem(row.line, "isin", rule))
        problems += [
            Problem(row.line, column, rule)
            for column, rule in broken_rules(row.values, countries, today)
        ]
    return problems


def broken_rules(
    values: dict[str, str], countries: set[str], today: date
) -> list[tuple[str, str]]:
    broken = [(column, "is empty") for column in REQUIRED if not values[column]]
    for column, longest in MAX_LENGTHS.items():
        if len(values.get(column, "")) > longest:
            rule = f"has {len(values[column])} characters; the limit is {longest}"
            broken.append((column, rule))
    isin, symbol, country = values["isin"], values["symbol"], values["country"]
    if isin:
        try:
            validate_isin(isin)
        except ValidationError as error:
            broken.append(("isin", f"{isin!r}: {error.message}"))
    if symbol and not SYMBOL.fullmatch(symbol):
        rule = (
            f"{symbol!r} may contain only A-Z, 0-9, dot and hyphen, and must start "
            "with a letter or digit"
        )
        broken.append(("symbol", rule))
    if country and country not in countries:
        broken.append(("country", f"{country!r} is not an ISO 3166 alpha-2 code"))
    if values.get("website"):
        try:
            validate_web_address(values["website"])
        except ValidationError:
            rule = f"{values['website']!r} is not a URL with http:// or https://"
            broken.append(("website", rule))
    if formed := values.get("formation_date"):
        try:
            past_date(formed, today)
        except ValueError as error:
            broken.append(("formation_date", str(error)))
    return broken


class IssuerImporter:
    """Writes batches of rows; keeps the names that are taken, and counts changes."""

    def __init__(self, changes: IssuerChanges) -> None:
        self.changes = changes
        self.slugs = UniqueNames(Issuer.objects.values_list("slug", flat=True), "-")
        self.symbols = UniqueNames(Token.objects.values_list("symbol", flat=True), ".")
        self.subsectors = {
            entry.subsector: entry
            for entry in IndustryClassificationBenchmark.objects.all()
        }
        self.problems: list[Problem] = []

    def write(self, batch: list[CsvRow]) -> None:
        """Write a batch in a constant number of statements; in none after a problem."""
        isins = [row.values["isin"] for row in batch]
        stored = Token.objects.select_related("issuer__owner").in_bulk(
            isins, field_name="isin"
        )
        new, changed = [], []
        for row in batch:
            token = stored.get(row.values["isin"])
            if token is None:
                new.append(self.new_token(row))
            elif self.update(token, row):
                changed.append(token)
        if self.problems:
            return
        issuers = [token.issuer for token in new]
        User.objects.bulk_create([issuer.owner for issuer in issuers])
        Issuer.objects.bulk_create(issuers)
        Token.objects.bulk_create(new)

        issuers = list({token.issuer_id: token.issuer for token in changed}.values())
        owners = list({issuer.owner_id: issuer.owner for issuer in issuers}.values())
        User.objects.bulk_update(owners, ["company_name", "country", "city"])
        Issuer.objects.bulk_update(issuers, ISSUER_FIELDS)
        Token.objects.bulk_update(changed, ["name", "symbol"])
        self.changes.created += len(new)
        self.changes.updated += len(changed)
        self.changes.unchanged += len(batch) - len(new) - len(changed)

    def new_token(self, row: CsvRow) -> Token:
        values = row.values
        owner = User(
            type=User.Type.COMPANY,
            company_name=values["name"],
            country_id=values["country"],
            city=values["city"],
        )
        owner.set_unusable_password()
        slug = slug_of(values["name"]) or values["isin"].lower()
        issuer = Issuer(
            trading_name=values["name"],
            slug=self.slugs.claim(slug, MAX_SLUG_LENGTH),
            country_id=values["country"],
            trading_location=values["city"],
            website=values.get("website") or None,
            formation_date=formed_on(values),
            industry_classification_benchmark=self.subsector(values),
            owner=owner,
        )
        return Token(
            issuer=issuer,
            name=values["name"],
            isin=values["isin"],
            symbol=self.claim_symbol(row),
        )

    def update(self, token: Token, row: CsvRow) -> bool:
        """Whether anything differed and was updated; empty values change nothing."""
        values, issuer, owner = row.values, token.issuer, token.issuer.owner
        before = state_of(token)
        # If staff have renamed or replaced the owner, their change stays.
        if owner.company_name == issuer.trading_name:
            owner.company_name = values["name"]
            owner.country_id, owner.city = values["country"], values["city"]
        if token.name == issuer.trading_name:
            token.name = values["name"]
        issuer.trading_name = values["name"]
        issuer.country_id = values["country"]
        issuer.trading_location = values["city"]
        issuer.website = values.get("website") or issuer.website
        issuer.formation_date = formed_on(values) or issuer.formation_date
        if issuer.industry_classification_benchmark_id is None:
            issuer.industry_classification_benchmark = self.subsector(values)
        if not re.fullmatch(re.escape(values["symbol"]) + r"(\.\d+)?", token.symbol):
            if token.is_traded:
                rule = (
                    f"{values['symbol']}: the token is traded as {token.symbol}, and "
                    f"changing its symbol needs a second person; write {token.symbol}, "
                    "or request the change in the back office"
                )
                self.problems.append(Problem(row.line, "symbol", rule))
            else:
                token.symbol = self.claim_symbol(row)
        return state_of(token) != before

    def claim_symbol(self, row: CsvRow) -> str:
        asked = row.values["symbol"]
        given = self.symbols.claim(asked)
        if given != asked:
            self.changes.taken_symbols.append(
                TakenSymbol(row.line, row.values["isin"], asked, given)
            )
        if len(given) > MAX_LENGTHS["symbol"]:
            rule = f"{asked} is taken, and {given} would be too long"
            self.problems.append(Problem(row.line, "symbol", rule))
            return asked
        return given

    def subsector(
        self, values: dict[str, str]
    ) -> IndustryClassificationBenchmark | None:
        # Other classifications share a few names; a partial match would be a guess.
        return self.subsectors.get(values.get("industry", ""))


ISSUER_FIELDS = (
    "trading_name",
    "country_id",
    "trading_location",
    "website",
    "formation_date",
    "industry_classification_benchmark_id",
)


def state_of(token: Token) -> list[object]:
    issuer, owner = token.issuer, token.issuer.owner
    return [
        token.name,
        token.symbol,
        *(getattr(issuer, field) for field in ISSUER_FIELDS),
        owner.company_name,
        owner.country_id,
        owner.city,
    ]


def formed_on(values: dict[str, str]) -> date | None:
    text = values.get("formation_date")
    return date.fromisoformat(text) if text else None


def slug_of(name: str) -> str:
    """ASCII words joined by hyphens; empty without a Latin letter or digit."""
    plain = unicodedata.normalize("NFKD", name.casefold()).translate(LETTERS)
    return re.sub(r"[-_]+", "-", slugify(plain)).strip("-")
