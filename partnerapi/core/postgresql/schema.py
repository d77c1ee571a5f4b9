"""Tables as models describe them, without indexes that no statement reads."""

from typing import Any

from django.db.backends.postgresql import schema

LOOKED_FOR_BY_BEGINNING = {
    "accounts_user": "email",
    "issuers_industryclassificationbenchmark": "subsector_code",
}
"""Of our tables, the columns of which statements look for a beginning."""
APPS = ("accounts", "issuers", "marketdata", "trading", "partnerapi")


class SchemaEditor(schema.DatabaseSchemaEditor):  # type: ignore[misc]
    """Makes no second index for LIKE beside that of a unique column or foreign key."""

    def _create_like_index_sql(self, model: Any, field: Any) -> Any:
        about = model._meta
        if about.app_label in APPS and (
            LOOKED_FOR_BY_BEGINNING.get(about.db_table) != field.column
        ):
            return None
        return super()._create_like_index_sql(model, field)  # type: ignore[misc]
