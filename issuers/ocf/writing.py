"""Writes a replayed OCF package: issuer, holders, tokens and their ledgers."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.history.models import RowChange
from accounts.people.imports import storable
from accounts.people.models import Country, User
from issuers.imports.issuers import MAX_SLUG_LENGTH, UniqueNames, slug_of
from issuers.imports.issuers import SYMBOL as SYMBOL_FORM
from issuers.models import Issuer, Token, validate_isin
from issuers.ocf.comments import ISIN, SYMBOL, facts
from issuers.ocf.fields import fields_left
from issuers.ocf.holders import name_and_columns, new_holders, treasury_of
from issuers.ocf.naming import MAX_NAME, derive_id, read_name
from issuers.ocf.objects import Item, Package, one_line
from issuers.ocf.replay import Movement, Replay, replay
from issuers.ocf.share_classes import NO_FACT, share_class_facts
from issuers.register import ledger
from partnerapi.core.database import planned_by_index
from partnerapi.core.problems import WrongFileError
from partnerapi.core.progress import Advance, Begin
from partnerapi.core.times import past_date

MAX_SYMBOL, MAX_REASON = 20, 500
ACTOR = "import_ocf"
NEVER_HELD = "stakeholders without shares"


@dataclass(slots=True)
class ImportedPackage:
    issuer: Issuer
    was_imported: bool = False
    replay: Replay = field(default_factory=Replay)
    tokens: dict[str, Token] = field(default_factory=dict)
    """By the id of their class."""
    entries: int = 0
    prices: int = 0
    remarks: list[str] = field(default_factory=list)
    fields: Counter[str] = field(default_factory=Counter)
    """How many objects of which type have a field that is not kept."""


def import_package(
    package: Package,
    now: datetime,
    begin: Begin,
    *,
    dry_run: bool,
) -> ImportedPackage:
    """Write a package's register once, all of it or nothing.

    `begin` receives the number of events to write.

    Raises:
        WrongFileError: every problem of the package.
        LedgerError: a rule of the register that the package's history breaks.
    """
    replayed = replay(package, now)
    names = {
        item.id: name_and_columns(item, package)
        for item in package.stakeholders.values()
    }
    for item in package.classes.values():
        read_name(item, "name", item.values.get("name"), package)
    legal_name = read_name(
        package.issuer, "legal_name", package.issuer.values.get("legal_name"), package
    )
    if package.problems:
        raise WrongFileError(package.problems)
    with planned_by_index():
        issuer_id = derive_id(f"issuer {package.issuer.id} {legal_name}")
        stored = Issuer.objects.filter(pk=issuer_id).first()
        owner_id = derive_id(f"package {package.checksum}")
        if stored and User.objects.filter(pk=owner_id).exists():
            return ImportedPackage(stored, was_imported=True)
        if stored:
            rule = (
                f"was already imported as {stored.slug}, from a different package. A "
                "register cannot be rewritten: enter later changes with mint, transfer "
                "and burn"
            )
            raise WrongFileError([package.issuer.problem(rule)])
        made = ImportedPackage(
            new_issuer(package, issuer_id, owner_id, legal_name, now.date()),
            replay=replayed,
        )
        if made.issuer.slug != base_slug(package, legal_name):
            taken = base_slug(package, legal_name)
            made.remarks.append(f"slug {taken} is taken: {made.issuer.slug} assigned")
        holders, remarks = new_holders(package, replayed, names, issuer_id)
        made.remarks += remarks
        if strangers := len(names) - len(holders):
            replayed.unplaced[NEVER_HELD] = strangers
        made.tokens = new_tokens(package, replayed, made.issuer, now)
        treasury = treasury_of(package)
        if treasury:
            holders[treasury] = ledger.treasury(made.issuer)
        told = begin("Writing", replayed.event_count)
        write_events(made, holders, treasury, told)
        bound_tokens(made)
        made.fields = fields_left(package)
        made.remarks += package.remarks
        made.remarks += [f"{n} {what}" for what, n in replayed.remarks.items() if n]
        RowChange.objects.note_import(
            made.issuer,
            what="Open Cap Table package",
            file=storable(package.file_name),
            holders=len(holders),
            entries=made.entries,
            sha256_of_objects=package.checksum,
        )
        transaction.set_rollback(dry_run)
    return made


def base_slug(package: Package, legal_name: str) -> str:
    name = package.issuer.values.get("dba") or legal_name
    return slug_of(str(name))[:MAX_SLUG_LENGTH].strip("-") or "issuer"


def new_issuer(
    package: Package, issuer_id: UUID, owner_id: UUID, legal_name: str, today: date
) -> Issuer:
    values = package.issuer.values
    address = values.get("address")
    address = address if isinstance(address, dict) else {}
    code = values.get("country_of_formation")
    usable = isinstance(code, str) and code.isalpha() and code.isascii()
    country = Country.objects.filter(code=code).first() if usable else None
    if code and country is None:
        rule = f"country_of_formation {code!r:.40} is not an ISO 3166 alpha-2 code"
        raise WrongFileError([package.issuer.problem(rule)])
    city = one_line(str(address.get("city") or ""))[:100]
    owner = User(
        id=owner_id, type=User.Type.COMPANY, company_name=legal_name, country=country,
        city=city,
    )  # fmt: skip
    owner.set_unusable_password()
    owner.save(force_insert=True)
    slugs = UniqueNames(Issuer.objects.values_list("slug", flat=True), "-")
    trading_name = values.get("dba")
    if not isinstance(trading_name, str) or not one_line(trading_name):
        trading_name = legal_name
    return Issuer.objects.create(
        id=issuer_id,
        trading_name=one_line(trading_name)[:MAX_NAME],
        slug=slugs.claim(base_slug(package, legal_name), MAX_SLUG_LENGTH),
        country=country,
        formation_date=formed_on(package, today),
        trading_location=city or (country.name if country else "unknown"),
        owner=owner,
    )


def formed_on(package: Package, today: date) -> date | None:
    value = package.issuer.values.get("formation_date")
    if value in (None, ""):
        return None
    try:
        return past_date(value, today)
    except ValueError as error:
        package.remarks.append(f"formation_date {error}; it is left blank")
        return None


def new_tokens(
    package: Package, replayed: Replay, issuer: Issuer, now: datetime
) -> dict[str, Token]:
    symbols = UniqueNames(Token.objects.values_list("symbol", flat=True), ".")
    isins = set(Token.objects.exclude(isin=None).values_list("isin", flat=True))
    company = issuer.slug.split("-")[0].upper()[:10]
    tokens = {}
    at = in_turn({
        item.id: creation_time(item, replayed.first.get(item.id), now)
        for item in package.classes.values()
    })  # fmt: skip
    for item in package.classes.values():
        kept, lost = share_class_facts(item)
        replayed.remarks[NO_FACT] += lost
        # A prefix of certificates, such as CS-, is only unique within its issuer.
        prefix = item.values.get("default_id_prefix") or item.values["name"]
        short = re.sub(r"[^A-Z0-9]+", "-", slug_of(str(prefix)).upper())
        said = facts(item.values)
        symbol = said.get(SYMBOL, "")
        if not SYMBOL_FORM.fullmatch(symbol):
            symbol = f"{company}-{short.strip('-') or 'SHARE'}"
        isin = said.get(ISIN)
        if isin and (isin in isins or not is_isin(isin)):
            package.remarks.append(
                f"ISIN {isin!r:.20} omitted: it is not a valid ISIN, or another token "
                "has it"
            )
            isin = None
        isins.add(isin)
        tokens[item.id] = Token.objects.create(
            id=derive_id(f"class {issuer.pk} {item.id}"),
            issuer=issuer,
            name=one_line(item.values["name"]),
            symbol=symbols.claim(symbol, MAX_SYMBOL),
            isin=isin,
            visibility=Token.Visibility.PRIVATE,
            created_at=at[item.id],
            **kept,
        )
    return tokens


def is_isin(text: str) -> bool:
    try:
        validate_isin(text)
    except ValidationError:
        return False
    return True


def in_turn(times: dict[str, datetime]) -> dict[str, datetime]:
    """The same, but what has one time comes in microseconds before it, in order."""
    later: Counter[datetime] = Counter()
    moved = {}
    for key, at in reversed(times.items()):
        moved[key] = at - timedelta(microseconds=later[at])
        later[at] += 1
    return moved


def creation_time(item: Item, first: datetime | None, now: datetime) -> datetime:
    """When the board approved the class, at the latest its first event."""
    latest = first or now
    try:
        approved = datetime.fromisoformat(item.values.get("board_approval_date") or "")
    except (TypeError, ValueError):
        return latest
    return min(approved.replace(tzinfo=UTC), latest)


def write_events(
    made: ImportedPackage,
    holders: dict[str, int],
    treasury: str | None,
    advance: Advance,
) -> None:
    def events() -> Iterator[ledger.Entry | ledger.Price]:
        for event in made.replay.events():
            token = made.tokens[event.class_id].pk
            if not isinstance(event, Movement):
                made.prices += 1
                yield ledger.Price(token, event.cents, "ISSUE", event.at)
                continue
            made.entries += 1
            source = None if event.source is None else holders[event.source]
            target = None if event.target is None else holders[event.target]
            kind = ledger.Kind.TRANSFER
            if source is None:
                kind = ledger.Kind.MINT
            elif target is None:
                kind = ledger.Kind.BURN
            elif event.source == treasury:
                kind = ledger.Kind.ALLOCATE
            elif event.target == treasury:
                kind = ledger.Kind.RETURN
            reason = event.reason[:MAX_REASON]
            yield ledger.Entry(
                token, kind, event.amount, source, target, reason, at=event.at
            )

    tokens = [token.pk for token in made.tokens.values()]
    ledger.write_history(tokens, events(), ACTOR, advance)


def bound_tokens(made: ImportedPackage) -> None:
    """Set the bounds after the history: earlier bounds were others."""
    for class_id, bound in made.replay.authorized.items():
        token = made.tokens[class_id]
        supply = sum(made.replay.balances[class_id].values())
        if supply > bound:
            made.remarks.append(
                f"{token.symbol}: {supply:,} shares are more than the {bound:,} "
                "authorized; no limit is set for the token"
            )
            continue
        token.authorized_units = bound
        token.save(update_fields=["authorized_units"])
