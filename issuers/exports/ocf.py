"""A capitalization table of one instant as an Open Cap Table (OCF) package.

Each class, each holder, and one issuance for what a holder has of a class, dated with
the instant's day. The treasury's units are issued to a stakeholder whose
`issuer_assigned_id` is TREASURY. `import_ocf` makes the same table of it.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from issuers.exports.captable import DatedTable, Holding, holdings
from issuers.imports.ocf.holders import TREASURY
from issuers.models import Token
from partnerapi.core.progress import Advance

VERSION = "1.2.0"
MADE_AT = (1980, 1, 1, 0, 0, 0)
"""What the archive says of its files; so the same table makes the same archive."""
TREASURY_ID = "treasury"


def write_package(table: DatedTable, path: Path, advance: Advance) -> int:
    """Write a zip; how many issuances it has."""
    classes = list(Token.objects.filter(pk__in=[t.token_id for t in table.tokens]))
    by_id = {str(token.pk): token for token in classes}
    ordered = [by_id[summary.token_id] for summary in table.tokens]
    day = table.date[:10]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        write_json(archive, "Manifest.ocf.json", manifest(table))
        write_items(
            archive, "StockClasses.ocf.json", "STOCK_CLASSES", map(stock_class, ordered)
        )
        with holdings(table) as held:
            write_items(
                archive, "Stakeholders.ocf.json", "STAKEHOLDERS",
                stakeholders(table, held),
            )  # fmt: skip
        count = 0

        def counted() -> Iterator[dict[str, Any]]:
            nonlocal count
            with holdings(table) as held:
                for item in issuances(table, held, day):
                    count += 1
                    advance(1)
                    yield item

        write_items(archive, "Transactions.ocf.json", "TRANSACTIONS", counted())
    return count


def manifest(table: DatedTable) -> dict[str, Any]:
    issuer = table.issuer
    about: dict[str, Any] = {
        "id": str(issuer.pk),
        "object_type": "ISSUER",
        "legal_name": issuer.owner.company_name or issuer.trading_name,
        "dba": issuer.trading_name,
    }
    if issuer.country_id:
        about["country_of_formation"] = issuer.country_id
        about["address"] = {
            "address_type": "CONTACT",
            "city": issuer.trading_location,
            "country": issuer.country_id,
        }
    empty = (
        "stock_plans_files", "valuations_files", "vesting_terms_files",
        "stock_legend_templates_files",
    )  # fmt: skip
    return {
        "ocf_version": VERSION,
        "file_type": "OCF_MANIFEST_FILE",
        "issuer": about,
        "as_of": table.date,
        "generated_at": table.date,
        "stakeholders_files": [{"filepath": "./Stakeholders.ocf.json"}],
        "stock_classes_files": [{"filepath": "./StockClasses.ocf.json"}],
        "transactions_files": [{"filepath": "./Transactions.ocf.json"}],
        **{name: [] for name in empty},
    }


def stock_class(token: Token) -> dict[str, Any]:
    bound = token.authorized_units
    item: dict[str, Any] = {
        "id": str(token.pk),
        "object_type": "STOCK_CLASS",
        "name": token.name,
        "class_type": token.class_type or Token.ClassType.COMMON,
        "default_id_prefix": f"{token.symbol}-",
        "initial_shares_authorized": "UNLIMITED" if bound is None else str(bound),
        "board_approval_date": token.created_at.date().isoformat(),
        "votes_per_share": 1
        if token.votes_per_share is None
        else token.votes_per_share,
        "seniority": plain_number(token.seniority) or "1",
    }
    if token.nominal_value is not None:
        item["par_value"] = {
            "amount": plain_number(token.nominal_value),
            "currency": token.nominal_currency,
        }
    return item


def plain_number(value: Any) -> str | None:
    return value if value is None else f"{value.normalize():f}"


def stakeholders(
    table: DatedTable, held: Iterable[Holding]
) -> Iterator[dict[str, Any]]:
    """The treasury, and each holder once: a holder's holdings follow each other."""
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
    """A price is the treasury's to tell where nobody holds a unit."""
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
        item["contact_info"] = {
            "name": {"legal_name": h.name},
            "emails": [{"email_type": "OTHER", "email_address": h.email}],
        }
    comments = [
        f"{what}: {value}"
        for what, value in (("LEI", h.lei), ("Wallet", h.wallet))
        if value
    ]
    return item | {"comments": comments} if comments else item


def issuances(
    table: DatedTable, held: Iterable[Holding], day: str
) -> Iterator[dict[str, Any]]:
    for number, token in enumerate(table.tokens):
        if needs_treasury(token):
            rest = token.supply - token.held
            yield issuance(table, number, TREASURY_ID, rest, day)
    for h in held:
        yield issuance(table, h.place, h.user_id, h.units, day)


def issuance(
    table: DatedTable, place: int, holder: str, units: int, day: str
) -> dict[str, Any]:
    token = table.tokens[place]
    security = f"{table.symbols[place]}-{holder}"
    item: dict[str, Any] = {
        "id": f"issuance-{security}",
        "object_type": "TX_STOCK_ISSUANCE",
        "date": day,
        "security_id": security,
        "custom_id": security,
        "stakeholder_id": holder,
        "stock_class_id": token.token_id,
        "quantity": str(units),
        "stock_legend_ids": [],
        "security_law_exemptions": [],
    }
    if token.price:
        amount = f"{token.price // 100}.{token.price % 100:02}"
        item["share_price"] = {"amount": amount, "currency": "EUR"}
    return item


def write_items(
    archive: zipfile.ZipFile, name: str, kind: str, items: Iterable[dict[str, Any]]
) -> None:
    """An OCF file, written object by object."""
    about = zipfile.ZipInfo(name, MADE_AT)
    about.compress_type = zipfile.ZIP_DEFLATED
    encode = json.JSONEncoder(ensure_ascii=False).encode
    with (
        archive.open(about, "w", force_zip64=True) as raw,
        TextIOWrapper(raw, "utf-8") as file,
    ):
        file.write(f'{{"file_type": "OCF_{kind}_FILE", "items": [\n')
        separator = ""
        for item in items:
            file.write(separator + encode(item))
            separator = ",\n"
        file.write("\n]}\n")


def write_json(archive: zipfile.ZipFile, name: str, content: dict[str, Any]) -> None:
    about = zipfile.ZipInfo(name, MADE_AT)
    about.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(about, json.dumps(content, ensure_ascii=False, indent=2))
