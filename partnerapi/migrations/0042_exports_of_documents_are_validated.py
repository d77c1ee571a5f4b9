from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0041_exports_of_documents")]

    operations = [ValidateConstraint("export", "export_names_what_it_is_of")]
