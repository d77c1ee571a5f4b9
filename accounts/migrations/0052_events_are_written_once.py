"""Events are written once."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_count(lists text[], keys uuid[], changes bigint[], last boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
BEGIN
    IF NOT last THEN
        INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
        SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
        FROM unnest(lists, keys, changes) AS x (list, key, change) ORDER BY 2, 3
        ON CONFLICT (transaction, list, key) DO UPDATE
            SET change = c.change + excluded.change;
        RETURN;
    END IF;
    WITH noted AS (
        DELETE FROM accounts_totalchange
        WHERE transaction = pg_current_xact_id()::text::bigint
        RETURNING list, key, change
    ), summed AS MATERIALIZED (
        SELECT list, key, sum(change)::bigint AS change FROM (
            SELECT list, key, change FROM noted
            UNION ALL
            SELECT * FROM unnest(lists, keys, changes)
        ) x GROUP BY list, key HAVING sum(change) <> 0
    )
    -- A total that falls is there already; the number beside its key is never inserted.
    INSERT INTO accounts_total AS t (list, key, number)
    SELECT list, key, greatest(change, 0) FROM summed
    WHERE change > 0 OR EXISTS (SELECT FROM accounts_total o
        WHERE (o.list, o.key) = (summed.list, summed.key))
    ORDER BY list, key
    ON CONFLICT (list, key) DO UPDATE SET number = t.number + (
        SELECT s.change FROM summed s
        WHERE (s.list, s.key) = (excluded.list, excluded.key));
END $$;
REVOKE ALL ON FUNCTION public.accounts_count(text[], uuid[], bigint[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_count_accounts guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
            array_agg(number))
        FROM (SELECT partner_id, count(*) AS number FROM changed
            GROUP BY partner_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
            array_agg(-number))
        FROM (SELECT partner_id, count(*) AS number FROM changed
            GROUP BY partner_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_fold_totals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_totalchange'::regclass THEN
        RAISE EXCEPTION 'accounts_fold_totals guards accounts_totalchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_totalchange WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    PERFORM accounts_count(NULL, NULL, NULL, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_fold_totals() FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_count_accounts guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'accounts', partner_id, count(*) FROM changed GROUP BY partner_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'accounts', partner_id, -count(*) FROM changed GROUP BY partner_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_fold_totals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
DECLARE
    noted record;
BEGIN
    IF TG_RELID <> 'accounts_totalchange'::regclass THEN
        RAISE EXCEPTION 'accounts_fold_totals guards accounts_totalchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_totalchange WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    FOR noted IN SELECT list, key, change FROM accounts_totalchange
        WHERE transaction = pg_current_xact_id()::text::bigint ORDER BY list, key
    LOOP
        IF noted.change > 0 THEN
            INSERT INTO accounts_total AS t (list, key, number)
            VALUES (noted.list, noted.key, noted.change)
            ON CONFLICT (list, key) DO UPDATE SET number = t.number + noted.change;
        ELSE
            UPDATE accounts_total SET number = number + noted.change
            WHERE list = noted.list AND key = noted.key AND noted.change < 0;
        END IF;
    END LOOP;
    DELETE FROM accounts_totalchange WHERE transaction = pg_current_xact_id()::text::bigint;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_fold_totals() FROM PUBLIC;

DROP FUNCTION public.accounts_count(text[], uuid[], bigint[], boolean);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0051_cash_post"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
