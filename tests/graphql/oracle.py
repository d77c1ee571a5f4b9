"""graphql-core's own executor over the same schema: ours must answer the same."""

from typing import Any

from graphql import ExecutionResult, GraphQLResolveInfo, execute_sync, get_named_type
from graphql.type import is_composite_type

from partnerapi.graphql.documents import PreparedRequest
from partnerapi.graphql.resolvers import Info


def execute_by_graphql_core(prepared: PreparedRequest, context: Any) -> ExecutionResult:
    """Run a prepared request depth first, each batch resolver with one parent."""
    operation = prepared.operation
    source = prepared.plan.selection.source

    def resolve(parent: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
        extensions = info.parent_type.fields[info.field_name].extensions
        if "attribute" in extensions:
            return getattr(parent, extensions["attribute"])
        named = get_named_type(info.return_type)
        selected = is_composite_type(named) and source.select(named, info.field_nodes)
        [value] = extensions["batch"](
            [parent],
            Info(context, selected or None, info.variable_values),
            **arguments,
        )
        return value

    return execute_sync(
        operation.schema,
        operation.ast,
        variable_values=prepared.inputs,
        operation_name=operation.node.name.value if operation.node.name else None,
        field_resolver=resolve,
    )
