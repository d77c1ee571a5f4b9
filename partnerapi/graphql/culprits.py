"""Names the argument or the variable that graphql-core refuses, for `extensions`."""

import re
from typing import Any

from graphql import (
    ArgumentNode,
    DocumentNode,
    GraphQLError,
    ListValueNode,
    ObjectValueNode,
    ValueNode,
    VariableDefinitionNode,
    VariableNode,
)
from graphql.language import Visitor, visit

MEMBER = re.compile(
    r".*; Field '(\w+)' (?:of required type '[^']+' was not provided\."
    r"|is not defined by type '\w+'\.(?: Did you mean [^;]+\?)?)$",
    re.DOTALL,
)
"""A member of an input that is missing, or that there is not."""
ARGUMENT = re.compile(r"Argument '(\w+)'")


def name_of_argument(error: GraphQLError) -> dict[str, str]:
    """`argument`, where an argument's value was refused during execution."""
    found = ARGUMENT.match(error.message)
    return {"argument": found[1]} if found else {}


def names_of_variable(error: GraphQLError, document: DocumentNode) -> dict[str, str]:
    """`variable` with the path inside its value, and the `argument` that it fills."""
    node = error.nodes[0] if error.nodes else None
    if not isinstance(node, VariableDefinitionNode):
        return {}
    name = node.variable.name.value
    # Where the value is an object or a list, the message names the place in it.
    found = re.search(rf" at '{name}((?:\.\w+|\[\d+\])+)'; ", error.message)
    path = re.sub(r"\[(\d+)\]", r".\1", found[1]) if found else ""
    if member := MEMBER.search(error.message):
        path += f".{member[1]}"
    names = {"variable": name + path}
    use = Use(name)
    visit(document, use)
    if use.argument:
        names["argument"] = use.argument + path
    return names


class Use(Visitor):
    """Finds the first argument whose value holds a variable: `input.status`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.argument: str | None = None

    def enter_argument(self, node: ArgumentNode, *_: Any) -> None:
        if self.argument is None:
            path = path_to(self.name, node.value)
            if path is not None:
                self.argument = ".".join([node.name.value, *path])


def path_to(name: str, value: ValueNode) -> list[str] | None:
    """The members that lead to a variable inside a value; None: it is not there."""
    if isinstance(value, VariableNode):
        return [] if value.name.value == name else None
    inner: list[tuple[str, ValueNode]] = []
    if isinstance(value, ObjectValueNode):
        inner = [(field.name.value, field.value) for field in value.fields]
    elif isinstance(value, ListValueNode):
        inner = [(str(number), item) for number, item in enumerate(value.values)]
    for key, item in inner:
        path = path_to(name, item)
        if path is not None:
            return [key, *path]
    return None
