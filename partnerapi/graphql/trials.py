"""Rows that a mutation would write, in the answer of its dry run."""

from typing import Any
from uuid import UUID

from django.db import models

Trial = dict[tuple[str, str], "WouldBeRow"]
"""By type of the schema, and id."""


class WouldBeRow:
    """The columns of a row that is not there, as of one that is read."""

    def __init__(self, graphql_type: str, instance: models.Model) -> None:
        self.graphql_type = graphql_type
        for field in instance._meta.concrete_fields:
            value: Any = getattr(instance, field.attname)
            as_read = str(value) if isinstance(value, UUID) else value
            setattr(self, field.attname, as_read)


def would_be(trial: Trial, graphql_type: str, instance: models.Model) -> None:
    """Keep this object where the answer finds it by its id."""
    trial[graphql_type, str(instance.pk)] = WouldBeRow(graphql_type, instance)
