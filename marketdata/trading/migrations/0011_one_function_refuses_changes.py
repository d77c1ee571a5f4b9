"""One function refuses changes."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_bust FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_execution FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_orderevent FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_market FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_order FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""

BACKWARD = r"""
CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_bust FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_execution FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_orderevent FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_market FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_order FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0010_counted_orders"),
        ("accounts", "0045_one_function_refuses_changes"),
        ("issuers", "0063_one_function_refuses_changes"),
        ("marketdata", "0018_one_function_refuses_changes"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
