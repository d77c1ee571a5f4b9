-- Keeps the former name of a holder, with the time at which it was replaced.
-- called by: triggers, erasure_erase
-- locks: names of holders (advisory)
CREATE OR REPLACE FUNCTION public.accounts_keep_names()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('names of holders', 0));
    INSERT INTO accounts_userholdername (holder_id, name, replaced_at)
    SELECT OLD.id, OLD.name, greatest(clock_timestamp(), max(n.replaced_at))
    FROM accounts_userholdername n WHERE n.holder_id = OLD.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_names() FROM PUBLIC;

DROP TRIGGER IF EXISTS accounts_keep_names ON public.accounts_userholder;
CREATE CONSTRAINT TRIGGER accounts_keep_names AFTER UPDATE OF name
    ON public.accounts_userholder DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.name <> old.name) EXECUTE FUNCTION public.accounts_keep_names();
