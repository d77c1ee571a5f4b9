"""Direct statements."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_written_directly()
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT current_user <> pg_get_userbyid(c.relowner) FROM pg_class c
        WHERE c.oid = 'public.accounts_cashhead'::regclass
$$;
GRANT EXECUTE ON FUNCTION public.accounts_written_directly() TO PUBLIC;
"""

BACKWARD = r"""
DROP FUNCTION public.accounts_written_directly();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0048_when_access_rests"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
