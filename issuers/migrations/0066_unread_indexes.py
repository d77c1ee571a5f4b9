"""Contract: indexes that no statement reads go.

Beside each unique index Django has another one for LIKE. No statement looks for what
these columns begin with, and the unique one answers all others.
The slug of an article is looked for within its issuer.
"""

from django.core.validators import RegexValidator
from django.db import migrations, models

from partnerapi.core.migrating import DropIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0065_entry_kinds_are_rows")]

    operations = [
        DropIndexBeside(
            "issuers_issuer_country_id_8fb18b67_like",
            "issuers_issuer (country_id varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "issuers_issuer_slug_7e8748d9_like",
            "issuers_issuer (slug varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "issuers_token_isin_9d1b9890_like",
            "issuers_token (isin varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "issuers_token_symbol_eedd1a5b_like",
            "issuers_token (symbol varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "issuers_article_slug_5c411a45_like",
            "issuers_article (slug varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "issuers_article_slug_5c411a45",
            "issuers_article (slug)",
            [
                migrations.AlterField(
                    "article",
                    "slug",
                    models.SlugField(
                        max_length=100,
                        db_index=False,
                        validators=[RegexValidator(r"^[a-z0-9]+(-[a-z0-9]+)*$")],
                        help_text="URL-friendly identifier, unique within the issuer.",
                    ),
                )
            ],
        ),
    ]
