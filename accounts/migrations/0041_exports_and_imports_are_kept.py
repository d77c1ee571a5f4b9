"""Keeps in the log who imported which file, and who took which register out."""

from django.db import migrations, models

from partnerapi.core.guards import drop, function, history_of

# Nothing is written when somebody reads, so that no trigger could tell.
NOTE = function(
    "history_note(operation text, of_table text, of_row text, said jsonb)",
    "void",
    """
    IF operation NOT IN ('EXPORT', 'IMPORT') THEN
        RAISE EXCEPTION 'Triggers keep each %.', operation
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_rowchange
        (at, table_name, row_id, operation, before, after, who, source, request_id)
    VALUES (clock_timestamp(), left(of_table, 63), left(of_row, 40), operation, NULL,
        said, left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200),
        left(coalesce(author ->> 'request', ''), 100));
    """,
    declare="author jsonb := "
    "nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;",
)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0040_approvals_of_registers")]

    operations = [
        migrations.AddField(
            "holderimport",
            "line_count",
            models.PositiveIntegerField(null=True, editable=False),
        ),
        migrations.RunSQL(NOTE, drop("history_note(text, text, text, jsonb)")),
        history_of("accounts_holderimport", "INSERT", left_out="created_at"),
    ]
