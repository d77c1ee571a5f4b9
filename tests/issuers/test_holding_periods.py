"""What it costs to keep from which entry to which each user holds a token."""

import pytest
from django.db import connection
from django.utils import timezone

from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import HoldingPeriod
from tests.issuers.register import empty_token, new_issuer, people

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_person")]
HOLDERS = 2_500


def periods_read() -> int:
    """In this transaction, by index and from end to end."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0)"
            " FROM pg_stat_xact_user_tables WHERE relname = 'issuers_holdingperiod'"
        )
        [(count,)] = cursor.fetchall()
    return count


def test_an_entry_reads_the_periods_of_its_own_users_only():
    token = empty_token(new_issuer(), "HELD", timezone.now())
    one, other, *_ = accounts = [user.ledger_account.pk for user in people(HOLDERS)]
    ledger.record(
        [Entry(token.pk, "MINT", 10, target=account) for account in accounts],
        "ana@example.com",
    )
    before = periods_read()

    ledger.record(
        [Entry(token.pk, "TRANSFER", 10, one, other, reason="sold")],
        "ana@example.com",
    )

    assert periods_read() - before <= 4
    assert HoldingPeriod.objects.filter(until=None).count() == HOLDERS - 1
