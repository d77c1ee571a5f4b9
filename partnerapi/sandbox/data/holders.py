"""Legacy shareholders of invented companies, from a few to millions, by COPY.

The n-th shareholder of a company is the same in every sandbox, so a register may
grow from any length to any other.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from accounts.people.models import User
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer
from partnerapi.core.authors import written_by
from partnerapi.core.uuids import uuid7_of
from partnerapi.sandbox.data.approvals import ASKER, colleague
from partnerapi.sandbox.data.chance import OPENING, dice, invented_lei
from partnerapi.sandbox.data.companies import COMPANIES, Company
from partnerapi.sandbox.data.names import (
    ADJECTIVES,
    FIRST_NAMES,
    LAST_NAMES,
    NOUNS,
    TRADES,
)

FORMS = list(User.LegalForm)
COUNTRIES = sorted({company.country for company in COMPANIES})

INVESTORS = 120
"""People and companies who hold shares of several of the companies."""
SHARED = 15
"""How many of a company's first shareholders are such investors."""
DETAILED = 5_000
"""Later shareholders are for load, and lack what costs the database most to check."""
CHUNK = 20_000
LINES = 200
"""That go to the server in one piece."""

USER_COLUMNS = (
    "id password is_superuser type email first_name last_name company_name legal_form"
    " lei country_id address postal_code city is_active is_staff created_at"
)
HOLDER_COLUMNS = "id user_id name wallet_address"
SHAREHOLDER_COLUMNS = (
    "id issuer_id user_id token_id status number_of_shares price_cents created_at"
)
NULL = r"\N"


class Holder(NamedTuple):
    """A user and its profile, as lines for COPY; `digest` is what else to draw from."""

    user_id: str
    user: str
    profile: str
    digest: bytes


def holder(name: str, number: int, at: datetime) -> Holder:
    digest = hashlib.blake2b(f"{name}:{number}".encode(), digest_size=64).digest()
    is_detailed = number < DETAILED
    user_id = uuid7_of(at, int.from_bytes(digest[0:10])).hex
    profile_id = uuid7_of(at, int.from_bytes(digest[10:20])).hex
    has_wallet = is_detailed and digest[40] < 170
    wallet = f"0x{digest[20:40].hex()}" if has_wallet else NULL
    country = COUNTRIES[digest[41] % len(COUNTRIES)] if is_detailed else NULL
    if digest[42] < 38:
        first = last = ""
        shown = company_name = " ".join(
            (
                ADJECTIVES[digest[43] % len(ADJECTIVES)],
                NOUNS[digest[44] % len(NOUNS)],
                TRADES[digest[45] % len(TRADES)],
            )
        )
        form = str(FORMS[number % len(FORMS)])
        has_lei = is_detailed and digest[46] < 100
        lei = invented_lei(f"{name}:{number}") if has_lei else NULL
        type = "COMPANY"
    else:
        first = FIRST_NAMES[digest[43] % len(FIRST_NAMES)]
        last = LAST_NAMES[digest[44] % len(LAST_NAMES)]
        shown = f"{first} {last}"
        company_name = form = lei = NULL
        type = "INDIVIDUAL"
    email = f"holder-{number:07}@{name}.example"
    # No password: holders of the sandbox do not sign in.
    user = (
        f"{user_id}\t!\tf\t{type}\t{email}\t{first}\t{last}\t{company_name}\t{form}"
        f"\t{lei}\t{country}\t\t\t\tt\tf\t{at.isoformat()}\n"
    )
    profile = f"{profile_id}\t{user_id}\t{shown}\t{wallet}\n"
    return Holder(user_id, user, profile, digest)


def shareholding(
    issuer: Issuer, token: UUID, held_by: Holder, price: int, at: datetime
) -> str:
    digest = held_by.digest
    # An investor has one digest and several holdings.
    own = hashlib.blake2b(digest + issuer.slug.encode(), digest_size=14).digest()
    id = uuid7_of(at, int.from_bytes(own[0:10])).hex
    shares = 1 + int.from_bytes(own[11:13]) ** 2 // 400_000
    paid = 0 if own[13] < 3 else price + own[13]
    return (
        f"{id}\t{issuer.id.hex}\t{held_by.user_id}\t{token}\t"
        f"{LegacyShareholder.Status.PENDING.value}\t{shares}\t{paid}"
        f"\t{at.isoformat()}\n"
    )


def write_investors() -> None:
    investors = [holder("investors", number, OPENING) for number in range(INVESTORS)]
    copy("accounts_user", USER_COLUMNS, (one.user for one in investors))
    copy("accounts_userholder", HOLDER_COLUMNS, (one.profile for one in investors))


def write_shareholders(
    company: Company,
    issuer: Issuer,
    start: int,
    stop: int,
    advance: Callable[[int], object],
) -> None:
    """Write shareholders `start` to `stop - 1`; `advance` gets the number done.

    Raises:
        IntegrityError: some of them are there already.
    """
    with connection.cursor() as cursor:
        # Else millions of checks wait in memory for the end of the transaction.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    price = dice("price", company.slug).randrange(150, 90_000)
    token = issuer.tokens.order_by("created_at", "id").values_list("id", flat=True)[0]
    for first in range(start, stop, CHUNK):
        numbers = range(first, min(first + CHUNK, stop))
        times = [imported_at(issuer, number) for number in numbers]
        # Lines are made while the server takes the earlier ones in.
        own: list[Holder] = []
        copy("accounts_user", USER_COLUMNS, users(company, numbers, times, own))
        copy("accounts_userholder", HOLDER_COLUMNS, (one.profile for one in own))
        holders = investors_of(company, numbers) + own
        holdings = (
            shareholding(issuer, token, one, price, at)
            for one, at in zip(holders, times, strict=True)
        )
        # A user of the sandbox has not made them, and may deliver some alone.
        with written_by(colleague(ASKER).email or "", "page of the sandbox"):
            copy("issuers_legacyshareholder", SHAREHOLDER_COLUMNS, holdings)
        advance(len(numbers))


def imported_at(issuer: Issuer, number: int) -> datetime:
    """Registers were imported fifty lines at a time."""
    return issuer.created_at + timedelta(days=2, seconds=number // 50)


def users(
    company: Company, numbers: range, times: list[datetime], made: list[Holder]
) -> Iterator[str]:
    for number, at in zip(numbers, times, strict=True):
        if number >= SHARED:
            made.append(holder(company.slug, number, at))
            yield made[-1].user


def investors_of(company: Company, numbers: range) -> list[Holder]:
    position = COMPANIES.index(company)
    return [
        holder("investors", (position * 11 + number) % INVESTORS, OPENING)
        for number in numbers
        if number < SHARED
    ]


def copy(table: str, columns: str, lines: Iterable[str]) -> None:
    statement = f"COPY {table} ({', '.join(columns.split())}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as target:
        # Each of its writes waits for the socket: a line alone costs as much as many.
        for part in batches(lines, LINES):
            target.write("".join(part))


def batches(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    left = iter(lines)
    while part := [*islice(left, size)]:
        yield part
