from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0035_exports_of_refused_orders")]

    operations = [ValidateConstraint("export", "export_names_what_it_is_of")]
