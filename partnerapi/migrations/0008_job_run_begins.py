from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('partnerapi', '0007_failed_sign_ins'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='jobrun',
            name='job_run_result_is_known',
        ),
        migrations.AlterField(
            model_name='jobrun',
            name='result',
            field=models.CharField(choices=[('BEGUN', 'Begun'), ('DONE', 'Done'), ('FAILED', 'Failed')], max_length=6),
        ),
        migrations.AddConstraint(
            model_name='jobrun',
            constraint=models.CheckConstraint(condition=models.Q(('result__in', ['BEGUN', 'DONE', 'FAILED'])), name='job_run_result_is_known'),
        ),
    ]
