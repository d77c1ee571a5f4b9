"""What needs the attention of staff: a tile for each kind, on the first page.

A tile asks one statement, which counts no further than `MOST`.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db import DatabaseError
from django.db.models import Count, F, Min, Model, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.models import BankLine, Withdrawal
from accounts.cash.suspense import unassigned_deposits
from accounts.history.models import StaffChange
from accounts.investors.models import InvestorAttestation
from accounts.keys.models import ApiKey
from accounts.people.models import TURNS_AROUND
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Token
from marketdata.models import FixSession
from marketdata.trading.models import Market, Phase
from partnerapi.core.database import fetch
from partnerapi.core.money import plural
from partnerapi.exports.models import Export
from partnerapi.operations.models import JobRun
from partnerapi.staff.authentication.models import FailedSignIn

logger = logging.getLogger(__name__)

MOST = 10_000
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
WEEK = timedelta(days=7)
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
    """What waits: how many, where they are listed, of which parts, since when."""

    count: int
    link: str
    lines: list[Line] = field(default_factory=list)
    oldest: datetime | None = None

    @property
    def shown(self) -> str:
        return count_text(self.count)


@dataclass(frozen=True, slots=True)
class Tile:
    """`find` gets the time. Staff who may not view `model` do not see the tile.

    It is the work of staff who have one of the rights `acts`.
    """

    title: str
    model: type[Model]
    find: Callable[[datetime], Found]
    acts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    title: str
    found: Found | None
    """None: the source failed."""
    is_mine: bool
    age: str = ""
    bar: str = "0"
    """In percent: the root of the age in weeks; a full bar is a week or more."""
    is_late: bool = False


def count_text(count: int) -> str:
    return f"more than {MOST:,}" if count > MOST else f"{count:,}"


def list_address(model: type[Model], **lookups: Any) -> str:
    """The address of the list of a model, filtered."""
    meta = model._meta
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{address}?{urlencode(lookups)}" if lookups else address


def count(rows: Any) -> int:
    return int(rows.order_by()[: MOST + 1].count())


def found_rows(rows: Any, link: str, since: str) -> Found:
    """How many rows, and the earliest of their times `since`; one statement."""
    first = rows.order_by(since)[: MOST + 1]
    said = first.aggregate(count=Count("pk"), oldest=Min(since))
    return Found(said["count"], link, oldest=said["oldest"])


def age_text(age: timedelta) -> str:
    for unit, size in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if age >= size:
            return plural(age // size, unit)
    return "just now"


def pending_deliveries(at: datetime) -> Found:
    rows = fetch(PENDING_LINES, [MOST + 1, LINES], tuple)
    pending = {"status__exact": "PENDING"}
    lines = [
        Line(
            TURNS_AROUND.sub("", name),
            count_text(count),
            f"{reverse('admin:delivery')}?issuer={slug}",
        )
        for name, slug, count, *_ in rows
    ]
    total = int(rows[0][3]) if rows else 0
    oldest = rows[0][4] if rows else None
    return Found(total, list_address(LegacyShareholder, **pending), lines, oldest)


def pending_accounts(at: datetime) -> Found:
    day, week = at - timedelta(days=1), at - timedelta(days=7)
    times = [day, week, day, week]
    [(new, days, old, oldest)] = fetch(PENDING_ACCOUNTS, [*times, MOST + 1], tuple)
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
    total = new + days + old
    return Found(total, list_address(Account, **pending), lines, oldest)


def stopped_deliveries(at: datetime) -> Found:
    stopped = DeliveryJob.objects.filter(
        Q(tried_at=None) | Q(tried_at__lt=at - STOPPED_AFTER),
        finished_at=None,
        released_at__lt=at - STOPPED_AFTER,
        position__lt=F("line_count"),
    )
    return found_rows(stopped, f"{reverse('admin:deliveries')}?open", "released_at")


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
    return found_rows(
        halted, list_address(Market, phase__exact="HALTED"), "phase_since"
    )


def unpriced_tokens(at: datetime) -> Found:
    unpriced = Token.objects.filter(ledger_head__price_cents=None)
    return Found(
        count(unpriced), list_address(Token, ledger_head__price_cents__isempty=1)
    )


def failed_sign_ins(at: datetime) -> Found:
    day = at - timedelta(days=1)
    failed = FailedSignIn.objects.filter(at__gte=day)
    return Found(count(failed), list_address(FailedSignIn, at__gte=day.isoformat()))


def waiting_attestations(at: datetime) -> Found:
    waiting = InvestorAttestation.objects.waiting()
    return found_rows(waiting, list_address(InvestorAttestation), "created_at")


def waiting_requests(at: datetime) -> Found:
    waiting = ApprovalRequest.objects.open(at)
    return found_rows(waiting, list_address(ApprovalRequest), "filed_at")


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
    link = list_address(Withdrawal, status__exact="REQUESTED")
    return found_rows(rows, link, "created_at")


def approved_withdrawals(at: datetime) -> Found:
    rows = Withdrawal.objects.filter(status=Withdrawal.Status.APPROVED)
    return found_rows(rows, reverse("admin:payments"), "created_at")


def unknown_money(at: datetime) -> Found:
    return found_rows(unassigned_deposits(), reverse("admin:receipts"), "at")


DECIDES = tuple(f"accounts.decide_{kind.lower()}" for kind in ApprovalKind)
PAYS = ("accounts.file_withdrawal",)
ASSIGNS = ("accounts.file_assignment",)
DELIVERS = ("accounts.file_delivery",)
TILES = [
    Tile("Requests awaiting approval", ApprovalRequest, waiting_requests, DECIDES),
    Tile("Access changes, last 24 hours", StaffChange, changes_of_staff),
    Tile("Withdrawals awaiting approval", Withdrawal, requested_withdrawals, PAYS),
    Tile("Approved, awaiting bank payment", Withdrawal, approved_withdrawals, PAYS),
    Tile("Unallocated receipts", BankLine, unknown_money, ASSIGNS),
    Tile(
        "Attestations awaiting review",
        InvestorAttestation,
        waiting_attestations,
        ("accounts.add_investorchange",),
    ),
    Tile("Pending deliveries", LegacyShareholder, pending_deliveries, DELIVERS),
    Tile("Pending accounts", Account, pending_accounts, ("accounts.change_account",)),
    Tile("Stopped deliveries", LegacyShareholder, stopped_deliveries, DELIVERS),
    Tile("Exports failed today", Export, failed_exports),
    Tile("Jobs failed today", JobRun, failed_jobs),
    Tile("Keys expiring within 14 days", ApiKey, expiring_keys, ("accounts.file_key",)),
    Tile("Halted markets", Market, halted_markets, ("accounts.file_reopen",)),
    Tile(
        "CompIDs enabled but not connected",
        FixSession,
        silent_sessions,
        ("marketdata.change_fixsession",),
    ),
    Tile("Tokens without a price", Token, unpriced_tokens, ("accounts.file_price",)),
    Tile("Failed sign-ins, last 24 hours", FailedSignIn, failed_sign_ins),
]
"""What the first page asks, in its order; a part of the back office adds its own."""


def look(request: HttpRequest, at: datetime) -> list[Shown]:
    """The tiles that the user may see and that have something to say, oldest first."""
    shown = []
    for tile in TILES:
        if not admin.site.get_model_admin(tile.model).has_view_permission(request):
            continue
        is_mine = any(map(request.user.has_perm, tile.acts))
        try:
            found = tile.find(at)
        except DatabaseError:
            logger.exception("The tile %r of the home page failed", tile.title)
            shown.append(Shown(tile.title, None, is_mine))
            continue
        if found.count or found.lines:
            shown.append(Shown(tile.title, found, is_mine))
    return in_order(shown, at)


def in_order(shown: list[Shown], at: datetime) -> list[Shown]:
    """The oldest first, each with its age; what has no age comes last."""
    ages = [
        at - each.found.oldest if each.found and each.found.oldest else None
        for each in shown
    ]
    rows = [
        replace(
            each,
            age=age_text(age),
            bar=f"{100 * min(1, age / WEEK) ** 0.5:.2f}",
            is_late=age >= WEEK,
        )
        if age
        else each
        for each, age in zip(shown, ages, strict=True)
    ]
    never = timedelta(0)
    order = sorted(zip(ages, rows, strict=True), key=lambda row: -(row[0] or never))
    return [row for _, row in order]


@dataclass(frozen=True, slots=True)
class Check:
    """A nightly check with its last result; it is wrong if that failed or is old."""

    job: str
    name: str
    state: str
    said: str
    at: datetime | None
    is_wrong: bool
    link: str


def read_checks(at: datetime) -> list[Check]:
    """One statement."""
    found = []
    for job, result, started_at in fetch(LAST_RUNS, [[*NIGHTLY]], tuple):
        is_late = started_at is None or started_at < at - NIGHT
        is_wrong = is_late or result == JobRun.Result.FAILED
        said = "has not run" if started_at is None else RESULTS[result]
        state = "late" if is_late else result.lower()
        name = job.replace("_", " ")
        link = list_address(JobRun, q=job)
        found.append(Check(job, name, state, said, started_at, is_wrong, link))
    return found


RESULTS = {"BEGUN": "running", "DONE": "passed", "FAILED": "failed"}


def context_of(request: HttpRequest) -> dict[str, Any]:
    at = timezone.now()
    tiles = look(request, at)
    sees_jobs = admin.site.get_model_admin(JobRun).has_view_permission(request)
    checks = read_checks(at) if sees_jobs else []
    waits = any(tile.found is None or tile.found.count for tile in tiles)
    return {
        "tiles": tiles,
        "mine": [tile for tile in tiles if tile.is_mine],
        "others": [tile for tile in tiles if not tile.is_mine],
        "checks": checks,
        "waits": waits or any(check.is_wrong for check in checks),
        "checked_at": at,
    }


def poll_waiting(request: HttpRequest) -> HttpResponse:
    """The queues alone."""
    return render(request, "admin/waiting.html", context_of(request))


PENDING_LINES = """
    SELECT i.trading_name, i.slug, pending.count, sum(pending.count) OVER (),
        min(pending.oldest) OVER ()
    FROM issuers_issuer i
    CROSS JOIN LATERAL (SELECT count(*), min(l.created_at) AS oldest FROM (
        SELECT l.created_at FROM issuers_legacyshareholder l
        WHERE l.issuer_id = i.id AND l.status = 'PENDING' LIMIT %s
    ) AS l) AS pending
    WHERE pending.count > 0 ORDER BY pending.count DESC, i.trading_name LIMIT %s
"""
PENDING_ACCOUNTS = """
    SELECT count(*) FILTER (WHERE a.created_at >= %s),
        count(*) FILTER (WHERE a.created_at >= %s AND a.created_at < %s),
        count(*) FILTER (WHERE a.created_at < %s), min(a.created_at)
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
