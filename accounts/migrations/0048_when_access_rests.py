"""Reads once when a person was appointed, and not for each change of the person."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_rests_until(whom uuid, moment timestamp with time zone)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT max(c.at) + interval '24 hours' FROM accounts_staffchange c
        WHERE c.person_id = whom AND c.what <> 'APPOINTED'
            AND c.at > moment - interval '24 hours' AND c.at <= moment
            AND c.id > (SELECT coalesce(max(a.id), 0) FROM accounts_staffchange a
                WHERE a.person_id = whom AND a.what = 'APPOINTED'));
END $$;
REVOKE ALL ON FUNCTION public.approvals_rests_until(uuid, timestamp with time zone) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_rests_until(whom uuid, moment timestamp with time zone)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT max(c.at) + interval '24 hours' FROM accounts_staffchange c
        WHERE c.person_id = whom AND c.what <> 'APPOINTED'
            AND c.at > moment - interval '24 hours' AND c.at <= moment
            AND NOT EXISTS (SELECT FROM accounts_staffchange a
                WHERE a.person_id = whom AND a.what = 'APPOINTED' AND a.id > c.id));
END $$;
REVOKE ALL ON FUNCTION public.approvals_rests_until(uuid, timestamp with time zone) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0047_reworded_refusals"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
