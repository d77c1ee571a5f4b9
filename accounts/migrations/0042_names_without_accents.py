"""People are found without accents, and applicants by what their partner said."""

from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models

from accounts.people.models import Folded
from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0041_exports_and_imports_are_kept"),
        ("issuers", "0045_no_shadows"),
    ]

    operations = [
        *(
            AddIndexBeside(
                "user",
                models.Index(
                    OpClass(Folded(field), "text_pattern_ops"),
                    name=f"user_{field}_folded",
                ),
            )
            for field in ("first_name", "last_name", "company_name")
        ),
        AddIndexBeside(
            "applicant",
            models.Index(
                fields=["email"],
                opclasses=["varchar_pattern_ops"],
                name="applicant_email_prefix",
            ),
        ),
        AddIndexBeside(
            "applicant",
            models.Index(
                fields=["lei"],
                condition=models.Q(lei__isnull=False),
                name="applicant_lei",
            ),
        ),
    ]
