"""Measure the pages of the back office with millions of rows behind them.

python -m tests.benchmarks.back_office --rows 1000000

It writes this many holders, entries of a ledger, lines of an issuer's legacy
shareholders and accounts of a partner. Then a superuser requests every list, its
filters and searches, and every other page of the back office, three times. It ends with
1 where the fastest answer of a page takes more than 300 ms as on idle cores, or
more than twenty statements; the first page may also take one for each of its tiles.
"""

import argparse
import html
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from rich.console import Console
from rich.table import Column, Table

from tests.benchmarks.large_registers import load
from tests.benchmarks.yardstick import Pace, yardstick
from tests.installation import throw_away_installation

if TYPE_CHECKING:
    from django.test import Client

    from issuers.models import Token

MOST_MS, MOST_STATEMENTS = 300, 20
TIMES = 3
LINKS = 12
"""Of each list: its filters, orders and further pages."""
LINES = """
INSERT INTO issuers_legacyshareholder (id, issuer_id, user_id, token_id, status,
    number_of_shares, price_cents, created_at)
SELECT gen_random_uuid(), '{issuer}', a.user_id,
    CASE WHEN a.id % 3 > 0 THEN '{token}'::uuid END, 'PENDING', a.id % 5000 + 1, 100,
    '2020-01-01Z'::timestamptz + a.id * interval '1 second'
FROM issuers_ledgeraccount a WHERE a.id BETWEEN 1 AND {rows};
"""
ACCOUNTS = """
INSERT INTO accounts_account (id, partner_id, user_id, status, changes, created_at,
    updated_at)
SELECT gen_random_uuid(), '{partner}', a.user_id,
    (ARRAY['PENDING', 'ACTIVE', 'ACTIVE', 'SUSPENDED', 'CLOSED'])[a.id % 5 + 1], 0,
    '2020-01-01Z'::timestamptz + a.id * interval '1 second', '2024-01-01Z'
FROM issuers_ledgeraccount a WHERE a.id BETWEEN 1 AND {rows};
INSERT INTO accounts_accountstatuschange (id, account_id, number, status, reason, actor,
    is_staff, approved_by, created_at)
SELECT gen_random_uuid(), id, 1, 'PENDING', '', 'large', FALSE, '', created_at
FROM accounts_account;
INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
SELECT a.number, 'CLIENT', a.id, cash_reference('1', a.number) FROM (
    SELECT id, nextval(pg_get_serial_sequence('accounts_cashaccount', 'id')) AS number
    FROM accounts_account) a;
INSERT INTO accounts_cashhead
    (cash_account_id, kind, balance, reserved, last_number, entry_digest)
SELECT id, kind, 0, 0, 0, sha256('') FROM accounts_cashaccount WHERE kind = 'CLIENT';
SELECT accounts_count('{{accounts}}', ARRAY['{partner}'::uuid], ARRAY[{rows}::bigint],
    TRUE);
"""


@dataclass
class Cost:
    """Of the fastest answer."""

    path: str
    milliseconds: float
    statements: int
    status: int
    size: int

    def is_too_dear(self, tiles: int, pace: Pace) -> bool:
        most = MOST_STATEMENTS + tiles * (self.path == "/admin/")
        return (
            pace.idle(self.milliseconds) > MOST_MS
            or self.statements > most
            or self.status not in (200, 302)
        )


def fill(rows: int, console: Console) -> "Token":
    """The token of the issuer that has most of everything."""
    from django.db import connection

    from accounts.keys.models import Partner
    from issuers.models import Issuer
    from partnerapi.sandbox.data.approvals import approved_grant
    from tests.owner import as_owner

    token = load(rows, rows + rows // 10, console)["large"]
    partner = Partner.objects.create(login="large", name="Large")
    approved_grant(partner, Issuer.objects.get(slug="large"))
    values = {
        "issuer": token.issuer_id,
        "token": token.pk,
        "partner": partner.pk,
        "rows": rows,
    }
    with as_owner(), connection.cursor() as cursor:
        console.print(f"Writing {rows:,} legacy shareholders and accounts …")
        cursor.execute(LINES.format(**values))
        cursor.execute(ACCOUNTS.format(**values))
        cursor.execute("VACUUM ANALYZE")
    return token


def starts(token: "Token") -> Iterator[str]:
    """The lists and searches of everything, and the back office's own pages."""
    from django.contrib import admin
    from django.urls import reverse

    from accounts.accounts.models import Account
    from accounts.keys.models import Partner
    from accounts.people.models import User

    user = User.objects.filter(last_name="7").first()
    account = Account.objects.filter(user=user).first()
    partner = Partner.objects.get(login="large")
    assert user is not None
    assert account is not None
    yield reverse("admin:index")
    for page in admin.site._registry.values():
        facts = page.opts.app_label, page.opts.model_name
        at = reverse("admin:{}_{}_changelist".format(*facts))
        yield at
        if page.search_fields:
            yield from (f"{at}?q=Holder+77", f"{at}?q=nobody", f"{at}?q=large")
    for text in ("Holder 77", "Holder", "large", "nobody", str(user.pk), "a@b.example"):
        yield f"{reverse('admin:find')}?q={text}"
    for name, pk in (
        ("issuer", token.issuer_id),
        ("captable", token.issuer_id),
        ("token", token.pk),
        ("ledger", token.pk),
        ("book", token.pk),
        ("account", account.pk),
        ("holder", user.pk),
        ("holder_compliance", user.pk),
        ("partner", partner.pk),
        ("partner_requests", partner.pk),
        ("partner_key", partner.pk),
    ):
        yield reverse(f"admin:{name}", args=[pk])
    for name in (
        "books", "cash", "data", "deliveries", "delivery", "help", "import", "log",
        "payments", "receipts", "recovery_codes", "roles", "waiting",
    ):  # fmt: skip
        yield reverse(f"admin:{name}")
    # As late as a list leads.
    yield reverse("admin:accounts_account_changelist") + "?p=20"
    yield reverse("admin:issuers_legacyshareholder_changelist") + "?p=20"
    yield f"{reverse('admin:delivery')}?issuer=large"
    yield f"{reverse('admin:delivery')}?issuer=large&status=ANY"
    yield reverse("admin:issuers_legacyshareholder_changelist") + "?o=3"


def links(path: str, page: str) -> list[str]:
    """What a page offers of itself: filters, orders, other pages of the same."""
    found = re.findall(r'href="([^"]*\?[^"]*)"', page)
    own = [urljoin(path, html.unescape(link)) for link in found]
    here = path.split("?")[0]
    return list(dict.fromkeys(o for o in own if o.split("?")[0] == here))[:LINKS]


def ask(client: "Client", path: str) -> tuple[Cost, str]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    fastest = None
    for _ in range(TIMES):
        # It keeps the last 9,000 statements; of a full log none would be new.
        connection.queries_log.clear()
        with CaptureQueriesContext(connection) as queries:
            began = perf_counter()
            response = client.get(path)
            page = b"".join(response).decode(errors="replace")
            milliseconds = (perf_counter() - began) * 1000
        if fastest is None or milliseconds < fastest.milliseconds:
            facts = milliseconds, len(queries), response.status_code, len(page)
            fastest = Cost(path, *facts)
    assert fastest is not None
    return fastest, page


def measure(rows: int, console: Console, pace: Pace) -> bool:
    from django.test import Client

    from accounts.people.models import User
    from partnerapi.core.owner import owner_alias
    from partnerapi.staff.home import TILES

    token = fill(rows, console)
    staff = User.objects.db_manager(owner_alias()).create_superuser(
        "staff@benchmark.example", type="INDIVIDUAL", first_name="S", last_name="B"
    )
    client = Client(raise_request_exception=False)
    client.force_login(staff)
    costs: dict[str, Cost] = {}
    for start in starts(token):
        costs[start], page = ask(client, start)
        for link in links(start, page):
            if link not in costs:
                costs[link], _ = ask(client, link)
    table = Table(
        "ms", "ms on idle cores", "Statements", "Status", "kB",
        Column("Page", overflow="fold"),
    )  # fmt: skip
    for cost in sorted(costs.values(), key=lambda one: -one.milliseconds)[:40]:
        idle = f"{pace.idle(cost.milliseconds):.0f}"
        facts = f"{cost.milliseconds:.0f}", idle, cost.statements, cost.status
        table.add_row(*map(str, facts), f"{cost.size / 1000:.0f}", cost.path)
    console.print(table)
    dear = [one for one in costs.values() if one.is_too_dear(len(TILES), pace)]
    for cost in dear:
        console.print(f"Too costly: {cost}")
    console.print(f"{len(dear)} of {len(costs)} pages are too costly")
    return not dear


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.back_office",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    console = Console(soft_wrap=True)
    with throw_away_installation():
        return int(not measure(options.rows, console, pace))


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))
