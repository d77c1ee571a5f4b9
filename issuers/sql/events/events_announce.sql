-- Takes the first of a transaction's events from the table, in the first round of its
-- commit: the second, behind all other checks, numbers them.
-- called by: events_write, triggers
CREATE OR REPLACE FUNCTION public.events_announce()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    DELETE FROM issuers_unnumberedevent WHERE id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_announce() FROM PUBLIC;

DROP TRIGGER IF EXISTS events_announce ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_announce AFTER INSERT
    ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.leads) EXECUTE FUNCTION public.events_announce();
