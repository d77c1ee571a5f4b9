"""What a request that only reads leaves in the database's log: nothing."""

import re

import pytest
from django.db import connection, transaction

from accounts.access import Scope
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.schema import schema
from partnerapi.site.exchanges import of_operations
from tests.api.test_orders import CHECK
from tests.approved import approved_rule
from tests.characters import Ask, new_world
from tests.marketdata.trading.trading import (
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)

QUERIES = [(name, of_operations()[name].request) for name in schema.query_type.fields]


@pytest.mark.django_db(transaction=True)
def test_a_query_has_no_transaction_id_and_so_waits_for_no_standby():
    world = new_world()
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    for name, document in QUERIES:
        here = re.sub(r"Issuer\|[0-9a-f-]{36}", f"Issuer|{world.listed.pk}", document)
        with transaction.atomic():
            answer = ask(here)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_current_xact_id_if_assigned()::text")
                [(written,)] = cursor.fetchall()
        assert written is None, name
        assert answer.status == 200, (name, answer.body)


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_of_an_order_takes_no_lock_and_may_only_read():
    world = new_world()
    token = new_market()
    seller, buyer = new_clients(2, world.partner)
    deposit(buyer, 10_000)
    give(token, {seller: 10})
    approved_rule(token, "MAX_BALANCE", {"units": 100})
    placed(token, sell(seller, 10, 100))
    order = {
        "accountID": f"Account|{buyer.pk}",
        "tokenID": f"Token|{token.pk}",
        "side": "BUY",
        "quantity": 10,
        "limitPrice": 100,
        "timeInForce": "GTC",
    }
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    with transaction.atomic(), connection.cursor() as cursor:
        # As on a standby.
        cursor.execute("SET TRANSACTION READ ONLY")
        checked = ask(CHECK, {"input": order}).data["checkOrder"]
        cursor.execute(
            "SELECT count(*) FILTER (WHERE mode = 'AccessShareLock'), count(*) FILTER"
            " (WHERE mode <> 'AccessShareLock' AND locktype <> 'virtualxid'),"
            " pg_current_xact_id_if_assigned()::text"
            " FROM pg_locks WHERE pid = pg_backend_pid()"
        )
        [(read, locked, written)] = cursor.fetchall()
    assert (checked["allowed"], checked["wouldFillQuantity"]) == (True, 10)
    assert (read > 0, locked, written) == (True, 0, None)
