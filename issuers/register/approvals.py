"""Requests that concern a token's register: units made, destroyed, forced; prices."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Model

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from issuers.models import Token
from issuers.register import ledger
from issuers.register.errors import LedgerError
from issuers.register.ledger import Entry, Kind, Recorded
from issuers.register.models import (
    HolderBalance,
    LedgerAccount,
    LedgerTransaction,
    TokenLedgerHead,
    TokenPrice,
)
from issuers.register.reasons import ReasonCode
from partnerapi.core.money import euros, growth, percent


def entry_content(entry: Entry, supply: int) -> dict[str, Any]:
    """What an entry says, where the token's supply is `supply` before it."""
    made, destroyed = entry.source is None, entry.target is None
    after = supply + made * entry.amount - destroyed * entry.amount
    coded = {"code": entry.code.value} if entry.code else {}
    return coded | {
        "token": str(entry.token_id),
        "from": entry.source,
        "to": entry.target,
        "units": str(entry.amount),
        "reverses": entry.reverses,
        "reason": entry.reason,
        "supply": str(after) if made or destroyed else None,
    }


def entry_title(entry: Entry, token: Token) -> str:
    label = Kind(entry.kind).label
    if entry.reverses:
        return f"{label} of entry {entry.reverses}: {entry.amount:,} {token.symbol}"
    return f"{label} of {entry.amount:,} {token.symbol}"


def token_facts(token: Token) -> list[tuple[str, str, str]]:
    """Rows of a preview: the company and its token; `token_links` links them."""
    named = [token.symbol, token.name, token.isin or "no ISIN"]
    return [("Company", "", str(token.issuer)), ("Token", "", " · ".join(named))]


def token_links(token: Token) -> dict[str, Model]:
    return {"Company": token.issuer, "Token": token}


class EnterUnits:
    """An entry of a ledger: units that are made, destroyed, moved or moved back.

    It is superseded if it would now lead to another supply than approved, or if the
    ledger's rules now refuse it.
    """

    def preview(self, request: ApprovalRequest) -> Preview:
        entry = entry_of(request)
        token = Token.objects.select_related("issuer", "ledger_head").get(
            pk=entry.token_id
        )
        head = token.ledger_head
        places = LedgerAccount.objects.select_related(
            "holder", "user", "issuer"
        ).in_bulk([account for account in (entry.source, entry.target) if account])
        try:
            dry_run = ledger.DryRun()
            dry_run.record(entry)
        except LedgerError as error:
            raise Superseded(str(error)) from None
        after = dry_run.writer.ledgers[entry.token_id]
        check_supply(request, after.supply)
        supply, now = int(head.supply), int(after.supply)
        rows = [
            *token_facts(token),
            ("Units", "", f"{entry.amount:,}"),
            ("Value", "", worth(entry.amount, head.price_cents)),
            ("Share of the supply", "", percent(entry.amount, supply or now)),
            *([("Reason, public", "", entry.code.label)] if entry.code else []),
            ("Reason in the register", "", entry.reason),
        ]
        links = token_links(token)
        if entry.reverses:
            rows.append(("Reversed entry", "", undone(token.pk, entry.reverses)))
        rows.append(("Supply", f"{supply:,}", growth(supply, now)))
        balances = dict(
            HolderBalance.objects.filter(token=token, account__in=places).values_list(
                "account", "balance"
            )
        )
        for moved, account in (
            (-entry.amount, entry.source),
            (entry.amount, entry.target),
        ):
            if account is None:
                continue
            whose = places[account]
            name = f"{'To' if moved > 0 else 'From'}: {whose}"
            held = int(balances.get(account, 0))
            share = percent(held + moved, now)
            rows.append(
                (name, f"{held:,}", f"{held + moved:,} ({share} of the supply)")
            )
            links[name] = whose.user or token.issuer
        rows += [
            ("Units held by holders", f"{head.held:,}", f"{after.held:,}"),
            ("Number of holders", f"{head.holder_count:,}", f"{after.holders:,}"),
        ]
        final = "An entry is final; only a reversal can undo it."
        return Preview(rows, [final], links)

    def execute(self, request: ApprovalRequest) -> Recorded:
        entry = entry_of(request)
        try:
            [recorded] = ledger.record([entry], request.filed_by.email or "")
        except LedgerError as error:
            raise Superseded(str(error)) from None
        except IntegrityError:
            # The content may differ because the supply has changed.
            self.preview(request)
            raise
        written = LedgerTransaction.objects.get(
            token=entry.token_id, seq=recorded.number
        )
        check_supply(request, int(written.supply_after))
        return recorded


def worth(units: int, price_cents: int | None) -> str:
    if price_cents is None:
        return "no value: the token has no price"
    return f"{euros(units * price_cents)} at {euros(price_cents)} a unit"


def undone(token_id: UUID, seq: int) -> str:
    written = LedgerTransaction.objects.get(token=token_id, seq=seq)
    kind = written.get_kind_display()
    said = f"{written.seq}: {kind} of {written.amount:,} units"
    return f"{said}, {written.effective_at:%Y-%m-%d %H:%M} UTC, by {written.actor}"


def moving_kind(source: int, target: int) -> str:
    """The kind of a requested movement between two ledger accounts."""
    kinds = LedgerAccount.objects.in_bulk([source, target])
    if kinds[source].kind == LedgerAccount.Kind.TREASURY:
        return Kind.ALLOCATE
    is_return = kinds[target].kind == LedgerAccount.Kind.TREASURY
    return Kind.RETURN if is_return else Kind.TRANSFER


def entry_of(request: ApprovalRequest) -> Entry:
    content, kind = request.content, request.kind
    if kind == ApprovalKind.TRANSFER:
        kind = moving_kind(content["from"], content["to"])
    return Entry(
        UUID(content["token"]),
        kind,
        int(content["units"]),
        content["from"],
        content["to"],
        content["reason"],
        reverses=content["reverses"],
        code=ReasonCode(content["code"]) if "code" in content else None,
    )


def check_supply(request: ApprovalRequest, supply: int) -> None:
    wanted = request.content["supply"]
    if wanted is not None and int(wanted) != supply:
        raise Superseded(
            f"The request was for a supply of {int(wanted):,}; the result would be "
            f"{supply:,}: the supply has changed since."
        )


def price_content(token_id: UUID, price_cents: int, source: str) -> dict[str, Any]:
    """A price, which follows the last one that no trade made."""
    return {
        "token": str(token_id),
        "cents": str(price_cents),
        "source": source,
        "after": last_price(token_id),
    }


def price_title(token: Token, price_cents: int) -> str:
    return f"Price of {token.symbol}: {euros(price_cents)} a unit"


def last_price(token_id: UUID) -> int:
    """The number of the last price that no trade made; 0 where there is none."""
    prices = TokenPrice.objects.filter(token=token_id)
    last = prices.exclude(source=TokenPrice.Source.TRADE).order_by("-number").first()
    return last.number if last else 0


def change_text(before: int, after: int) -> str:
    """Euro cents after a change, and the amount of the change."""
    if not before:
        return euros(after)
    return f"{euros(after)} ({Decimal(100 * (after - before)) / before:+,.2f}%)"


class SetPrice:
    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        self.check(content)
        head = TokenLedgerHead.objects.select_related("token__issuer").get(
            pk=content["token"]
        )
        before, cents, held = head.price_cents, int(content["cents"]), int(head.held)
        rows = [
            *token_facts(head.token),
            ("Source", "", TokenPrice.Source(content["source"]).label),
        ]
        if before is None:
            rows += [
                ("Price per unit", "none", euros(cents)),
                ("Value of units held", "none", euros(held * cents)),
            ]
        else:
            rows += [
                ("Price per unit", euros(before), change_text(before, cents)),
                (
                    "Value of units held",
                    euros(held * before),
                    change_text(held * before, held * cents),
                ),
            ]
        final = "A price is final: past capitalization tables keep it."
        return Preview(rows, [final], token_links(head.token))

    def execute(self, request: ApprovalRequest) -> Recorded:
        content = request.content
        try:
            recorded = ledger.set_price(
                UUID(content["token"]),
                int(content["cents"]),
                content["source"],
                request.filed_by.email or "",
            )
        except LedgerError as error:
            raise Superseded(str(error)) from None
        except IntegrityError:
            # The content may differ because another price came first.
            self.check(content)
            raise
        others = TokenPrice.objects.filter(
            token=content["token"],
            number__gt=content["after"],
            number__lt=recorded.number,
        )
        if others.exclude(source=TokenPrice.Source.TRADE).exists():
            raise Superseded(PRICED)
        return recorded

    def check(self, content: dict[str, Any]) -> None:
        if last_price(UUID(content["token"])) != content["after"]:
            raise Superseded(PRICED)


PRICED = "Staff have recorded another price since the request."
