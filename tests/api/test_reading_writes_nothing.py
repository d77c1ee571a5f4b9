"""What a request that only reads leaves in the database's log: nothing."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from accounts.access import Scope
from accounts.keys.models import ApiKey, Partner
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.schema import schema
from partnerapi.site.exchanges import of_operations
from partnerapi.webhooks.models import WebhookEndpoint
from partnerapi.webhooks.secrets import sealed_for
from partnerapi.webhooks.signing import new_secret
from tests.api.test_orders import CHECK
from tests.approved import approved_rule
from tests.characters import Ask, new_world
from tests.issuers.offerings import offerings
from tests.marketdata.trading.trading import (
    buy,
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
    with locking_nothing():
        checked = ask(CHECK, {"input": order}).data["checkOrder"]
    assert (checked["allowed"], checked["wouldFillQuantity"]) == (True, 10)


@contextmanager
def locking_nothing() -> Iterator[None]:
    """A transaction as on a standby, which locks and writes nothing."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        yield
        cursor.execute(
            "SELECT count(*) FILTER (WHERE mode = 'AccessShareLock'), count(*) FILTER"
            " (WHERE mode <> 'AccessShareLock' AND locktype <> 'virtualxid'),"
            " pg_current_xact_id_if_assigned()::text"
            " FROM pg_locks WHERE pid = pg_backend_pid()"
        )
        [(read, locked, written)] = cursor.fetchall()
    assert (read > 0, locked, written) == (True, 0, None)


MUTATIONS = [
    (name, of_operations()[name].request) for name in schema.mutation_type.fields
]
OWN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|20[0-9]{2}-[0-9T:.-]+Z|whsec_[A-Za-z0-9+/=]+"
)
"""Ids, instants and secrets, which differ from answer to answer."""


def endpoint_of(key: ApiKey) -> uuid.UUID:
    """The id of a webhook endpoint that has received an event."""
    pk = uuid.uuid4()
    endpoint = WebhookEndpoint.objects.create(
        id=pk,
        key=key,
        url="https://hooks.example.com",
        sealed_secrets=sealed_for(pk, [new_secret()]),
        position=1,
    )
    return endpoint.pk


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_of_a_mutation_locks_nothing_and_answers_as_the_mutation():
    world = new_world()
    token = new_market(3_500)
    seller, buyer, other = new_clients(3, world.partner)
    deposit(buyer, 200_000)
    give(token, {seller: 10, buyer: 10})
    approved_rule(token, "MAX_BALANCE", {"units": 100})
    resting = placed(token, buy(buyer, 10, 3_400))
    placed(token, sell(seller, 10, 3_500))
    subscription = offerings.subscribe(offerings.opened(), buyer, 5)
    key, token_of_key = approved_key(world.partner, list(Scope))
    of_example = {
        "018595c2-0a80-7c1e-935a-71ad74b961aa": offerings.opened().pk,
        "0198b2c6-7a21-7c40-8e15-2d9f4b6a8c01": subscription.pk,
        "0198b2c7-2b4d-7f31-9c05-6a1e8d3b7f42": endpoint_of(key),
        "0187ae1f-56e3-7218-a6ce-8fa1fc06110a": buyer.pk,
        "018631cf-ecdb-7596-bdf4-50ccb574cd30": other.pk,
        "018d790f-e13c-7e3b-a11f-a5e6051253df": token.pk,
        "0198b2c6-4c8e-7a19-b2d7-3f5e8c9a6b01": resting.pk,
    }
    ask = Ask(token_of_key)
    for name, document in MUTATIONS:
        for id, own in of_example.items():
            document = document.replace(id, str(own))
        with locking_nothing():
            tried = ask(document, **{"X-Validate-Only": "true"})
        with transaction.atomic():
            done = ask(document, **{"Idempotency-Key": str(uuid.uuid4())})
            transaction.set_rollback(True)
        if name == "acknowledgeStatement":
            # Its example is of a statement that only a signer's key makes.
            assert tried.code == done.code == "NOT_FOUND"
            continue
        assert "errors" not in done.body, (name, done.body)
        assert OWN.sub("", str(tried.data)) == OWN.sub("", str(done.data)), name


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("may_attest", [False, True])
def test_a_dry_run_of_an_attestation_says_whether_it_waits(may_attest: bool):
    world = new_world()
    Partner.objects.filter(pk=world.partner.pk).update(may_attest=may_attest)
    [account] = new_clients(1, world.partner)
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    document = of_operations()["attestInvestor"].request
    document = re.sub("(?<=Account.)[0-9a-f-]{36}", str(account.pk), document)
    with locking_nothing():
        tried = ask(document, **{"X-Validate-Only": "true"})
    done = ask(document, **{"Idempotency-Key": str(uuid.uuid4())})
    assert tried.data == done.data
    investor = done.data["attestInvestor"]["account"]["investor"]
    assert investor["pending"] is not may_attest
