"""Name commands of today."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.marketdata_bookchange_keep()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, number %s', r.token_id, r.last) INTO wrong
    FROM (
        SELECT token_id, max(sequence) AS last FROM removed GROUP BY token_id
    ) r
    WHERE (r.last <= (
        SELECT min(sequence) FROM marketdata_booksnapshot s
        WHERE s.token_id = r.token_id
    )) IS NOT TRUE OR EXISTS (
        SELECT FROM marketdata_bookchange b WHERE b.token_id = r.token_id AND b.sequence < r.last
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Of a log only the beginning goes, as far as every snapshot '
            'covers it (prune book-log); DELETE on % is refused: %.', TG_TABLE_NAME,
            wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_bookchange_keep() FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.marketdata_bookchange_keep()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, number %s', r.token_id, r.last) INTO wrong
    FROM (
        SELECT token_id, max(sequence) AS last FROM removed GROUP BY token_id
    ) r
    WHERE (r.last <= (
        SELECT min(sequence) FROM marketdata_booksnapshot s
        WHERE s.token_id = r.token_id
    )) IS NOT TRUE OR EXISTS (
        SELECT FROM marketdata_bookchange b WHERE b.token_id = r.token_id AND b.sequence < r.last
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Of a log only the beginning goes, as far as every snapshot '
            'covers it (prune_book_log); DELETE on % is refused: %.', TG_TABLE_NAME,
            wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_bookchange_keep() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0018_one_function_refuses_changes"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
