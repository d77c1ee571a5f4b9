"""Contract: no trigger repeats what a writer does, and one of a table does what two did."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.marketdata_trade IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER marketdata_keep_trades ON public.marketdata_trade;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.marketdata_trade IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_keep_trades BEFORE DELETE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0022_writers_alone"),
        ("accounts", "0057_triggers_tell_no_more"),
        ("issuers", "0070_triggers_tell_no_more"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
