"""The sum of the apps' schemas, and the two fields that reach every type."""

from collections import defaultdict

import graphene
from django.conf import settings

import accounts.schema
import issuers.schema
from partnerapi.engine.errors import BadUserInput
from partnerapi.engine.execution import bind
from partnerapi.engine.pages import read_rows
from partnerapi.engine.relay import Node, parse_id

NODES = issuers.schema.NODES


def read_nodes(ids, info):
    """Objects of any type by their ids, in order; one statement per type."""
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


class Query(accounts.schema.Query, issuers.schema.Query, graphene.ObjectType):
    """Everything that can be read."""

    node = graphene.Field(
        Node,
        id=graphene.ID(required=True, description="The object's id."),
        description="One object of any type; null when there is none that you may see.",
    )
    nodes = graphene.List(
        Node,
        ids=graphene.List(
            graphene.NonNull(graphene.ID),
            required=True,
            description="The objects' ids, at most 100.",
        ),
        required=True,
        description="Objects of any type, in the order of their ids; null in the "
        "place of each that does not exist or that you may not see.",
    )

    def resolve_node(roots, info, id):
        return read_nodes([id], info)

    def resolve_nodes(roots, info, ids):
        maximum = settings.PARTNER_API_MAX_PAGE_SIZE
        if len(ids) > maximum:
            raise BadUserInput(
                f"`ids` holds {len(ids)} ids; pass at most {maximum}.",
                argument="ids",
                maximum=maximum,
            )
        return [read_nodes(ids, info)]


schema = bind(
    graphene.Schema(query=Query, types=[accounts.schema.UserHolder]).graphql_schema
)
