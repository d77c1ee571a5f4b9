"""One function refuses changes."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE TRIGGER marketdata_keep_trades BEFORE DELETE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_bookchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_orderbookhead FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_tradingday FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""

BACKWARD = r"""
CREATE OR REPLACE TRIGGER marketdata_keep_trades BEFORE DELETE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_bookchange FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_orderbookhead FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_tradingday FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0017_silent_writers"),
        ("accounts", "0045_one_function_refuses_changes"),
        ("issuers", "0063_one_function_refuses_changes"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
