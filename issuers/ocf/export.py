"""A capitalization table of one instant as an Open Cap Table (OCF) package.

Each class, each holder, and one issuance for what a holder has of a class, dated with
the instant's day. The treasury's units are issued to a stakeholder whose
`issuer_assigned_id` is TREASURY. `import ocf` makes the same table of it. The package
follows the JSON schemas of OCF 1.2.0. Comments mark what they require and the register
does not know, and hold what they have no field for.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from decimal import Decimal
from io import BufferedIOBase, TextIOWrapper
from pathlib import Path
from typing import IO, Any

from issuers.exports.captable import DatedTable, Holding, holdings
from issuers.models import Token
from issuers.ocf.comments import EMAIL, ISIN, LEI, NOT_KNOWN, SYMBOL, WALLET, comments
from issuers.ocf.holders import TREASURY
from issuers.ocf.share_classes import currency_code
from issuers.register.models import TokenPrice
from partnerapi.core.progress import Advance
from partnerapi.core.times import to_rfc3339

VERSION = "1.2.0"
MADE_AT = (1980, 1, 1, 0, 0, 0)
"""What the archive says of its files; so the same table makes the same archive."""
TREASURY_ID = "treasury"


class NotOcf(Exception):
    """An issuer lacks what OCF requires; the message says what, and the remedy."""


def write_package(table: DatedTable, path: Path, advance: Advance) -> int:
    """Write a zip; return the number of its issuances.

    Raises:
        NotOcf
    """
    issuer = about(table)
    classes = Token.objects.in_bulk([t.token_id for t in table.tokens])
    by_id = {str(pk): token for pk, token in classes.items()}
    ordered = [by_id[summary.token_id] for summary in table.tokens]
    priced = priced_by(table)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        of_classes = write_items(
            archive, "StockClasses.ocf.json", "STOCK_CLASSES", map(stock_class, ordered)
        )
        with holdings(table) as held:
            of_holders = write_items(
                archive, "Stakeholders.ocf.json", "STAKEHOLDERS",
                stakeholders(table, held),
            )  # fmt: skip
        count = 0

        def count_each() -> Iterator[dict[str, Any]]:
            nonlocal count
            with holdings(table) as held:
                for item in issuances(table, held, priced):
                    count += 1
                    advance(1)
                    yield item

        of_issuances = write_items(
            archive, "Transactions.ocf.json", "TRANSACTIONS", count_each()
        )
        content = {
            "ocf_version": VERSION,
            "file_type": "OCF_MANIFEST_FILE",
            "issuer": issuer,
            "as_of": table.date[:10],
            "generated_at": to_rfc3339(table.date),
            "stakeholders_files": [of_holders],
            "stock_classes_files": [of_classes],
            "transactions_files": [of_issuances],
            **{name: [] for name in EMPTY},
        }
        text = json.dumps(content, ensure_ascii=False, indent=2)
        archive.writestr(entry("Manifest.ocf.json"), text)
    return count


EMPTY = (
    "stock_plans_files", "valuations_files", "vesting_terms_files",
    "stock_legend_templates_files",
)  # fmt: skip


def about(table: DatedTable) -> dict[str, Any]:
    """The issuer.

    Raises:
        NotOcf
    """
    issuer = table.issuer
    lacks = [
        what
        for what, value in (
            ("formation date", issuer.formation_date), ("country", issuer.country_id)
        )
        if not value
    ]  # fmt: skip
    if lacks:
        raise NotOcf(
            f"{issuer.trading_name} has no {' and no '.join(lacks)}, which OCF "
            "requires of an issuer. Enter what is missing on the issuer's page in the "
            "back office, and export again."
        )
    return {
        "id": str(issuer.pk),
        "object_type": "ISSUER",
        "legal_name": issuer.owner.company_name or issuer.trading_name,
        "dba": issuer.trading_name,
        "formation_date": str(issuer.formation_date),
        "country_of_formation": issuer.country_id,
        "address": {
            "address_type": "CONTACT",
            "city": issuer.trading_location,
            "country": issuer.country_id,
        },
    }


def priced_by(table: DatedTable) -> set[str]:
    """The tokens that had a price at the table's instant."""
    prices = TokenPrice.objects.filter(
        token__in=[token.token_id for token in table.tokens], effective_at__lte=table.at
    )
    return {str(pk) for pk in prices.values_list("token", flat=True).distinct()}


def stock_class(token: Token) -> dict[str, Any]:
    bound = token.authorized_units
    required: dict[str, Any] = {
        "class_type": (token.class_type, Token.ClassType.COMMON),
        "votes_per_share": (plain_number(token.votes_per_share), "1"),
        "seniority": (plain_number(token.seniority), "1"),
    }
    item: dict[str, Any] = {
        "id": str(token.pk),
        "object_type": "STOCK_CLASS",
        "name": token.name,
        "default_id_prefix": f"{token.symbol}-",
        "initial_shares_authorized": plain_number(bound) or "UNLIMITED",
        "board_approval_date": token.created_at.date().isoformat(),
        **{
            field: substitute if value is None else value
            for field, (value, substitute) in required.items()
        },
    }
    if token.nominal_value is not None and currency_code(token.nominal_currency):
        item["par_value"] = {
            "amount": plain_number(token.nominal_value),
            "currency": token.nominal_currency,
        }
    missing = [field for field, (value, _) in required.items() if value is None]
    return item | comments({
        SYMBOL: token.symbol, ISIN: token.isin, NOT_KNOWN: ", ".join(missing)
    })  # fmt: skip


def plain_number(value: Decimal | int | None) -> str | None:
    return value if value is None else f"{Decimal(value).normalize():f}"


def stakeholders(
    table: DatedTable, held: Iterable[Holding]
) -> Iterator[dict[str, Any]]:
    """The treasury, and each holder once: a holder's holdings are consecutive."""
    if any(needs_treasury(token) for token in table.tokens):
        name = table.issuer.owner.company_name or table.issuer.trading_name
        yield {
            "id": TREASURY_ID,
            "object_type": "STAKEHOLDER",
            "name": {"legal_name": name},
            "stakeholder_type": "INSTITUTION",
            "issuer_assigned_id": TREASURY,
        }
    last = None
    for h in held:
        if h.user_id == last:
            continue
        last = h.user_id
        yield stakeholder(h)


def needs_treasury(token: Any) -> bool:
    """A price is the treasury's to tell where no one holds a unit."""
    return token.supply > token.held or bool(token.price) and not token.held


def stakeholder(h: Holding) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": h.user_id,
        "object_type": "STAKEHOLDER",
        "name": {"legal_name": h.name},
        "stakeholder_type": "INSTITUTION" if h.type == "COMPANY" else "INDIVIDUAL",
    }
    if h.type != "COMPANY" and h.first_name and h.last_name:
        item["name"] |= {"first_name": h.first_name, "last_name": h.last_name}
    if h.email:
        emails = [{"email_type": "OTHER", "email_address": h.email}]
        item["contact_info"] = {"emails": emails}
    email = h.email if h.type == "COMPANY" else None
    return item | comments({LEI: h.lei, WALLET: h.wallet, EMAIL: email})


def issuances(
    table: DatedTable, held: Iterable[Holding], priced: set[str]
) -> Iterator[dict[str, Any]]:
    for number, token in enumerate(table.tokens):
        if needs_treasury(token):
            rest = token.supply - token.held
            yield issuance(table, number, TREASURY_ID, rest, priced)
    for h in held:
        yield issuance(table, h.place, h.user_id, h.units, priced)


def issuance(
    table: DatedTable, place: int, holder: str, units: int, priced: set[str]
) -> dict[str, Any]:
    token = table.tokens[place]
    security = f"{table.symbols[place]}-{holder}"
    item: dict[str, Any] = {
        "id": f"issuance-{security}",
        "object_type": "TX_STOCK_ISSUANCE",
        "date": table.date[:10],
        "security_id": security,
        "custom_id": security,
        "stakeholder_id": holder,
        "stock_class_id": token.token_id,
        "quantity": str(units),
        "share_price": {
            "amount": f"{token.price // 100}.{token.price % 100:02}",
            "currency": "EUR",
        },
        "stock_legend_ids": [],
        "security_law_exemptions": [],
    }
    is_priced = token.token_id in priced
    return item | comments({NOT_KNOWN: None if is_priced else "share_price"})


def write_items(
    archive: zipfile.ZipFile, name: str, kind: str, items: Iterable[dict[str, Any]]
) -> dict[str, str]:
    """Write an OCF file, object by object; how the manifest names it."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    with (
        archive.open(entry(name), "w", force_zip64=True) as raw,
        Digested(raw) as digested,
        TextIOWrapper(digested, "utf-8") as file,  # type: ignore[type-var]
    ):
        file.write(f'{{"file_type": "OCF_{kind}_FILE", "items": [\n')
        separator = ""
        for item in items:
            file.write(separator + encode(item))
            separator = ",\n"
        file.write("\n]}\n")
    return {"filepath": f"./{name}", "md5": digested.md5.hexdigest()}


class Digested(BufferedIOBase):
    """Writes to a file, and keeps the MD5 of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.md5 = hashlib.md5(usedforsecurity=False)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.md5.update(data)
        return self.file.write(data)


def entry(name: str) -> zipfile.ZipInfo:
    about = zipfile.ZipInfo(name, MADE_AT)
    about.compress_type = zipfile.ZIP_DEFLATED
    return about
