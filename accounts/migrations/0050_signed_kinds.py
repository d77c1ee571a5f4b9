"""Kinds of requests that are decided with a passkey, once the first one counts."""

from django.db import migrations

SIGNED = ("MINT", "REVERSAL", "KEY", "STATEMENT", "WITHDRAWAL", "ASSIGNMENT")


def require_passkeys(apps, schema_editor):
    policies = apps.get_model("accounts", "ApprovalPolicy").objects
    using = schema_editor.connection.alias
    policies.using(using).filter(kind__in=SIGNED).update(allows_code=False)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0049_passkeys")]

    operations = [
        migrations.RunPython(
            require_passkeys, migrations.RunPython.noop, atomic=False
        )
    ]
