"""Contract: no trigger repeats what a writer does, and one of a table does what two did."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.trading_bust IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER trading_count_day_anew ON public.trading_bust;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.trading_bust IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER trading_count_day_anew AFTER INSERT ON public.trading_bust FOR EACH ROW EXECUTE FUNCTION public.trading_count_day_anew();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0017_told_by_writers"),
        ("accounts", "0057_triggers_tell_no_more"),
        ("issuers", "0070_triggers_tell_no_more"),
        ("marketdata", "0023_triggers_tell_no_more"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
