from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("issuers", "0103_prices_of_offerings")]

    operations = [ValidateConstraint("offering", "offering_has_its_prices")]
