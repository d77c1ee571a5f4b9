"""Contract: scopes of keys are rows; a trigger judges new keys instead of a constraint.

The release before needs no constraint: it offers only scopes that the rows have.
"""

import django.contrib.postgres.fields
from django.db import migrations, models

ROWS = """
INSERT INTO accounts_keyscope (name) VALUES
    ('issuers:read'), ('captable:read'), ('shareholders:read'), ('accounts:read'),
    ('accounts:write'), ('marketdata:read'), ('trading:read'), ('trading:write'),
    ('cash:read'), ('cash:write'), ('compliance:read'), ('compliance:write');
"""
FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_judge_scopes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION
            'accounts_judge_scopes guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT NEW.scopes <@ ARRAY(SELECT s.name FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
            'manage.py migrate writes the scopes of a new release.', NEW.scopes
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_judge_scopes() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_judge_scopes BEFORE INSERT
    ON public.accounts_apikey FOR EACH ROW
    EXECUTE FUNCTION public.accounts_judge_scopes();
"""
BACKWARD = r"""
DROP TRIGGER IF EXISTS accounts_judge_scopes ON public.accounts_apikey;
DROP FUNCTION IF EXISTS public.accounts_judge_scopes();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0045_one_function_refuses_changes"),
    ]

    operations = [
        migrations.CreateModel(
            name="KeyScope",
            fields=[
                (
                    "name",
                    models.CharField(max_length=20, primary_key=True, serialize=False),
                ),
            ],
        ),
        migrations.RunSQL(ROWS, migrations.RunSQL.noop),
        migrations.RemoveConstraint("apikey", "api_key_scopes_are_known"),
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.AlterField(
            "apikey",
            "scopes",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=20), size=None
            ),
        ),
    ]
