"""What management commands share."""

import getpass
import re
from argparse import SUPPRESS, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
)
from django.utils.module_loading import import_string

from partnerapi.core import lock_waits
from partnerapi.core.authors import written_by
from partnerapi.core.database import confirm
from partnerapi.core.postgresql.faults import Fault, OutcomeUnknown, fault_of
from partnerapi.core.problems import WrongFileError
from partnerapi.core.progress import Advance, Begin

INSTALLATION = "installation"
"""The tag of checks of what an operator can misconfigure."""
VERB_WIDTH = 25
SENTENCE = re.compile(r"(.+?\.)(?=\s|$)", re.DOTALL)
DRY_RUN = " (dry run: nothing was written)"
"""How the answer of a dry run ends."""


class CommandWithExamples(BaseCommand):
    """Shows its `help` line by line as it is written: a sentence, then examples."""

    # All checks, of every address, load every page.
    requires_system_checks: list[str] | tuple[str, ...] = (INSTALLATION,)

    name = ""
    """Of a subcommand, both words as they are typed."""

    def create_parser(self, *args, **kwargs):
        kwargs["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(*args, **kwargs)

    def execute(self, *args, **options):
        who = options.get("staff") or f"operator {getpass.getuser()}"
        command = self.name or type(self).__module__.rpartition(".")[2]
        try:
            with written_by(who, f"command {command}"):
                return super().execute(*args, **options)
        except OutcomeUnknown as error:
            raise CommandError(
                f"The outcome is unknown. {error} Earlier changes are kept. Check "
                "the data, or run this again once a standby follows."
            ) from error
        except (OperationalError, InterfaceError) as error:
            raise CommandError(
                "The database does not answer: "
                f"{str(error).strip().splitlines()[0]}. Unfinished work was rolled "
                "back; run this again when it answers."
            ) from error
        except (InternalError, ProgrammingError) as error:
            if (fault := fault_of(error)) not in (Fault.READ_ONLY, Fault.UNGRANTED):
                raise
            raise CommandError(
                f"{fault}. Unfinished work was rolled back: this command writes, an "
                "export its line of the log."
            ) from error


class DryRunCommand(CommandWithExamples):
    """Has the option --dry-run, which `handle` gets as `dry_run`."""

    def create_parser(self, *args, **kwargs):
        parser = super().create_parser(*args, **kwargs)
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="check everything and print what would change, without writing",
        )
        return parser


class CommandGroup(CommandWithExamples):
    """Its first argument, the verb, names the subcommand that does the work."""

    verbs: dict[str, str] = {}
    """Each verb with the class of its subcommand."""

    def run_from_argv(self, argv):
        if (verb := "".join(argv[2:3])) in self.verbs:
            # The modules of the others take time to import.
            self.verbs = {verb: self.verbs[verb]}
        super().run_from_argv(argv)

    def create_parser(self, prog_name, subcommand, **kwargs):
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        shared = {action.dest for action in parser._actions}
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        lines = [self.help, "", "verbs:"]
        self.commands = {}
        for verb, place in self.verbs.items():
            command = import_string(place)()
            command.name = f"{subcommand} {verb}"
            self.commands[verb] = command
            own = command.create_parser(prog_name, command.name, add_help=False)
            for action in own._actions:
                if action.dest in shared:
                    # Without it behind the verb, the value before the verb stays.
                    action.default = SUPPRESS
            verbs.add_parser(
                verb,
                parents=[own],
                description=own.description,
                formatter_class=own.formatter_class,
            )
            lines.append(f"  {verb:<{VERB_WIDTH}}{first_sentence(command.help)}")
        parser.description = "\n".join(lines)
        return parser

    def execute(self, *args, verb, **options):
        return self.commands[verb].execute(*args, **options)


def first_sentence(text: str) -> str:
    """
    Raises:
        ValueError: no sentence of the text ends with a full stop.
    """
    found = SENTENCE.match(text)
    if found is None:
        raise ValueError(f"no sentence: {text!r}")
    return " ".join(found[1].split())


def text_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of text, a line each; an absent value is a dash."""
    table = [columns, *([cell(row[name]) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(map(str.ljust, cells, widths)).rstrip() for cells in table
    )


def cell(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return "-" if value in (None, "") else str(value)


@contextmanager
def report_duration(stderr: OutputWrapper, name: str) -> Iterator[None]:
    """Say when a step is done how long it took; a terminal sees it begin, too."""
    began = monotonic()
    if stderr.isatty():
        stderr.write(f"  {name} …", lambda text: text, ending="\r")
    yield
    stderr.write(f"  {name:<52}{monotonic() - began:6.1f} s", lambda text: text)


@contextmanager
def counting() -> Iterator[Begin]:
    """A bar for each piece of work, on standard error where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:

        def begin(work: str, total: int) -> Advance:
            task = progress.add_task(work, total=total)
            return lambda done: progress.advance(task, done)

        yield begin


@contextmanager
def importing(file: Path, stderr: OutputWrapper) -> Iterator[None]:
    """End the command where the operator's file, or someone else, is in the way.

    Raises:
        CommandError: after every problem of the file has been written to stderr.
    """
    try:
        with lock_waits.name_locked_row():
            yield
            # Where nothing was new, an earlier run may have written it unconfirmed.
            confirm()
    except OSError as error:
        raise CommandError(
            f"{file} cannot be read: {error.strerror or error}."
        ) from None
    except WrongFileError as error:
        for problem in error.problems:
            stderr.write(str(problem) if problem.file else f"{file.name}, {problem}")
        count = error.count
        if untold := count - len(error.problems):
            stderr.write(f"and {untold:,} more")
        raise CommandError(
            f"{file.name} has {count:,} {'problem' if count == 1 else 'problems'}, "
            "listed above. Nothing was changed; correct the file and run this again."
        ) from None
    except DataError as error:
        raise CommandError(
            f"{file.name} contains data that the database cannot store: "
            f"{str(error).splitlines()[0]}. Nothing was changed."
        ) from None
    except IntegrityError as error:
        raise CommandError(
            f"Another process wrote at the same time: {str(error).splitlines()[0]}. "
            "Nothing was changed; run this again."
        ) from None
    except lock_waits.LockTimeout as error:
        raise CommandError(f"{error} Nothing was changed; run this again.") from None
