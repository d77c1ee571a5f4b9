"""Arguments that narrow a list: a set of filters for each list, by django-filter."""

import re
from typing import Any

import django_filters
from django.db import models

from partnerapi.core.errors import BadUserInput

MOST_CODES = 100
"""Codes that one argument may hold."""
CODE = r"[A-Za-z0-9][A-Za-z0-9.-]{0,19}"
"""A symbol, an ISIN, an LEI: the database has them in capitals."""


def narrow(
    filters: type[django_filters.FilterSet],
    rows: models.QuerySet[Any],
    caller: Any,
    **given: Any,
) -> models.QuerySet[Any]:
    """The rows that fulfil the arguments; a null argument does not narrow.

    Filters may ask `self.request`, which is the caller.

    Raises:
        BadUserInput: a filter refuses its argument; `argument` names it.
    """
    if all(value is None for value in given.values()):
        return rows
    asked = filters(given, rows, request=caller)
    for name, problems in asked.errors.items():
        raise BadUserInput(problems[0], argument=argument_name(name))
    return asked.qs


def argument_name(name: str) -> str:
    return re.sub("_(.)", lambda match: match[1].upper(), name)


def as_code(text: str) -> str | None:
    """A code as the database has it; None: no code looks like this."""
    return text.upper() if re.fullmatch(CODE, text) else None


class CodesFilter(django_filters.Filter):
    """Rows that a method finds by codes; no codes find no rows.

    The method gets the queryset and the codes, in capitals.
    """

    def __init__(self, finder: str) -> None:
        super().__init__()
        self.finder = finder

    def filter(
        self, rows: models.QuerySet[Any], codes: list[str] | None
    ) -> models.QuerySet[Any]:
        if codes is None:
            return rows
        if len(codes) > MOST_CODES:
            raise BadUserInput(
                f"`{self.field_name}` has {len(codes)} codes; pass at most "
                f"{MOST_CODES}.",
                argument=self.field_name,
                maximum=MOST_CODES,
            )
        known = {code for code in map(as_code, codes) if code}
        find = getattr(self.parent, self.finder)
        return find(rows, known) if known else rows.none()
