"""The tables of templates/docs that are made from the code: `write docs` writes them.

A generated table stands between two lines that Markdown does not show:

    [//]: # (generated: settings)
    [//]: # (end of generated)
"""

import re
from argparse import Action
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import metadata
from itertools import chain
from typing import Any

from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.urls import get_resolver
from graphql import GraphQLObjectType

from accounts.access import Scope
from marketdata.trading.in_force import OrderStatusReason, TimeInForce
from partnerapi.command_line import DUTIES
from partnerapi.core.commands import CommandGroup, first_sentence
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.schema import schema
from partnerapi.settings import FIXED_LIMITS, VARIABLES
from partnerapi.site import prices, reference
from partnerapi.site.locks_table import rows

ROOMS = ("partnerapi", "accounts", "issuers", "marketdata")
MOST_CHOICES = 4
GENERATED = re.compile(
    r"(\[//\]: # \(generated: (?P<name>[\w-]+)\)\n)"
    r".*?"
    r"(\[//\]: # \(end of generated\)\n)",
    re.DOTALL,
)


def fill_tables(text: str) -> str:
    """The text of a document with its generated tables as the code says now.

    Raises:
        KeyError: a table has a name that TABLES does not have.
    """
    return GENERATED.sub(
        lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n{found[3]}", text
    )


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n"
        for line in lines
    )


def code(text: str) -> str:
    return f"`{text}`"


def settings_table() -> str:
    rows = (
        (code(name), variable.kind, default_of(variable.default), variable.meaning)
        for name, variable in VARIABLES.items()
    )
    return table(("Variable", "Type", "Default", "Meaning"), rows)


def limits_table() -> str:
    settable = (
        (variable.meaning, f"{variable.default:,}", code(name))
        for name, variable in VARIABLES.items()
        if name.startswith(reference.LIMITS)
    )
    fixed = (
        (meaning, f"{getattr(settings, name):,}", "none")
        for name, meaning in FIXED_LIMITS.items()
    )
    rows = chain(settable, fixed)
    return table(("Limit", "Default", "Setting that changes it"), rows)


PRICES: dict[str, tuple[str, str, Callable[[], Iterable[Sequence[str]]]]] = {
    "prices": ("What is selected", "Points", prices.prices),
    "reads": ("Type", "Fields that cost 10", prices.reads),
    "open-lists": ("List", "Items at most", prices.open_lists),
    "other-prices": ("What is sent", "Points", prices.other_prices),
    "most": ("What", "At most", prices.most),
}


def prices_table(name: str) -> str:
    what, number, rows = PRICES[name]
    return table((what, number), rows())


def default_of(default: Any) -> str:
    if isinstance(default, bool):
        default = str(default).lower()
    elif isinstance(default, list):
        default = ",".join(default)
    return "none" if default == "" else code(default)


def errors_table() -> str:
    # The routes lead to all code that raises, and so to every class of an error.
    get_resolver().url_patterns  # noqa: B018
    rows = (
        (
            f"[{code(error.code)}]({reference.address(error.anchor)})",
            ", ".join(map(str, error.statuses)),
            error.plain,
            "; ".join(map(shown_example, error.examples)),
            error.remedy,
        )
        for error in reference.errors()
    )
    return table(("Code", "HTTP status", "When", "Example", "Remedy"), rows)


def shown_example(example: str) -> str:
    return code(example) if reference.is_document(example) else example


def deprecations_table() -> str:
    found = reference.deprecations(schema)
    if not found:
        return "Nothing is deprecated at present.\n"
    rows = (
        (
            f"[{code(each.name)}]({reference.address(each.name)})",
            str(each.since),
            str(each.removal),
            each.instead,
        )
        for each in found
    )
    return table(("What", "Deprecated since", "Removed on", "Instead"), rows)


def scopes_table() -> str:
    rows = (
        (code(scope.value), scope.label, ", ".join(map(code, fields_with(scope))))
        for scope in Scope
    )
    return table(("Scope", "Purpose", "Fields that need it"), rows)


def export_rows_table() -> str:
    rows = (
        (
            code(name),
            " or ".join(code(each) for each in exported.paths if each)
            + " or nothing" * (None in exported.paths and len(exported.paths) > 1),
            ", ".join(map(code, exported.scopes)),
            code(exported.fields),
        )
        for name, exported in CONNECTIONS.items()
    )
    return table(("Connection", "Of", "Scope", "Fields of a row"), rows)


def fields_with(scope: Scope) -> Iterator[str]:
    """The fields whose descriptions say that they need the scope, by type and name."""
    needs = re.compile(
        rf"needs? (the scope |one of the scopes (`[\w:]+`, )*)?`{scope.value}`",
        re.IGNORECASE,
    )
    for name, type_ in sorted(schema.type_map.items()):
        if isinstance(type_, GraphQLObjectType):
            for field, definition in sorted(type_.fields.items()):
                if needs.search(definition.description or ""):
                    yield f"{name}.{field}"


def commands_table(duty: str) -> str:
    rows = []
    for name, command in chain.from_iterable(map(commands_of, DUTIES[duty])):
        arguments, options = own_actions(command, name)
        rows.append(
            (
                code(" ".join([name, *arguments])),
                first_sentence(command.help),
                ", ".join(map(code, options)),
            )
        )
    return table(("Command", "What it does", "Options"), rows)


def commands_of(name: str) -> list[tuple[str, BaseCommand]]:
    """A command by its name, or its subcommands, each by both of its words."""
    command = load_command_class(get_commands()[name], name)
    if not isinstance(command, CommandGroup):
        return [(name, command)]
    command.create_parser("manage.py", name)
    return [(each.name, each) for each in command.commands.values()]


def own_actions(command: BaseCommand, name: str) -> tuple[list[str], list[str]]:
    """Arguments and options of a command, without those that it has from Django."""
    kinds = type(command).__mro__
    inherited = next(kind for kind in kinds if not kind.__module__.startswith(ROOMS))
    known = {
        action.dest for action in inherited().create_parser("manage.py", name)._actions
    }
    own = [
        action
        for action in command.create_parser("manage.py", name)._actions
        if action.dest not in known
    ]
    return (
        [usage_of(action) for action in own if not action.option_strings],
        [usage_of(action) for action in own if action.option_strings],
    )


def usage_of(action: Action) -> str:
    """An argument or an option as a line of usage has it: `--depth LEVELS`."""
    value = str(action.metavar or action.dest).upper()
    choices = [str(choice) for choice in action.choices or ()]
    if action.metavar is None and 0 < len(choices) <= MOST_CHOICES:
        value = "|".join(choices)
    if action.option_strings:
        name = action.option_strings[0]
        return name if action.nargs == 0 else f"{name} {value}"
    return f"[{value}]" if action.nargs in ("?", "*") else value


def licences_table() -> str:
    lock = settings.BASE_DIR / "partnerapi/operations/deploy/requirements.lock"
    names = re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE)
    rows = ((name, licence_of(metadata.distribution(name))) for name in sorted(names))
    return table(("Software", "Licence"), rows)


def licence_of(distribution: metadata.Distribution) -> str:
    """What it says of its licence: an expression, kinds, words, or a file's title."""
    named = distribution.metadata
    if "License-Expression" in named:
        return named["License-Expression"]
    kinds = [
        classifier.rpartition(" :: ")[2]
        for classifier in named.get_all("Classifier") or ()
        if classifier.startswith("License :: OSI Approved ::")
    ]
    words = ", ".join(kinds)
    if not words and "License" in named:
        words = named["License"]
    if not words:
        words = distribution.read_text(f"licenses/{named['License-File']}") or ""
    return words.strip().partition("\n")[0]


def meanings_table(of: type[TimeInForce] | type[OrderStatusReason]) -> str:
    return table(("Value", "Meaning"), ((code(row), row.meaning) for row in of))


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "limits": limits_table,
    **{name: partial(prices_table, name) for name in PRICES},
    "errors": errors_table,
    "deprecations": deprecations_table,
    "scopes": scopes_table,
    "export-rows": export_rows_table,
    "licences": licences_table,
    "times-in-force": partial(meanings_table, TimeInForce),
    "order-endings": partial(meanings_table, OrderStatusReason),
    "locks": lambda: table(("", "Order", "What", "Lock", "Accepted by"), rows()),
    **{
        f"commands-{duty.split()[0].lower()}": partial(commands_table, duty)
        for duty in DUTIES
    },
}
