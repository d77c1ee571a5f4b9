"""Settle an offering with 10,000 subscriptions, beside orders of its investors.

python -m tests.benchmarks.offerings --subscriptions 10000

It allots and settles them, and counts statements; orders of an investor and of another
client are placed on a market meanwhile. It ends with 1 where the settlement takes more
than 10 s, an order of an investor waits or fails otherwise than as UNAVAILABLE, or a
sum is wrong.
"""

import argparse
import sys
from collections import Counter
from threading import Event, Thread
from time import perf_counter, process_time

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

MOST_SECONDS = 10.0
UNITS, CENTS = 3, 1_000
SUBSCRIBED = """
    INSERT INTO issuers_subscription (id, offering_id, account_id, user_id,
        ledger_account_id, cash_account_id, partner_id, quantity, limit_price, status,
        version, ranked_at, reflects_until, refusal, created_at, updated_at)
    SELECT gen_random_uuid(), '{offering}', a.id, a.user_id, l.id, c.id, a.partner_id,
        {units}, {cents}, 'ACTIVE', 1, now() - interval '5 days' + n * interval '1 us',
        now() - interval '1 day', '', now(), now()
    FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM accounts_account
        WHERE partner_id = '{partner}') a
    JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
    JOIN accounts_cashaccount c ON c.account_id = a.id
"""
RESERVED = """
    UPDATE accounts_cashhead h SET reserved = h.reserved + {units} * {cents}
    FROM issuers_subscription s WHERE s.cash_account_id = h.cash_account_id
        AND s.offering_id = '{offering}'
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--subscriptions", type=int, default=10_000)
    options = parser.parse_args()
    with throw_away_installation():
        sys.exit(run(options.subscriptions))


def run(count: int) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from accounts.accounts.models import Account
    from accounts.approvals.models import ApprovalKind
    from accounts.cash.models import CashHead
    from issuers.offerings import deciding
    from issuers.offerings.models import IssuerCash, Offering, Subscription
    from issuers.register import ledger
    from issuers.register.models import TokenLedgerHead
    from partnerapi.core.errors import NotNow, PartnerAPIError
    from partnerapi.sandbox.data.approvals import file_and_approve
    from partnerapi.sandbox.data.money import pay_in
    from tests.approved import asker
    from tests.issuers.offerings import offerings
    from tests.issuers.register import people
    from tests.marketdata.trading.trading import (
        buy,
        deposit,
        new_clients,
        new_market,
        new_partner,
        place,
    )
    from tests.owner import tamper

    partner = new_partner()
    clients = new_clients(count, partner, people(count))
    ledger.holder_accounts(client.user_id for client in clients)
    for first in range(0, count, 1_000):
        pay_in({client.pk: 10_000 for client in clients[first : first + 1_000]})
    token = offerings.new_token(treasury=UNITS * count)
    offering = offerings.opened(
        token, maximum=2 * count, price=CENTS, fee=150, vat=2_000
    )
    named = {
        "offering": offering.pk,
        "partner": partner.pk,
        "units": UNITS,
        "cents": CENTS,
    }
    tamper(SUBSCRIBED.format(**named), RESERVED.format(**named), "ANALYZE")
    offerings.close(offering)
    began = perf_counter()
    with CaptureQueriesContext(connection) as of_allotment:
        offerings.allot(offering)
    allotting = perf_counter() - began
    market = new_market(100)
    [other] = new_clients(1)
    deposit(other, 100_000)
    stopping, told, longest = Event(), Counter[str](), [0.0]

    def send() -> None:
        # Their first order is before the settlement.
        for account in (clients[0], other) * 10_000:
            if stopping.is_set():
                break
            whose = "other" if account is other else "investor"
            start = perf_counter()
            try:
                place(market, buy(account, 1, 90))
                told[f"{whose}: placed"] += 1
            except NotNow:
                told[f"{whose}: UNAVAILABLE"] += 1
            except PartnerAPIError as error:
                told[f"{whose}: {error.code}"] += 1
            except Exception as error:  # noqa: BLE001
                told[f"{whose}: {type(error).__name__}"] += 1
            longest[0] = max(longest[0], perf_counter() - start)
        connection.close()

    offering = Offering.objects.get(pk=offering.pk)
    content = deciding.settlement_content(offering)
    [request] = file_and_approve(ApprovalKind.SETTLEMENT, content)
    sender = Thread(target=send)
    sender.start()
    began, cpu = perf_counter(), process_time()
    with CaptureQueriesContext(connection) as of_settlement:
        deciding.settle(offering, request.pk, asker())
    seconds, cpu = perf_counter() - began, process_time() - cpu
    stopping.set()
    sender.join()
    cash = IssuerCash.objects.get(issuer=token.issuer).cash_account
    head = CashHead.objects.get(cash_account=cash)
    fee = 2 * count * CENTS * 150 // 10_000
    sums = {
        "units held": int(TokenLedgerHead.objects.get(token=token).held) == 2 * count,
        "issuer's cash": head.balance == 2 * count * CENTS - fee - fee // 5,
        "settled": Subscription.objects.filter(status="SETTLED").count() == count,
        "reserved": not CashHead.objects.filter(
            cash_account__account__in=Account.objects.filter(partner=partner)
        ).exclude(cash_account__account=clients[0]).exclude(reserved=0).exists(),
    }  # fmt: skip
    table = Table("What", "Figure")
    table.add_row("subscriptions", f"{count:,}")
    table.add_row("allotment, s", f"{allotting:.2f}")
    table.add_row("statements of the allotment", str(len(of_allotment)))
    table.add_row("settlement, s", f"{seconds:.2f}")
    table.add_row("of them CPU of this process, s", f"{cpu:.2f}")
    table.add_row("statements of the settlement", str(len(of_settlement)))
    table.add_row("longest order, s", f"{longest[0]:.2f}")
    for what, number in sorted(told.items()):
        table.add_row(what, f"{number:,}")
    for what, is_right in sums.items():
        table.add_row(what, "right" if is_right else "WRONG")
    Console().print(table)
    allowed = {"other: placed", "investor: placed", "investor: UNAVAILABLE"}
    wrong = set(told) - allowed
    return int(seconds > MOST_SECONDS or bool(wrong) or not all(sums.values()))


if __name__ == "__main__":
    with yardstick():
        main()
