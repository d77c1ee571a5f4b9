"""The sum of the apps' schemas, and the two fields that find objects of any type."""

from collections import defaultdict

import graphene
from django.conf import settings

import accounts.accounts.schema
import accounts.applicants.schema
import accounts.cash.schema
import accounts.keys.schema
import issuers.schema.compliance
import issuers.schema.events
import issuers.schema.grants
import issuers.schema.holdings
import issuers.schema.investors
import issuers.schema.offerings
import issuers.schema.proofs
import issuers.schema.queries
import issuers.schema.subscribing
import issuers.schema.subscriptions
import issuers.schema.witnesses
import marketdata.schema
import marketdata.trading.schema.checkpoints
import marketdata.trading.schema.controls
import marketdata.trading.schema.documents
import marketdata.trading.schema.dry_run
import marketdata.trading.schema.events
import marketdata.trading.schema.fills
import marketdata.trading.schema.limits
import marketdata.trading.schema.listings
import marketdata.trading.schema.markets
import marketdata.trading.schema.mutations
import marketdata.trading.schema.orders
import marketdata.trading.schema.positions
import marketdata.trading.schema.refused
import partnerapi.exports.schema
import partnerapi.gateway.schema
import partnerapi.webhooks.schema
from accounts.accounts.schema import Account
from accounts.keys.schema import Viewer
from accounts.people.schema import UserHolder
from issuers.schema.events import SUBJECTS, Event
from issuers.schema.tokens import Token
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import Cost, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import Node, extend, parse_id
from partnerapi.graphql.resolvers import bind, needs

NODES = (
    accounts.accounts.schema.NODES
    | issuers.schema.offerings.NODES
    | issuers.schema.queries.NODES
    | issuers.schema.subscriptions.NODES
    | marketdata.trading.schema.documents.NODES
    | marketdata.trading.schema.orders.NODES
    | partnerapi.exports.schema.NODES
    | partnerapi.webhooks.schema.NODES
)


def read_nodes(ids, info):
    """Objects of any type by their ids, in order; one statement for each type."""
    parsed = [parse_id(id) for id in ids]
    keys = defaultdict(list)
    for node in parsed:
        if node is not None and node.type_name in NODES:
            keys[node.type_name].append(node.key)
    found = {}
    for type_name, wanted in keys.items():
        visible = NODES[type_name](info.context.caller)
        for row in read_rows(type_name, info, visible, wanted):
            if row is not None:
                found[type_name, row.id] = row
    return [found.get(node) for node in parsed]


class NodeQuery(graphene.ObjectType):
    node = graphene.Field(
        Node,
        id=graphene.ID(required=True, description="The object's id."),
        description="One object of any type; null if there is none that you may see.",
    )
    nodes = Field(
        graphene.List(Node),
        cost=Cost(reads=True, length="ids"),
        ids=graphene.List(
            graphene.NonNull(graphene.ID),
            required=True,
            description="The objects' ids, at most 100.",
        ),
        required=True,
        description="Objects of any type, in the order of `ids`; null for each that "
        "does not exist or that you may not see.",
    )

    def resolve_node(roots, info, id):
        return read_nodes([id], info)

    def resolve_nodes(roots, info, ids):
        maximum = settings.PARTNER_API_MAX_PAGE_SIZE
        if len(ids) > maximum:
            raise BadUserInput(
                f"`ids` has {len(ids)} ids; pass at most {maximum}.",
                argument="ids",
                maximum=maximum,
            )
        return [read_nodes(ids, info)]


@needs("type", "subject_id")
def resolve_subject(events, info):
    """What events are about, as far as the caller may see it."""
    return read_nodes(
        [f"{SUBJECTS.get(event.type, '')}|{event.subject_id}" for event in events], info
    )


class Query(
    issuers.schema.events.Query,
    marketdata.trading.schema.controls.Query,
    marketdata.trading.schema.documents.Query,
    marketdata.trading.schema.dry_run.Query,
    marketdata.trading.schema.orders.Query,
    marketdata.trading.schema.positions.Query,
    marketdata.trading.schema.refused.Query,
    marketdata.trading.schema.listings.Query,
    issuers.schema.compliance.Query,
    issuers.schema.subscribing.Query,
    issuers.schema.offerings.Query,
    issuers.schema.proofs.Query,
    partnerapi.exports.schema.Query,
    partnerapi.gateway.schema.Query,
    NodeQuery,
    accounts.keys.schema.Query,
    accounts.accounts.schema.Query,
    issuers.schema.queries.Query,
    graphene.ObjectType,
):
    """All queries."""


class Mutation(
    partnerapi.exports.schema.Mutation,
    partnerapi.webhooks.schema.Mutation,
    marketdata.trading.schema.mutations.Mutation,
    marketdata.trading.schema.controls.Mutation,
    issuers.schema.investors.Mutation,
    issuers.schema.subscribing.Mutation,
    issuers.schema.witnesses.Mutation,
    accounts.applicants.schema.Mutation,
    accounts.accounts.schema.Mutation,
    accounts.cash.schema.Mutation,
    graphene.ObjectType,
):
    """All mutations. Each needs an `Idempotency-Key`."""


extend(UserHolder, balances=issuers.schema.holdings.HOLDER_BALANCES)
extend(
    Account,
    reference=accounts.applicants.schema.REFERENCE_FIELD,
    holdings=issuers.schema.holdings.ACCOUNT_HOLDINGS,
    positions=marketdata.trading.schema.positions.POSITIONS,
    orders=marketdata.trading.schema.orders.ACCOUNT_ORDERS,
    executions=marketdata.trading.schema.orders.ACCOUNT_EXECUTIONS,
    subscriptions=issuers.schema.subscriptions.ACCOUNT_SUBSCRIPTIONS,
    investor=issuers.schema.investors.INVESTOR,
    cash=accounts.cash.schema.CASH,
    cash_entries=accounts.cash.schema.CASH_ENTRIES,
    withdrawals=accounts.cash.schema.ACCOUNT_WITHDRAWALS,
    documents=marketdata.trading.schema.documents.ACCOUNT_DOCUMENTS,
)
extend(
    accounts.cash.schema.CashEntry,
    execution=marketdata.trading.schema.fills.EXECUTION_OF_ENTRY,
)
extend(
    Event,
    subject=graphene.Field(
        Node,
        resolver=resolve_subject,
        description="The object concerned; null if you may no longer see it.",
    ),
    **marketdata.trading.schema.events.FIELDS,
)
extend(
    Token,
    transfer_rules=issuers.schema.compliance.TRANSFER_RULES,
    order_book=marketdata.schema.ORDER_BOOK,
    day=marketdata.schema.DAY,
    days=marketdata.schema.TRADING_DAYS,
    market=marketdata.trading.schema.markets.MARKET,
    trades=marketdata.trading.schema.markets.TRADES_FIELD,
)
extend(
    Viewer,
    grants=issuers.schema.grants.VIEWER_GRANTS,
    all_issuers=issuers.schema.grants.ALL_ISSUERS,
    order_limits=marketdata.trading.schema.limits.ORDER_LIMITS,
    checkpoint=marketdata.trading.schema.checkpoints.CHECKPOINT,
    webhook_endpoints=partnerapi.webhooks.schema.VIEWER_WEBHOOKS,
)

schema = bind(
    graphene.Schema(
        query=Query,
        mutation=Mutation,
        types=[UserHolder],
    ).graphql_schema
)
