-- Adds the transaction's changes of list lengths to their totals, in the order of their
-- keys, and removes the notes.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_fold_totals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
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

DROP TRIGGER IF EXISTS accounts_fold_totals ON public.accounts_totalchange;
CREATE CONSTRAINT TRIGGER accounts_fold_totals AFTER INSERT
    ON public.accounts_totalchange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.accounts_fold_totals();
ALTER TABLE public.accounts_totalchange ENABLE ALWAYS TRIGGER accounts_fold_totals;
