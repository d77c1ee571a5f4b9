"""The examples of the reference, priced by hand from the page about limits alone."""

import pytest

from partnerapi.graphql.documents import prepare
from partnerapi.sandbox.schema import extended
from partnerapi.site.exchanges import of_operations

# What it is, fields that read, totals, objects. A page of 20 is one without `first`; of
# a list that takes none, one item counts before the request runs.
PRICES = {
    "account": (0, 2, 0, 2),
    "accounts": (0, 1, 0, 2),
    "acknowledgeStatement": (150, 1, 0, 2),
    "amendOrder": (150, 0, 0, 3),
    "amendSubscription": (150, 0, 0, 2),
    "attestInvestor": (150, 3, 0, 4),
    "blockOrders": (150, 1, 0, 3),
    "cancelOrder": (150, 0, 0, 2),
    "cancelOrders": (150, 0, 0, 1),
    "cancelOrdersAfter": (150, 0, 0, 1),
    "checkOrder": (100, 0, 0, 2),
    "checkSubscription": (100, 0, 0, 1),
    "checkTransfer": (100, 0, 0, 2),
    "createExport": (150, 1, 0, 2),
    "createWebhookEndpoint": (150, 1, 0, 2),
    "deleteWebhookEndpoint": (150, 1, 0, 2),
    "events": (0, 2, 0, 4),
    "executions": (0, 3, 0, 6),
    "export": (0, 1, 0, 1),
    "holdingProof": (0, 1, 0, 1),
    "idempotentRequest": (0, 1, 0, 1),
    "industryClassificationBenchmarks": (0, 1, 1, 2),
    "invoices": (0, 1, 0, 2),
    "issuer": (0, 2, 0, 3),
    "issuers": (0, 1, 1, 2),
    "markets": (0, 2, 0, 4),
    "node": (0, 1, 0, 1),
    "nodes": (0, 1, 0, 3),
    "offering": (0, 2, 0, 2),
    "offerings": (0, 3, 1, 4),
    "openAccount": (150, 2, 0, 2),
    "order": (0, 2, 0, 21),
    "orderBlocks": (0, 3, 0, 3),
    "orders": (0, 2, 0, 4),
    "placeOrder": (150, 0, 0, 3),
    "placeOrders": (150, 0, 0, 3),
    "positions": (0, 4, 0, 6),
    "redeliverWebhooks": (150, 1, 0, 2),
    "refusedOrders": (0, 3, 0, 6),
    "releaseOrders": (150, 0, 0, 1),
    "requestWithdrawal": (150, 2, 0, 3),
    "rollWebhookSecret": (150, 1, 0, 2),
    "sandboxActivate": (150, 1, 0, 2),
    "sandboxAdvanceMarket": (150, 2, 0, 3),
    "sandboxDeposit": (150, 2, 0, 3),
    "sandboxFill": (150, 0, 0, 2),
    "sandboxReportConformance": (150, 0, 0, 1),
    "subscribe": (150, 0, 0, 2),
    "testWebhookEndpoint": (150, 1, 0, 2),
    "token": (0, 4, 0, 4),
    "tokens": (0, 3, 1, 4),
    "updateAccountStatus": (150, 1, 0, 2),
    "viewer": (0, 1, 0, 2),
    "withdrawSubscription": (150, 0, 0, 2),
}


def test_each_example_is_priced():
    assert set(PRICES) == set(of_operations())


@pytest.mark.parametrize("name", PRICES)
def test_an_example_costs_what_a_reader_finds(name: str):
    base, reads, totals, objects = PRICES[name]
    prepared = prepare(extended(), of_operations()[name].request, None, {})
    assert prepared.price == base + 10 * (reads + totals) + objects
