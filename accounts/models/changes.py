"""What was changed in rows that people edit: triggers write it, nobody changes it."""

from django.db import models
from django.db.models.functions import Now


class RowChange(models.Model):
    """A row that was made, changed or deleted; of a change, the columns that it has.

    Secrets are left out: it says only that they changed.
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

    class Meta:
        indexes = [models.Index(fields=["row_id", "id"], name="row_change_of_row")]

    def __str__(self):
        return f"{self.operation} {self.table_name} {self.row_id}"
