from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("issuers", "0061_formation_dates")]

    operations = [ValidateConstraint("issuer", "issuer_was_formed_before_now")]
