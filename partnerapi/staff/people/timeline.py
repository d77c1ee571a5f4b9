"""A user's activity, newest first: status, entries, legacy lines, investor profile.

One statement reads a page. The address of the next page names the last row, so that
every page costs the same, however old its rows are.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from accounts.people.models import User
from issuers.register.kinds import EntryKind
from partnerapi.core.database import rows_of
from partnerapi.core.times import from_rfc3339, to_rfc3339
from partnerapi.staff.lookup import typed_text

HAPPENINGS_OF_A_PAGE = 50
SEEN_BY = {
    "status": "accounts.view_account",
    "entry": "issuers.view_token",
    "line": "issuers.view_legacyshareholder",
    "change": "accounts.view_rowchange",
}
"""The right that each source of happenings needs."""
KINDS = {
    "status": "Status",
    "line": "Legacy line",
    "change": "Profile",
} | {kind.value: kind.label for kind in EntryKind}


class Place(NamedTuple):
    """Where a happening stands: later ones come first."""

    at: datetime | str
    source: str
    key: str

    def __str__(self) -> str:
        assert isinstance(self.at, datetime)
        return "~".join((to_rfc3339(self.at), self.source, self.key))


NEWEST = Place("infinity", "", "")


@dataclass(frozen=True, slots=True)
class Happening:
    """`units` of the token or issuer `of` changed hands; `before` became `after`."""

    at: datetime
    source: str
    key: str
    kind: str
    before: str | None
    after: str | None
    units: int | None
    balance: int | None
    of: str
    who: str
    reason: str
    subject: str
    seq: int | None

    @property
    def place(self) -> Place:
        return Place(self.at, self.source, self.key)

    @property
    def what(self) -> str:
        return KINDS[self.kind]

    @property
    def change(self) -> str:
        """What was before, and what came of it; of a profile, by its columns."""
        if self.source != "change":
            names = filter(None, [self.before, self.after])
            return " → ".join(name.capitalize() for name in names)
        was, became = (json.loads(text or "{}") for text in (self.before, self.after))
        columns = dict.fromkeys([*was, *became])
        return "; ".join(
            f"{name}: {was.get(name) or '—'} → {became.get(name) or '—'}"
            for name in columns
            if was.get(name) or became.get(name)
        )

    def link(self, user: User) -> str:
        if self.source == "entry":
            ledger = reverse("admin:ledger", args=[self.subject])
            return f"{ledger}?user={user.pk}&seq={self.seq}#entry-{self.seq}"
        if self.source == "line":
            return reverse(
                "admin:issuers_legacyshareholder_change", args=[self.subject]
            )
        if self.source == "status":
            return reverse("admin:account", args=[self.subject])
        return f"{reverse('admin:log')}?object={self.subject}"


@dataclass(frozen=True, slots=True)
class Page:
    """`rows`: happenings with their links. `older` names the place where it goes on."""

    rows: list[tuple[Happening, str]]
    older: Place | None
    is_first: bool


def read(request: HttpRequest, user: User, accounts: Collection[UUID]) -> Page:
    """The requested page, as far as this member of staff may see it.

    `accounts` are those whose status is shown. One statement.
    """
    before = place_of(typed_text(request, "before"))
    sources = [s for s, right in SEEN_BY.items() if request.user.has_perm(right)]
    holder = getattr(user, "holder", None)
    asked: dict[str, Any] = {
        "user": user.pk,
        "accounts": [*accounts],
        "profile": [str(row.pk) for row in (user, holder) if row],
        "sources": sources,
        "at": before.at,
        "source": before.source,
        "key": before.key,
        "most": HAPPENINGS_OF_A_PAGE + 1,
    }
    found = [Happening(*row) for row in rows_of(HAPPENINGS, asked)]
    shown = found[:HAPPENINGS_OF_A_PAGE]
    return Page(
        [(row, row.link(user)) for row in shown],
        shown[-1].place if len(found) > len(shown) else None,
        before == NEWEST,
    )


def place_of(text: str) -> Place:
    """The place that an address names; the newest where it names none."""
    try:
        at, source, key = text.split("~")
        return Place(from_rfc3339(at), source, key)
    except ValueError:
        return NEWEST


def earlier(at: str, source: str, key: str) -> str:
    """The SQL that finds what stands behind the place in the statement's values."""
    return (
        f"'{source}' = ANY (%(sources)s) AND {at} <= %(at)s::timestamptz AND "
        f"({at}, '{source}', {key} COLLATE \"C\") < "
        "(%(at)s::timestamptz, %(source)s, %(key)s)"
    )


ENTRY_KEY = "concat(p.token_id, ':', lpad(p.seq::text, 20, '0'))"
LATEST = "ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT %(most)s"
# Of each token that the user ever held, entries are read from the instant downwards.
HAPPENINGS = f"""
    (SELECT s.created_at, 'status', s.id::text COLLATE "C", 'status',
        s.previous_status, s.status, NULL::numeric, NULL::numeric, '',
        concat_ws(', approved by ', s.actor, nullif(s.approved_by, '')),
        coalesce(s.reason, ''), s.account_id::text, NULL::bigint
    FROM accounts_accountstatuschange s
    WHERE s.account_id = ANY (%(accounts)s::uuid[])
        AND {earlier("s.created_at", "status", "s.id::text")} {LATEST})
    UNION ALL
    (SELECT e.effective_at, 'entry', {ENTRY_KEY} COLLATE "C", e.kind, NULL, NULL,
        p.delta, p.balance_after, k.symbol, e.actor, e.reason, p.token_id::text, p.seq
    FROM issuers_ledgeraccount a
    JOIN issuers_holderbalance b ON b.account_id = a.id
    JOIN issuers_token k ON k.id = b.token_id
    CROSS JOIN LATERAL (
        SELECT t.seq FROM issuers_ledgertransaction t
        WHERE t.token_id = b.token_id AND t.effective_at <= %(at)s::timestamptz
        ORDER BY t.effective_at DESC, t.seq DESC LIMIT 1
    ) AS last
    CROSS JOIN LATERAL (
        SELECT p.token_id, p.seq, p.delta, p.balance_after
        FROM issuers_ledgerposting p
        JOIN issuers_ledgertransaction e USING (token_id, seq)
        WHERE p.token_id = b.token_id AND p.account_id = a.id AND p.seq <= last.seq
            AND {earlier("e.effective_at", "entry", ENTRY_KEY)}
        ORDER BY p.seq DESC LIMIT %(most)s
    ) AS p
    JOIN issuers_ledgertransaction e ON e.token_id = p.token_id AND e.seq = p.seq
    WHERE a.user_id = %(user)s {LATEST})
    UNION ALL
    (SELECT l.created_at, 'line', l.id::text COLLATE "C", 'line', NULL, l.status,
        l.number_of_shares, NULL, i.trading_name, coalesce(m.imported_by, ''),
        coalesce(m.file_name, ''), l.id::text, NULL
    FROM issuers_legacyshareholder l JOIN issuers_issuer i ON i.id = l.issuer_id
    LEFT JOIN issuers_legacyimport m ON m.id = l.batch_id
    WHERE l.user_id = %(user)s
        AND {earlier("l.created_at", "line", "l.id::text")} {LATEST})
    UNION ALL
    (SELECT c.at, 'change', lpad(c.id::text, 20, '0') COLLATE "C", 'change',
        c.before::text, c.after::text, NULL, NULL, '', c.who, c.source, c.row_id, NULL
    FROM accounts_rowchange c
    WHERE c.row_id = ANY (%(profile)s)
        AND c.table_name IN ('accounts_user', 'accounts_userholder')
        AND {earlier("c.at", "change", "lpad(c.id::text, 20, '0')")} {LATEST})
    {LATEST}
"""
