"""What was changed in rows that people edit: triggers write it, no one changes it."""

import json
from typing import Any

from django.db import connection, models, transaction
from django.db.models.functions import Now

Of = models.Model | type[models.Model]
"""A row, or the table, where rows of several are meant."""


class RowChangeManager(models.Manager["RowChange"]):
    def note_export(self, of: Of, **said: Any) -> None:
        """Keep that someone takes out what a row holds, before they get it."""
        self.note("EXPORT", of, said)

    def note_import(self, of: Of, **said: Any) -> None:
        """Keep which file was imported into a row, where no row of its own says so."""
        self.note("IMPORT", of, said)

    def note(self, operation: str, of: Of, said: dict[str, Any]) -> None:
        row = str(of.pk) if isinstance(of, models.Model) else ""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT history_note(%s, %s, %s, %s)",
                [operation, of._meta.db_table, row, json.dumps(said)],
            )


class RowChange(models.Model):
    """A row that was made, changed or deleted; of a change, the columns that it has.

    Secrets are left out: it says only that they changed. EXPORT and IMPORT say which
    file left or came, of what the row is about.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now(), db_index=True)
    table_name = models.CharField(max_length=63)
    row_id = models.CharField(max_length=40)
    operation = models.CharField(max_length=6)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    who = models.CharField(max_length=254)
    source = models.CharField(
        max_length=200, help_text="The page or the command; SQL where none said it."
    )
    request_id = models.CharField(max_length=100, blank=True)

    objects = RowChangeManager()

    class Meta:
        indexes = [models.Index(fields=["row_id", "id"], name="row_change_of_row")]

    def __str__(self):
        return f"{self.operation} {self.table_name} {self.row_id}"
