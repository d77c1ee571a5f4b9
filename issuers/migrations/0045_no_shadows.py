"""Has checks believe no type that a session made for itself."""

from django.db import migrations

from partnerapi.core.guards import without_shadows


class Migration(migrations.Migration):
    dependencies = [("issuers", "0044_read_committed")]

    operations = [
        without_shadows(
            "isin_is_valid(text)",
            "register_digest(text)",
            "register_rule_is_valid(text, jsonb)",
            "search_beginnings(text)",
            "search_fold(text)",
            "search_words(text)",
        ),
    ]
