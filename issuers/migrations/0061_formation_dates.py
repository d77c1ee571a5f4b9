"""The day on which an issuer was formed, which Open Cap Table packages state."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):

    dependencies = [('issuers', '0060_lines_that_anybody_made')]

    operations = [
        migrations.AddField(
            model_name='issuer',
            name='formation_date',
            field=models.DateField(blank=True, help_text='Day on which the company was formed; an Open Cap Table package of the issuer states it.', null=True),
        ),
        AddConstraintNotValid(
            model_name='issuer',
            constraint=models.CheckConstraint(condition=models.Q(('formation_date__isnull', True), ('formation_date__lte', Now()), _connector='OR'), name='issuer_was_formed_before_now', violation_error_message='The formation date is in the future.'),
        ),
    ]
