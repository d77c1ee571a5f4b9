"""Limited."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_limited(of_partner uuid, holds boolean)
RETURNS TABLE(orders bigint, open_value numeric) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
BEGIN
    IF holds THEN
        PERFORM pg_advisory_xact_lock(
            hashtextextended('limits of partner' || of_partner, 0));
    END IF;
    RETURN QUERY SELECT
        (SELECT count(*) FROM trading_order o
            WHERE o.partner_id = of_partner
                AND o.created_at > clock_timestamp() - interval '1 second'),
        (SELECT coalesce(sum((o.quantity - o.filled)::numeric * o.limit_price), 0)
            FROM trading_order o
            WHERE o.partner_id = of_partner AND o.status = 'OPEN');
END $$;
REVOKE ALL ON FUNCTION public.trading_limited(uuid, boolean) FROM PUBLIC;
"""

BACKWARD = r"""
DROP FUNCTION public.trading_limited(uuid, boolean);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0032_keep_refused"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
