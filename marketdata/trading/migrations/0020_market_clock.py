"""The lease of the market clock."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('trading', '0019_who_asked_markets'),
    ]

    operations = [
        migrations.CreateModel(
            name='ClockLease',
            fields=[
                ('id', models.SmallIntegerField(primary_key=True, serialize=False)),
                ('holder', models.CharField(help_text='Its host and its process.', max_length=300)),
                ('since', models.DateTimeField(help_text='When the holder took it.')),
                ('until', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='clock_lease_is_one')],
            },
        ),
    ]
