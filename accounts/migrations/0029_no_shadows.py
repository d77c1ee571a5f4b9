"""Has checks believe no type that a session made for itself."""

from django.db import migrations

from partnerapi.core.guards import without_shadows


class Migration(migrations.Migration):
    dependencies = [("accounts", "0028_requests_are_taken_back")]

    operations = [
        without_shadows(
            "accounts_raises(text, timestamptz, text, text, text, timestamptz, text,"
            " text)",
            "cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamptz, text,"
            " bigint, bigint, uuid, text, text)",
            "lei_is_valid(text)",
        ),
    ]
