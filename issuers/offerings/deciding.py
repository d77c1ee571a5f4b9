"""What two people decide of an offering: to open, price, allot, settle or end it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Max, Sum

from accounts.approvals.four_eyes import (
    NotApproved,
    Preview,
    Superseded,
    carrying,
    sentence,
)
from accounts.approvals.models import ApprovalRequest
from issuers.models.documents import Document
from issuers.offerings.allotting import (
    book_of,
    digest_of,
    proposed_price,
    shares_now,
    shares_of,
)
from issuers.offerings.drafting import OfferingTerms, terms_of
from issuers.offerings.models import (
    BPS,
    AllotmentRule,
    Offering,
    OfferingStatus,
    UnitSource,
)
from issuers.offerings.paying import cash_head
from issuers.register import ledger
from issuers.register.approvals import token_facts, token_links, worth
from partnerapi.core.database import constraint_of, execute, rows_of, value_of
from partnerapi.core.lock_waits import name_locked_row
from partnerapi.core.money import euros, growth, plural

OPEN, PRICE, ALLOT, WITHDRAWN, FAILED = "OPEN", "PRICE", "ALLOT", "WITHDRAWN", "FAILED"
"""The steps that a request of the kind OFFERING may be."""
SETTLING_SECONDS = 60
"""For how long orders of the investors are refused, unless the settlement ends."""


class OfferingRefused(Exception):
    """The step is not possible now; the message says why."""


def offering_content(
    offering: Offering, step: str, price: int | None = None, reason: str = ""
) -> dict[str, Any]:
    """The content of a request for a step. A price is asked for with PRICE alone.

    Raises:
        OfferingRefused: it is not possible now.
    """
    check_step(offering, step)
    of = {"step": step, "offering": str(offering.pk)}
    if step == OPEN:
        return of | {
            "token": str(offering.token_id),
            "terms": terms_of(offering).content(),
            "digests": [file.checksum_sha256 for file in documents_of(offering)],
        }
    if step == PRICE:
        floor, cap = offering.prices
        if price is None or not floor <= price <= cap:
            raise OfferingRefused(
                f"The price is between {euros(floor)} and {euros(cap)}."
            )
        return of | {"cents": price, "before": offering.price}
    if step == ALLOT:
        shares = shares_of(offering, book_of(offering))
        units = sum(share.units for share in shares)
        if units < offering.minimum_units:
            raise OfferingRefused(
                f"{units:,} units can be allotted, fewer than the minimum of "
                f"{offering.minimum_units:,}. End it as failed."
            )
        return of | {
            "price": offering.price,
            "units": units,
            "digest": digest_of(shares),
        }
    if step == FAILED:
        units = sum(share.units for share in shares_now(offering)[1])
        if units >= offering.minimum_units:
            raise OfferingRefused(
                f"{units:,} units can be allotted, and the minimum is "
                f"{offering.minimum_units:,}. Withdraw the offering instead."
            )
    return of | {"was": offering.status, "reason": reason}


FROM: Mapping[str, set[str]] = {
    OPEN: {OfferingStatus.DRAFT},
    PRICE: {OfferingStatus.CLOSED},
    ALLOT: {OfferingStatus.CLOSED, OfferingStatus.ALLOTTED},
    WITHDRAWN: {OfferingStatus.OPEN, OfferingStatus.CLOSED, OfferingStatus.ALLOTTED},
    FAILED: {OfferingStatus.CLOSED, OfferingStatus.ALLOTTED},
}
"""From which statuses a step leads on."""


def check_step(offering: Offering, step: str) -> None:
    if offering.status not in FROM[step]:
        raise OfferingRefused(f"The offering is {offering.status}.")
    if step == PRICE and offering.rule != AllotmentRule.BOOK:
        raise OfferingRefused("The offering has a fixed price.")
    if step != ALLOT:
        return
    if offering.price is None:
        raise OfferingRefused("The offering has no price yet.")
    last = reflection_ends(offering)
    if last is not None and last > datetime.now(UTC):
        raise OfferingRefused(
            f"A reflection period runs until {last:%Y-%m-%d %H:%M:%S} UTC."
        )


def reflection_ends(offering: Offering) -> datetime | None:
    """When the last reflection period of its active subscriptions ends."""
    active = offering.subscriptions.active()
    ends: datetime | None = active.aggregate(last=Max("reflects_until"))["last"]
    return ends


def offering_title(offering: Offering, step: str) -> str:
    return f"{TITLES[step]}: {offering.token}, {size_of(offering)}"[:200]


TITLES = {
    OPEN: "Opening of an offering",
    PRICE: "Price of an offering",
    ALLOT: "Allotment of an offering",
    WITHDRAWN: "Withdrawal of an offering",
    FAILED: "Failure of an offering",
}


def size_of(offering: Offering) -> str:
    return f"{offering.maximum_units:,} units at {price_text(terms_of(offering))}"


def price_text(terms: OfferingTerms) -> str:
    if terms.price is not None:
        return euros(terms.price)
    assert terms.floor is not None
    assert terms.cap is not None
    return f"{euros(terms.floor)} to {euros(terms.cap)}"


def open_offering(offering: Offering, actor: str) -> Offering:
    """Open a draft, in a transaction that carries its approval."""
    return moved(OPEN_OFFERING, [actor, offering.pk])


def set_price(offering: Offering, cents: int, actor: str) -> Offering:
    """Give an offering with a book its price, likewise."""
    return moved(SET_PRICE, [actor, offering.pk, cents])


def allot_units(offering: Offering, digest: str, actor: str) -> Offering:
    """Allot the units, likewise.

    Raises:
        Superseded: the allotment is no longer that of the digest.
    """
    shares = shares_of(offering, book_of(offering))
    if digest_of(shares) != digest:
        raise Superseded("The allotment would now be another one.")
    return moved(
        ALLOT_UNITS,
        [
            *(actor, offering.pk),
            [share.subscription.pk for share in shares],
            [share.units for share in shares],
            [share.code for share in shares],
        ],
    )


def end(offering: Offering, becomes: str, reason: str, actor: str) -> Offering:
    """Withdraw an offering or let it fail, likewise; a draft needs no approval."""
    return moved(END, [actor, offering.pk, becomes, reason])


def withdraw_draft(offering: Offering, reason: str, actor: str) -> Offering:
    """Withdraw a draft, which partners never saw; `actor` may ask for offerings.

    Raises:
        OfferingRefused: it is no draft.
        NotApproved: it is none any more, or the actor may not.
    """
    if offering.status != OfferingStatus.DRAFT:
        raise OfferingRefused(f"The offering is {offering.status}.")
    with transaction.atomic():
        return end(offering, WITHDRAWN, reason, actor)


def moved(statement: str, arguments: list[Any]) -> Offering:
    """
    Raises:
        NotApproved: the database refuses it; the message says why.
    """
    offering: Offering
    try:
        [offering] = Offering.objects.raw(statement, arguments)
    except IntegrityError as error:
        said = BROKEN.get(constraint_of(error) or "", sentence(error))
        raise NotApproved(said) from None
    return offering


BROKEN: Mapping[str, str] = {
    "ledger_balance_after_is_not_negative": (
        "The treasury has fewer units than allotted."
    ),
    "offering_under_way_is_one_of_its_token": "The token has an offering under way.",
}
"""What a step would break, by constraint."""


def close_due(at: datetime) -> int:
    """Close offerings whose time is over, and fail those that then miss their minimum;
    return how many changed."""
    return sum(value_of(CLOSE, [pk]) for (pk,) in rows_of(DUE, [at]))


def settle(offering: Offering, approval: UUID, actor: str) -> Offering:
    """Settle an allotted offering, by a request that two people decided.

    A commit before marks its investors: their orders are refused meanwhile, and do not
    wait. `actor` filed the request, or decided it.

    Raises:
        NotApproved, LockTimeout
    """
    ledger.treasury(offering.token.issuer)
    with name_locked_row():
        mark(offering, SETTLING_SECONDS, actor)
        try:
            with carrying([approval]):
                return moved(SETTLE, [actor, offering.pk])
        finally:
            # Settled or not: orders are taken as before.
            mark(offering, 0, actor)


def mark(offering: Offering, seconds: int, actor: str) -> None:
    """
    Raises:
        NotApproved
    """
    try:
        with transaction.atomic():
            execute(MARK, [actor, offering.pk, seconds])
    except IntegrityError as error:
        raise NotApproved(sentence(error)) from None


def settlement_content(offering: Offering) -> dict[str, Any]:
    """The content of a request to settle an offering as it is allotted.

    Raises:
        OfferingRefused
    """
    if offering.status != OfferingStatus.ALLOTTED or offering.price is None:
        raise OfferingRefused(f"The offering is {offering.status}.")
    units = allotted_units(offering)
    fee = fee_of(offering, units * offering.price)
    return {
        "offering": str(offering.pk),
        "units": units,
        "cents": units * offering.price,
        "fee": sum(fee),
    }


def settlement_title(offering: Offering) -> str:
    return f"Settlement of an offering: {offering.token}, {size_of(offering)}"[:200]


def allotted_units(offering: Offering) -> int:
    active = offering.subscriptions.active()
    return int(active.aggregate(units=Sum("allotted"))["units"] or 0)


def fee_of(offering: Offering, cents: int) -> tuple[int, int]:
    """The issuer's fee of these proceeds, and its value added tax; a half goes up."""
    net = (2 * cents * offering.fee_bps + BPS) // (2 * BPS)
    return net, (2 * net * offering.vat_bps + BPS) // (2 * BPS)


OPEN_OFFERING = "SELECT * FROM offerings_open(%s, %s)"
SET_PRICE = "SELECT * FROM offerings_price(%s, %s, %s)"
ALLOT_UNITS = (
    "SELECT * FROM offerings_allot(%s, %s, %s::uuid[], %s::bigint[], %s::text[])"
)
END = "SELECT * FROM offerings_end(%s, %s, %s, %s)"
CLOSE = "SELECT offerings_close(%s)"
MARK = "SELECT offerings_mark(%s, %s, %s)"
SETTLE = "SELECT * FROM offerings_settle(%s, %s)"
DUE = """
    SELECT o.id FROM issuers_offering o
    WHERE o.closes_at <= %s AND (o.status = 'OPEN' OR o.status = 'CLOSED' AND (
        SELECT coalesce(sum(s.quantity), 0) FROM issuers_subscription s
        WHERE s.offering_id = o.id AND s.status = 'ACTIVE') < o.minimum_units)
"""


def offering_of(content: Mapping[str, Any]) -> Offering:
    return Offering.objects.select_related("token__issuer", "token__ledger_head").get(
        pk=content["offering"]
    )


class MoveOffering:
    """A step of an offering; superseded if its content would now be another one."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content: Mapping[str, Any] = request.content
        offering, step = offering_of(content), content["step"]
        self.check(offering, content)
        subscribed = covered(offering)
        rows = [
            *token_facts(offering.token),
            ("Step", "", TITLES[step]),
            *terms_rows(offering),
            ("Documents", "", documents_text(offering)),
            ("Subscribed", "", plural(subscribed, "unit")),
        ]
        warnings = []
        becomes = {OPEN: OfferingStatus.OPEN, ALLOT: OfferingStatus.ALLOTTED}
        if step != PRICE:
            rows.append(status_row(offering, becomes.get(step, step)))
        if step == PRICE:
            before = euros(content["before"]) if content["before"] else "none"
            rows.append(("Price", before, euros(content["cents"])))
            sold = min(subscribed, offering.maximum_units)
            rows.append(("Value at this price", "", worth(sold, content["cents"])))
            best = proposed_price(offering, book_of(offering))
            if best != content["cents"]:
                said = euros(best) if best else "none"
                warnings.append(f"The price at which most units are sold is {said}.")
        if step == ALLOT:
            was = plural(allotted_units(offering), "unit")
            rows.append(("Allotted", was, plural(content["units"], "unit")))
            value = worth(content["units"], content["price"])
            rows.append(("Value of the allotted units", "", value))
        if step in (WITHDRAWN, FAILED):
            rows.append(("Reason", "", content["reason"]))
            rows.append(("Reserved by investors", euros(reserved(offering)), "€0.00"))
            warnings.append("All reserved cash is released; nothing is allotted.")
        return Preview(rows, warnings, token_links(offering.token))

    def check(self, offering: Offering, content: Mapping[str, Any]) -> None:
        step, reason = content["step"], content.get("reason", "")
        try:
            now = offering_content(offering, step, content.get("cents"), reason)
        except OfferingRefused as error:
            raise Superseded(str(error)) from None
        if now != {name: content[name] for name in now}:
            raise Superseded("The offering has changed since this was requested.")

    def execute(self, request: ApprovalRequest) -> Offering:
        content: Mapping[str, Any] = request.content
        offering, step = offering_of(content), content["step"]
        self.check(offering, content)
        actor = request.filed_by.email or ""
        if step == OPEN:
            return open_offering(offering, actor)
        if step == PRICE:
            return set_price(offering, content["cents"], actor)
        if step == ALLOT:
            return allot_units(offering, content["digest"], actor)
        return end(offering, step, content["reason"], actor)


def covered(offering: Offering) -> int:
    """Units of active subscriptions whose reflection period has ended."""
    binding = offering.subscriptions.covered()
    return int(binding.aggregate(units=Sum("quantity"))["units"] or 0)


def reserved(offering: Offering) -> int:
    """Euro cents that its active subscriptions reserve."""
    cents = offering.subscriptions.active().aggregate(
        sum=Sum(F("quantity") * F("limit_price"))
    )
    return int(cents["sum"] or 0)


def status_row(offering: Offering, becomes: str) -> tuple[str, str, str]:
    return "Status", offering.get_status_display(), OfferingStatus(becomes).label


def terms_rows(offering: Offering) -> list[tuple[str, str, str]]:
    terms = terms_of(offering)
    source = UnitSource(terms.source).label
    return [
        ("Price of a unit", "", price_text(terms)),
        ("Units", "", f"{terms.minimum:,} to {terms.maximum:,}, from: {source}"),
        ("Proceeds", "", proceeds_text(terms)),
        ("Subscription", "", tickets_text(terms)),
        ("Allotment", "", AllotmentRule(terms.rule).label),
        (
            "Open",
            "",
            f"{terms.opens:%Y-%m-%d %H:%M} to {terms.closes:%Y-%m-%d %H:%M} UTC",
        ),
        ("Reflection period", "", f"{terms.reflection / 86_400:g} days"),
        ("Fee", "", f"{terms.fee / 100:g} % and {terms.vat / 100:g} % VAT"),
    ]


def documents_text(offering: Offering) -> str:
    """Their names, each with the beginning of its SHA-256."""
    said = [
        f"{file.name} ({file.checksum_sha256[:12]})" for file in documents_of(offering)
    ]
    return ", ".join(said) or "none"


def documents_of(offering: Offering) -> list[Document]:
    """In the order in which it names them, without their bytes."""
    found = Document.objects.defer("content").in_bulk(offering.documents)
    return [found[id] for id in offering.documents if id in found]


def proceeds_text(terms: OfferingTerms) -> str:
    least, most = terms.price or terms.floor, terms.price or terms.cap
    assert least is not None
    assert most is not None
    return f"{euros(terms.minimum * least)} to {euros(terms.maximum * most)}"


def tickets_text(terms: OfferingTerms) -> str:
    return f"{terms.smallest:,} to {terms.largest or terms.maximum:,} units"


class SettleOffering:
    """The settlement of an offering, which the requester begins at a chosen minute."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content: Mapping[str, Any] = request.content
        offering = offering_of(content)
        try:
            now = settlement_content(offering)
        except OfferingRefused as error:
            raise Superseded(str(error)) from None
        if now != content:
            raise Superseded("The allotment has changed since this was requested.")
        rows = [
            *token_facts(offering.token),
            *terms_rows(offering),
            ("Allotted", "", plural(content["units"], "unit")),
            ("Paid to the issuer", "", euros(content["cents"])),
            ("Fee of the issuer", "", euros(content["fee"])),
            status_row(offering, OfferingStatus.SETTLED),
            *self.moves(offering, content),
        ]
        said = "Units and cash move in one transaction, which is final."
        return Preview(rows, [said], token_links(offering.token))

    def moves(
        self, offering: Offering, content: Mapping[str, Any]
    ) -> Iterator[tuple[str, str, str]]:
        """Where the units come from, and what the issuer has of cash."""
        head, units = offering.token.ledger_head, content["units"]
        supply, treasury = int(head.supply), int(head.supply - head.held)
        if offering.source == UnitSource.MINT:
            yield "Supply", f"{supply:,}", growth(supply, supply + units)
        else:
            yield "Treasury", f"{treasury:,}", growth(treasury, treasury - units)
        if cash := cash_head(offering.token.issuer):
            after = cash.balance + content["cents"] - content["fee"]
            yield "Cash of the issuer", euros(cash.balance), euros(after)

    def execute(self, request: ApprovalRequest) -> Offering:
        offering = offering_of(request.content)
        return moved(SETTLE, [request.filed_by.email or "", offering.pk])
