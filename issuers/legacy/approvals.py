"""The request to release a delivery of legacy shares, above the policy's amount."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Model

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from issuers.legacy import delivery
from issuers.legacy.background import hand_over
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Token
from issuers.register.approvals import token_facts, token_links, worth
from partnerapi.core.database import fetch
from partnerapi.core.money import growth, percent, plural

MOST_TOKENS, MOST_LINES = 10, 5
"""Of a delivery, that a preview names one by one: the largest."""


@dataclass(frozen=True, slots=True)
class Part:
    """The frozen lines of a token; `new_holders` have no unit of it yet."""

    token: UUID
    lines: int
    shares: int
    holders: int
    new_holders: int


def parts(job: DeliveryJob) -> list[Part]:
    """The largest first; deleted lines and lines without a token are left out."""
    return [
        Part(token, lines, int(shares), holders, new_holders)
        for token, lines, shares, holders, new_holders in fetch(PARTS, [job.pk], tuple)
    ]


PARTS = """
    SELECT f.token, count(*), sum(f.units), count(DISTINCT f.person),
        count(DISTINCT f.person) FILTER (WHERE b.token_id IS NULL)
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL unnest(s.units, s.token_ids, s.user_ids)
        AS f (units, token, person)
    LEFT JOIN issuers_ledgeraccount a ON a.user_id = f.person
    LEFT JOIN issuers_holderbalance b
        ON b.token_id = f.token AND b.account_id = a.id AND b.balance > 0
    WHERE s.job_id = %s AND f.token IS NOT NULL
    GROUP BY f.token ORDER BY sum(f.units) DESC, f.token
"""


def delivery_content(job: DeliveryJob) -> dict[str, Any]:
    """The frozen job: its lines cannot change any more."""
    lines, shares = delivery.frozen_totals(job)
    return {
        "job": str(job.pk),
        "source": job.source,
        "lines": lines,
        "shares": str(shares),
    }


def delivery_title(job: DeliveryJob) -> str:
    lines, shares = delivery.frozen_totals(job)
    ids = [part.token for part in parts(job)]
    symbols = [token.symbol for token in Token.objects.filter(pk__in=ids[:1])]
    more = f" and {plural(len(ids) - 1, 'other token')}" if len(ids) > 1 else ""
    named = f"{shares:,} {symbols[0]}{more}" if symbols else f"{shares:,} shares"
    return f"Delivery of {named}: {plural(lines, 'legacy line')}"


def largest(job: DeliveryJob) -> list[LegacyShareholder]:
    lines = LegacyShareholder.objects.select_related("user", "token")
    ids = fetch(LARGEST, [job.pk, MOST_LINES], lambda row: row[0])
    found = lines.in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]


LARGEST = """
    SELECT f.line FROM issuers_deliverystep s
    CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
    WHERE s.job_id = %s ORDER BY f.units DESC, f.line LIMIT %s
"""


class ReleaseDelivery:
    def preview(self, request: ApprovalRequest) -> Preview:
        content, job = request.content, self.job(request)
        found = parts(job)
        tokens = Token.objects.select_related("issuer", "ledger_head").in_bulk(
            [part.token for part in found[:MOST_TOKENS]]
        )
        is_made = job.source == DeliveryJob.Source.MINT
        rows: list[tuple[str, str, str]] = []
        links: dict[str, Model] = {"Lines": job}
        warnings = ["A delivery is final; each line can only be undone by a reversal."]
        if len(found) == 1:
            [token] = tokens.values()
            rows += token_facts(token)
            links |= token_links(token)
        shares = int(content["shares"])
        lines = plural(content["lines"], "legacy line")
        rows += [
            ("Lines", "", f"{lines}, {plural(shares, 'share')}"),
            ("Source", "", "Newly issued units" if is_made else "The treasury"),
            ("Started by", "", job.created_by),
        ]
        for part in found[:MOST_TOKENS]:
            token = tokens[part.token]
            head = token.ledger_head
            supply, treasury = int(head.supply), int(head.supply - head.held)
            if len(found) > 1:
                name = f"{token.symbol} of {token.issuer}"
                said = f"{plural(part.lines, 'line')}, {plural(part.shares, 'share')}"
                rows.append((name, "", said))
                links[name] = token
            symbol, price = token.symbol, head.price_cents
            rows.append((f"Value of {symbol}", "", worth(part.shares, price)))
            after = supply + part.shares if is_made else supply
            rows.append((f"Supply of {symbol}", f"{supply:,}", growth(supply, after)))
            if not is_made:
                left = treasury - part.shares
                name = f"Treasury of {symbol}"
                rows.append((name, f"{treasury:,}", growth(treasury, max(left, 0))))
                if left < 0:
                    warnings.append(
                        f"The treasury of {symbol} is {-left:,} units short: lines "
                        "that it cannot cover are refused."
                    )
            rows.append(
                (
                    f"Holders of {symbol}",
                    f"{head.holder_count:,}",
                    f"{head.holder_count + part.new_holders:,} "
                    f"({plural(part.holders, 'holder')} will receive units)",
                )
            )
        if more := found[MOST_TOKENS:]:
            said = plural(sum(part.shares for part in more), "share")
            rows.append((plural(len(more), "other token"), "", said))
        for number, line in enumerate(largest(job), 1):
            name = f"Largest line, no. {number}"
            units = line.number_of_shares
            said = f"{units:,} for {line.user} ({percent(units, shares)} of the shares)"
            rows.append((name, "", said))
            links[name] = line
        return Preview(rows, warnings, links)

    def execute(self, request: ApprovalRequest) -> DeliveryJob:
        job = self.job(request)
        delivery.release(job)
        hand_over(job)
        return job

    def job(self, request: ApprovalRequest) -> DeliveryJob:
        job = DeliveryJob.objects.get(pk=request.content["job"])
        if job.finished_at or job.released_at:
            raise Superseded("The delivery has already been released or closed.")
        return job
