"""The table of locks, read from the files of SQL and from Python."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from django.apps import apps
from django.conf import settings

from partnerapi.core.sql_files import every_file
from partnerapi.core.sql_locks import PARAMETER, Lock, locks

PACKAGES = ("accounts", "issuers", "marketdata", "partnerapi")


class Rung(NamedTuple):
    """Rows and names that are locked before those of the next rung.

    `written` says who locks such rows by writing them.
    """

    says: str
    locked: tuple[str, ...] = ()
    written: str = ""


RUNGS = (
    Rung(
        "the idempotency record of a partner and a key",
        written="each mutation, before its effect: `partnerapi/gateway/idempotency.py`",
    ),
    Rung(
        "a delivery job, an export, or an import of a large file",
        (
            *("issuers_deliveryjob", "partnerapi_export", "exports"),
            "partnerapi_importjob",
        ),
    ),
    Rung("erasures, for each and for each statement that is published", ("erasures",)),
    Rung("an import of legacy shareholders, by issuer", (PARAMETER,)),
    Rung("a bank statement of a sandbox", ("statements of a sandbox",)),
    Rung("a request for a second person", ("accounts_approvalrequest",)),
    Rung("passkeys of staff, by id", ("accounts_passkey",)),
    Rung("an issuer", ("issuers_issuer",)),
    Rung("legacy shareholders, by id", ("issuers_legacyshareholder",)),
    Rung("holder profiles, by user", ("accounts_userholder",)),
    Rung(
        "a token",
        ("issuers_token",),
        written="`market open-secondary`, the admin, `import issuers`",
    ),
    Rung("an offering", ("issuers_offering",)),
    Rung("limits of partners, by partner", ("limits of partner",)),
    Rung("heads of order books, by token", ("marketdata_orderbookhead",)),
    Rung("heads of ledgers, by token", ("issuers_tokenledgerhead",)),
    Rung("orders of partners, by partner", ("orders of partner",)),
    Rung(
        "accounts, then a user, then ledger accounts, each by id",
        ("accounts_account", "accounts_user", "issuers_ledgeraccount"),
    ),
    Rung(
        "heads of cash, by id, then what was done alone on a day",
        ("accounts_cashhead",),
        "`approvals_alone` writes `accounts_soleamount`, by issuer and person",
    ),
    Rung("a partner", ("accounts_partner",)),
    Rung(
        "at the commit: names of holders, the empty term of an issuer, totals of lists",
        ("names of holders", "issuers_issuerterm"),
        "`accounts_count` writes `accounts_total`, by list and key",
    ),
    Rung(
        "at the commit: grants, as events are numbered by them", ("events by grants",)
    ),
    Rung(
        "at the commit: heads of partners' events, by partner", ("issuers_eventhead",)
    ),
)
ALONE = {
    "accounts_total": "by a migration that fills it, keys in order, and nothing else",
    "changed_tables": "all that a migration changes; it waits for less than "
    "`deadlock_timeout`",
    "accounts_desknotice": "one e-mail, in a transaction of its own",
    "accounts_staffnotice": "one e-mail, in a transaction of its own",
    "documents": "one document, in a transaction of its own",
    "issuers_articletocome": "passes over what others hold",
    "issuers_industryclassificationbenchmark": "before the issuers that name it",
    "issuers_issuerfinancialdata": "figures of one import's issuers",
    "marketdata_fixlease": "many at a time, by session, in one statement",
    "migrations": "by `migrate`, before any other; its `lock_timeout` ends the wait",
    "partnerapi_exportmember": "passes over what others hold",
    "partnerapi_idempotencyrecord": "passes over what others hold",
    "partnerapi_jobrun": "passes over what others hold",
    "trading_refusedorder": "passes over what others hold",
    "partnerapi_requestcount": "passes over what others hold",
    "partnerapi_webhookendpoint": "one endpoint, by a mutation that locks nothing more",
    "registers that moved": "not waited for",
    "writers of the register": "shared by all who write; readers of tables wait for it",
}
"""What is locked aside from the order, and why it cannot close a circle."""


class Unplaced(Exception):
    """A lock stands on no rung; the message says where it is taken."""


def takers() -> dict[Lock, set[str]]:
    """Each lock with the functions and the files of Python that take it."""
    found: dict[Lock, set[str]] = defaultdict(set)
    for file in every_file():
        for function in file.functions():
            for lock in locks(function.body):
                found[lock].add(function.name)
    for package in PACKAGES:
        for path in sorted(Path(settings.BASE_DIR, package).rglob("*.py")):
            if "migrations" not in path.parts:
                for lock in locks_of_python(path.read_text()):
                    found[lock].add(str(path.relative_to(settings.BASE_DIR)))
    return found


def locks_of_python(source: str) -> Iterator[Lock]:
    """The locks of a module's statements, as SQL and as querysets."""
    tables = {model.__name__: model._meta.db_table for model in apps.get_models()}
    tree = ast.parse(source)
    returned = {
        node.name: ast.unparse(node.returns)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns
    }
    told = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from locks("".join(map(part_of, node.values)))
            told |= {part for part in node.values if isinstance(part, ast.Constant)}
        elif isinstance(node, ast.Constant) and node not in told:
            if isinstance(node.value, str):
                yield from locks(node.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "select_for_update"
        ):
            asked = {n.arg: ast.unparse(n.value) == "True" for n in node.keywords}
            mode = "FOR NO KEY UPDATE" if asked.get("no_key") else "FOR UPDATE"
            mode += " SKIP LOCKED" * asked.get("skip_locked", False)
            named = ast.unparse(node.func.value)
            named = returned.get(named.partition("(")[0], named)
            [model] = {*tables} & {
                *named.replace("[", ".").replace("]", ".").split(".")
            }
            yield Lock(tables[model], mode)


def part_of(node: ast.expr) -> str:
    """A part of an f-string; what is put in, as the name that it has in Python."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    value = node.value if isinstance(node, ast.FormattedValue) else None
    return value.id if isinstance(value, ast.Name) else "x"


def rows() -> Iterator[list[str]]:
    """The rows of the table, in the order in which locks are taken.

    Raises:
        Unplaced
    """
    by_what: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for lock, who in takers().items():
        by_what[lock.what][lock.mode] = who
    for number, rung in enumerate(RUNGS, 1):
        for what in rung.locked:
            for mode, who in sorted(by_what.pop(what).items()):
                yield [str(number), rung.says, *cells(what, mode, who)]
        if rung.written:
            yield [str(number), rung.says, "", "the insert or the update", rung.written]
    for what, why in ALONE.items():
        for mode, who in sorted(by_what.pop(what).items()):
            yield ["", why, *cells(what, mode, who)]
    for what, modes in by_what.items():
        raise Unplaced(
            f"{what} is locked by {', '.join(sorted(set().union(*modes.values())))}: "
            "give it a place in RUNGS or ALONE of partnerapi/site/locks_table.py."
        )


def cells(what: str, mode: str, who: set[str]) -> list[str]:
    named = ", ".join(f"`{name}`" for name in sorted(who))
    return [what if " " in what else f"`{what}`", mode, named]
