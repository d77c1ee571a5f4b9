"""Contract: one function refuses changes."""

from django.db import migrations

FORWARD = r"""
DROP FUNCTION public.marketdata_refuse_change();

DROP FUNCTION public.register_refuse_change();
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.marketdata_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'A log is only appended to: % on % is refused. A change that was '
        'wrong is followed by another one.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.marketdata_refuse_change() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'The register is for ever: % on % is refused. A mistake gets a '
        'reversal, a price a later price.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_refuse_change() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0014_ids_of_sequences"),
        ("accounts", "0045_one_function_refuses_changes"),
        ("issuers", "0063_one_function_refuses_changes"),
        ("marketdata", "0018_one_function_refuses_changes"),
        ("trading", "0011_one_function_refuses_changes"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
