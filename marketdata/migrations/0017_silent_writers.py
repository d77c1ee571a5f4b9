from django.db import migrations, models

from partnerapi.core.guards import function, granted_as

LOCKED = "marketdata_lock_book(uuid)"

# A head that somebody is writing is not waited for: it is heard of a second later.
HEAR = function(
    "marketdata_hear(tokens uuid[])",
    "void",
    """
    UPDATE marketdata_orderbookhead h SET heard_at = clock_timestamp()
    FROM (
        SELECT token_id FROM marketdata_orderbookhead
        WHERE token_id = ANY (tokens) AND source = 'EXTERNAL'
        ORDER BY token_id FOR NO KEY UPDATE SKIP LOCKED
    ) followed
    WHERE h.token_id = followed.token_id;
    """,
) + granted_as("marketdata_hear(uuid[])", LOCKED)


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0016_sessions_are_asked")]

    operations = [
        migrations.AddField(
            model_name="orderbookhead",
            name="heard_at",
            field=models.DateTimeField(
                editable=False,
                help_text='When its writer last confirmed that it follows its venue; none: never.',
                null=True,
            ),
        ),
        migrations.RunSQL(HEAR, "DROP FUNCTION marketdata_hear(uuid[])"),
    ]
