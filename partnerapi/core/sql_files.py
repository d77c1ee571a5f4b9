"""The SQL that the database runs, as files: one function or one view a file.

`<app>/sql/<room>/<name>.sql` holds a whole CREATE OR REPLACE, what PUBLIC may not do,
and the triggers below it. The comment above is the contract. `psql` runs each file, as
the owner of the tables. A file may hold nothing but triggers: those that an app has of
a function of another app.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

from partnerapi.core.sql_objects import (
    SqlFunction,
    SqlTrigger,
    SqlView,
    bare,
    respace,
    uncast,
)

ROOMS = {
    "accounts": "accounts/sql/*",
    "issuers": "issuers/sql/*",
    "marketdata": "marketdata/sql/books",
    "trading": "marketdata/sql/trading",
    "partnerapi": "partnerapi/sql/*",
}
"""Where the files of each app are, by its label. An app builds on those before it."""

FUNCTION = re.compile(
    r"^CREATE OR REPLACE FUNCTION public\.(?P<name>\w+)\((?P<arguments>[^;]*?)\)\n"
    r"RETURNS (?P<result>[^;]*?)\sLANGUAGE (?P<attributes>[^\n]*)\n"
    r"(?P<settings>(?:SET [^\n]*\n)*)AS \$\$(?P<body>.*?)\$\$;\n"
    r"(?P<revoke>REVOKE ALL ON FUNCTION public\.(?P=name)\([^;]*\)\s+"
    r"FROM\s+PUBLIC;\n)?",
    re.DOTALL | re.MULTILINE,
)
TRIGGER = re.compile(
    r"^CREATE (?:OR REPLACE |(?P<deferred>CONSTRAINT ))TRIGGER (?P<name>\w+)\s[^;]*?"
    r"\sON public\.(?P<table>\w+)\s[^;]*;",
    re.MULTILINE,
)
VIEW = re.compile(
    r"^CREATE OR REPLACE VIEW public\.(?P<name>\w+) AS\n(?P<query>.*?;)$",
    re.MULTILINE | re.DOTALL,
)
ALWAYS = "ALTER TABLE public.{table} ENABLE ALWAYS TRIGGER {name};"
CALLERS = re.compile(r"^-- called by: (.*(?:\n--     .*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SqlFile:
    path: Path
    text: str

    @property
    def callers(self) -> list[str]:
        """Roles that may call it (application, release before, anyone, owner),
        triggers, functions."""
        found = CALLERS.search(self.text)
        return respace(found[1].replace("\n--", "")).split(", ") if found else []

    def functions(self) -> Iterator[SqlFunction]:
        for found in FUNCTION.finditer(self.text):
            yield SqlFunction(
                name=found["name"],
                arguments=respace(found["arguments"]),
                result=respace(found["result"]),
                attributes=found["attributes"],
                settings=tuple(
                    line.removeprefix("SET ").replace(" = ", "=", 1).replace("'", "")
                    for line in found["settings"].splitlines()
                ),
                body=found["body"],
                is_public=found["revoke"] is None,
            )

    def triggers(self) -> Iterator[SqlTrigger]:
        for found in TRIGGER.finditer(FUNCTION.sub("", self.text)):
            named = {"name": found["name"], "table": found["table"]}
            says = uncast(found[0].removesuffix(";").replace("OR REPLACE ", ""))
            always = ALWAYS.format(**named) in self.text
            yield SqlTrigger(**named, says=says, state="A" if always else "O")

    def views(self) -> Iterator[SqlView]:
        for found in VIEW.finditer(self.text):
            query = respace(found["query"])
            yield SqlView(found["name"], query, bare(query))

    def objects(self) -> Iterator[SqlFunction | SqlTrigger | SqlView]:
        yield from self.functions()
        yield from self.triggers()
        yield from self.views()


@cache
def sql_files() -> dict[str, list[SqlFile]]:
    """The files of each app, by its label, those that it builds on first.

    Files without triggers come first: the conditions of triggers call their functions.
    """
    return {
        label: sorted(
            (
                SqlFile(path, path.read_text())
                for path in Path(settings.BASE_DIR).glob(f"{rooms}/*.sql")
            ),
            key=lambda file: (any(file.triggers()), file.path),
        )
        for label, rooms in ROOMS.items()
    }


def every_file() -> Iterator[SqlFile]:
    for files in sql_files().values():
        yield from files
