"""Contract: functions alone write what the release before wrote itself."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '250 ms';
LOCK TABLE public.marketdata_bookchange, public.marketdata_trade IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER marketdata_follow_changes ON public.marketdata_bookchange;

DROP TRIGGER trading_book_is_orders ON public.marketdata_bookchange;

DROP TRIGGER marketdata_follow_trades ON public.marketdata_trade;

DROP TRIGGER trading_tape_is_executions ON public.marketdata_trade;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '250 ms';
LOCK TABLE public.marketdata_bookchange, public.marketdata_trade IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER marketdata_follow_changes AFTER INSERT ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.marketdata_follow_changes();

CREATE OR REPLACE TRIGGER trading_book_is_orders AFTER INSERT ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_book_is_orders();

CREATE OR REPLACE TRIGGER marketdata_follow_trades AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.marketdata_follow_trades();

CREATE OR REPLACE TRIGGER trading_tape_is_executions AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_tape_is_executions();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0021_writers"),
        ("accounts", "0053_writers_alone"),
        ("issuers", "0068_writers_alone"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
