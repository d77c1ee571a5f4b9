-- Adds the transaction's changes of list lengths to their totals, in the order of their
-- keys, and removes the notes.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.accounts_fold_totals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM accounts_totalchange WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    PERFORM accounts_count(NULL, NULL, NULL, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_fold_totals() FROM PUBLIC;

DROP TRIGGER IF EXISTS accounts_fold_totals ON public.accounts_totalchange;
CREATE CONSTRAINT TRIGGER accounts_fold_totals AFTER INSERT
    ON public.accounts_totalchange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.accounts_fold_totals();
ALTER TABLE public.accounts_totalchange ENABLE ALWAYS TRIGGER accounts_fold_totals;
