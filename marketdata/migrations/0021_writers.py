"""Functions write prices of external books; triggers leave writers alone."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '250 ms';
LOCK TABLE public.marketdata_bookchange, public.marketdata_trade IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.marketdata_price(token uuid, actor text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    cents bigint;
    traded_at timestamptz;
    taken timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT t.price_cents, t.at INTO cents, traded_at FROM marketdata_trade t
    JOIN marketdata_orderbookhead h ON h.token_id = t.token_id AND h.source <> 'OWN'
    WHERE t.token_id = token ORDER BY t.sequence DESC LIMIT 1;
    IF (traded_at >= transaction_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'Token % has no trade of this transaction on a book of a feed.',
            token USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(ARRAY[token]);
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
    taken := clock_timestamp();
    PERFORM register_post(taken, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        ARRAY[token], ARRAY[cents], ARRAY['TRADE'], ARRAY[actor], '{}', '{}', '{}');
    RETURN taken;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_price(uuid, text) FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_follow_changes AFTER INSERT ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.marketdata_follow_changes();

CREATE OR REPLACE TRIGGER marketdata_follow_trades AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.marketdata_follow_trades();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '250 ms';
LOCK TABLE public.marketdata_bookchange, public.marketdata_trade IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER marketdata_follow_changes AFTER INSERT ON public.marketdata_bookchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_follow_changes();

CREATE OR REPLACE TRIGGER marketdata_follow_trades AFTER INSERT ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_follow_trades();

DROP FUNCTION public.marketdata_price(uuid, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0020_unread_indexes"),
        ("accounts", "0052_writers"),
        ("issuers", "0067_writers"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
