-- Tells all partners about a published article that is made, changed or removed, and
-- schedules one to come.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['ARTICLE_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_article_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_article_changed AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_article FOR EACH ROW
    EXECUTE FUNCTION public.events_article_changed();
