from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0020_exports_of_every_connection")]

    operations = [ValidateConstraint("export", "export_names_what_it_is_of")]
