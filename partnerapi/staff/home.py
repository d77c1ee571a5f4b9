"""What needs the attention of staff: a tile for each kind, on the first page.

A tile asks one statement, which counts no further than `MOST`.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db import DatabaseError
from django.db.models import F, Model, Q
from django.http import HttpRequest
from django.urls import reverse

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import BankLine, Withdrawal
from accounts.cash.suspense import unassigned_deposits
from accounts.history.models import StaffChange
from accounts.investors.models import InvestorAttestation
from accounts.keys.models import ApiKey
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Token
from marketdata.models import FixSession
from marketdata.trading.models import Market, Phase
from partnerapi.core.database import fetch
from partnerapi.exports.models import Export
from partnerapi.operations.models import JobRun
from partnerapi.staff.authentication.models import FailedSignIn

logger = logging.getLogger(__name__)

MOST = 10_000
LINES = 5
"""Of a tile, at most; the link leads to all."""
NIGHTLY = (
    "verify_register",
    "verify_books",
    "verify_cash",
    "verify_market",
    "verify_approvals",
    "register_statement",
)
NIGHT = timedelta(hours=26)
"""Within it each nightly job has run again."""
STOPPED_AFTER = timedelta(minutes=1)
"""A delivery of which no step was tried for so long."""
KEYS_EXPIRE_WITHIN = timedelta(days=14)
REST = timedelta(days=1)
"""For so long a person decides nothing whose access someone else has changed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A part of what a tile counts, with the list that shows it."""

    text: str
    count: str
    link: str


@dataclass(frozen=True, slots=True)
class Found:
    """What waits: how many, where they are listed, and of which parts they consist."""

    count: int
    link: str
    lines: list[Line] = field(default_factory=list)

    @property
    def shown(self) -> str:
        return count_text(self.count)


@dataclass(frozen=True, slots=True)
class Tile:
    """`find` gets the time. Staff who may not view `model` do not see the tile."""

    title: str
    model: type[Model]
    find: Callable[[datetime], Found]


@dataclass(frozen=True, slots=True)
class Shown:
    title: str
    found: Found | None
    """None: the source failed."""


def count_text(count: int) -> str:
    return f"more than {MOST:,}" if count > MOST else f"{count:,}"


def list_address(model: type[Model], **lookups: Any) -> str:
    """The address of the list of a model, filtered."""
    meta = model._meta
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{address}?{urlencode(lookups)}" if lookups else address


def count(rows: Any) -> int:
    return rows.order_by()[: MOST + 1].count()


def pending_deliveries(at: datetime) -> Found:
    rows = fetch(PENDING_LINES, [MOST + 1, LINES], tuple)
    pending = {"status__exact": "PENDING"}
    lines = [
        Line(name, count_text(count), f"{reverse('admin:delivery')}?issuer={slug}")
        for name, slug, count, _ in rows
    ]
    total = int(rows[0][3]) if rows else 0
    return Found(total, list_address(LegacyShareholder, **pending), lines)


def pending_accounts(at: datetime) -> Found:
    day, week = at - timedelta(days=1), at - timedelta(days=7)
    times = [day, week, day, week]
    [(new, days, old)] = fetch(PENDING_ACCOUNTS, [*times, MOST + 1], tuple)
    pending = {"status__exact": "PENDING"}
    ages = [
        ("older than a week", old, {"created_at__lt": week.isoformat()}),
        (
            "a day to a week",
            days,
            {"created_at__gte": week.isoformat(), "created_at__lt": day.isoformat()},
        ),
        ("less than a day old", new, {"created_at__gte": day.isoformat()}),
    ]
    lines = [
        Line(text, count_text(count), list_address(Account, **pending, **lookups))
        for text, count, lookups in ages
        if count
    ]
    return Found(new + days + old, list_address(Account, **pending), lines)


def stopped_deliveries(at: datetime) -> Found:
    stopped = DeliveryJob.objects.filter(
        Q(tried_at=None) | Q(tried_at__lt=at - STOPPED_AFTER),
        finished_at=None,
        released_at__lt=at - STOPPED_AFTER,
        position__lt=F("line_count"),
    )
    return Found(count(stopped), f"{reverse('admin:deliveries')}?open")


def failed_exports(at: datetime) -> Found:
    day = at - timedelta(days=1)
    failed = Export.objects.filter(status=Export.Status.FAILED, created_at__gte=day)
    lookups = {"status__exact": "FAILED", "created_at__gte": day.isoformat()}
    return Found(count(failed), list_address(Export, **lookups))


def failed_jobs(at: datetime) -> Found:
    day = at - timedelta(days=1)
    failed = JobRun.objects.filter(result=JobRun.Result.FAILED, started_at__gte=day)
    lookups = {"result__exact": "FAILED", "started_at__gte": day.isoformat()}
    return Found(count(failed), list_address(JobRun, **lookups))


def expiring_keys(at: datetime) -> Found:
    end = at + KEYS_EXPIRE_WITHIN
    keys = ApiKey.objects.filter(
        revoked_at=None, expires_at__gt=at, expires_at__lt=end, partner__is_active=True
    )
    lookups = {"expires_at__gt": at.isoformat(), "expires_at__lt": end.isoformat()}
    return Found(count(keys), list_address(ApiKey, revoked_at__isempty=1, **lookups))


def silent_sessions(at: datetime) -> Found:
    silent = FixSession.objects.filter(enabled=True, connected_since=None)
    return Found(
        count(silent),
        list_address(FixSession, enabled__exact=1, connected_since__isempty=1),
    )


def halted_markets(at: datetime) -> Found:
    halted = Market.objects.filter(phase=Phase.HALTED)
    return Found(count(halted), list_address(Market, phase__exact="HALTED"))


def unpriced_tokens(at: datetime) -> Found:
    unpriced = Token.objects.filter(ledger_head__price_cents=None)
    return Found(
        count(unpriced), list_address(Token, ledger_head__price_cents__isempty=1)
    )


def nightly_checks(at: datetime) -> Found:
    """How many failed or did not run; each has its line, with its last result."""
    lines, wrong = [], 0
    for job, result, started_at in fetch(LAST_RUNS, [[*NIGHTLY]], tuple):
        is_late = started_at is None or started_at < at - NIGHT
        wrong += is_late or result != JobRun.Result.DONE
        said = "has not run" if started_at is None else result.lower()
        when = f", {started_at:%-d %b %H:%M}" if started_at else ""
        lines.append(
            Line(job.replace("_", " "), said + when, list_address(JobRun, q=job))
        )
    return Found(wrong, list_address(JobRun), lines)


def failed_sign_ins(at: datetime) -> Found:
    day = at - timedelta(days=1)
    failed = FailedSignIn.objects.filter(at__gte=day)
    return Found(count(failed), list_address(FailedSignIn, at__gte=day.isoformat()))


def waiting_attestations(at: datetime) -> Found:
    waiting = InvestorAttestation.objects.waiting()
    return Found(count(waiting), list_address(InvestorAttestation))


def waiting_requests(at: datetime) -> Found:
    return Found(count(ApprovalRequest.objects.open(at)), list_address(ApprovalRequest))


def changes_of_staff(at: datetime) -> Found:
    """Changes within 24 hours; of each person the last, and by whom."""
    day = at - REST
    rows = fetch(STAFF_CHANGES, [day, LINES], tuple)
    since = {"at__gte": day.isoformat()}
    lines = [
        Line(
            f"{email}: {StaffChange.What(what).label.lower()}, by {who}",
            count_text(changes),
            list_address(StaffChange, person__id__exact=person, **since),
        )
        for person, email, what, who, changes, _ in rows
    ]
    return Found(
        int(rows[0][-1]) if rows else 0, list_address(StaffChange, **since), lines
    )


def requested_withdrawals(at: datetime) -> Found:
    rows = Withdrawal.objects.filter(status=Withdrawal.Status.REQUESTED)
    return Found(count(rows), list_address(Withdrawal, status__exact="REQUESTED"))


def approved_withdrawals(at: datetime) -> Found:
    rows = Withdrawal.objects.filter(status=Withdrawal.Status.APPROVED)
    return Found(count(rows), reverse("admin:payments"))


def unknown_money(at: datetime) -> Found:
    return Found(count(unassigned_deposits()), reverse("admin:receipts"))


TILES = [
    Tile("Requests awaiting approval", ApprovalRequest, waiting_requests),
    Tile("Access changes, last 24 hours", StaffChange, changes_of_staff),
    Tile("Withdrawals awaiting approval", Withdrawal, requested_withdrawals),
    Tile("Approved, awaiting bank payment", Withdrawal, approved_withdrawals),
    Tile("Unallocated receipts", BankLine, unknown_money),
    Tile("Attestations awaiting review", InvestorAttestation, waiting_attestations),
    Tile("Pending deliveries", LegacyShareholder, pending_deliveries),
    Tile("Pending accounts", Account, pending_accounts),
    Tile("Stopped deliveries", LegacyShareholder, stopped_deliveries),
    Tile("Exports failed today", Export, failed_exports),
    Tile("Jobs failed today", JobRun, failed_jobs),
    Tile("Keys expiring within 14 days", ApiKey, expiring_keys),
    Tile("Halted markets", Market, halted_markets),
    Tile("CompIDs enabled but not connected", FixSession, silent_sessions),
    Tile("Tokens without a price", Token, unpriced_tokens),
    Tile("Nightly checks", JobRun, nightly_checks),
    Tile("Failed sign-ins, last 24 hours", FailedSignIn, failed_sign_ins),
]
"""What the first page asks, in its order; a part of the back office adds its own."""


def look(request: HttpRequest, at: datetime) -> Iterator[Shown]:
    """The tiles that the user may see and that have something to say."""
    for tile in TILES:
        if not admin.site.get_model_admin(tile.model).has_view_permission(request):
            continue
        try:
            found = tile.find(at)
        except DatabaseError:
            logger.exception("The tile %r of the home page failed", tile.title)
            yield Shown(tile.title, None)
            continue
        if found.count or found.lines:
            yield Shown(tile.title, found)


PENDING_LINES = """
    SELECT i.trading_name, i.slug, pending.count, sum(pending.count) OVER ()
    FROM issuers_issuer i CROSS JOIN LATERAL (SELECT count(*) FROM (
        SELECT FROM issuers_legacyshareholder l
        WHERE l.issuer_id = i.id AND l.status = 'PENDING' LIMIT %s
    ) AS l) AS pending
    WHERE pending.count > 0 ORDER BY pending.count DESC, i.trading_name LIMIT %s
"""
PENDING_ACCOUNTS = """
    SELECT count(*) FILTER (WHERE a.created_at >= %s),
        count(*) FILTER (WHERE a.created_at >= %s AND a.created_at < %s),
        count(*) FILTER (WHERE a.created_at < %s)
    FROM accounts_partner p CROSS JOIN LATERAL (
        SELECT a.created_at FROM accounts_account a
        WHERE a.partner_id = p.id AND a.status = 'PENDING'
        ORDER BY a.created_at LIMIT %s
    ) AS a
"""
STAFF_CHANGES = """
    SELECT u.id, coalesce(u.email, ''), c.what, r.who, p.changes,
        sum(p.changes) OVER ()
    FROM (
        SELECT max(id) AS last, count(*) AS changes FROM accounts_staffchange
        WHERE at >= %s GROUP BY person_id
    ) AS p
    JOIN accounts_staffchange c ON c.id = p.last
    JOIN accounts_user u ON u.id = c.person_id
    JOIN accounts_rowchange r ON r.id = c.change_id
    ORDER BY c.id DESC LIMIT %s
"""
LAST_RUNS = """
    SELECT n.job, last.result, last.started_at
    FROM unnest(%s::text[]) WITH ORDINALITY AS n (job, place) LEFT JOIN LATERAL (
        SELECT r.result, r.started_at FROM partnerapi_jobrun r
        WHERE r.job = n.job ORDER BY r.started_at DESC LIMIT 1
    ) AS last ON TRUE
    ORDER BY n.place
"""
