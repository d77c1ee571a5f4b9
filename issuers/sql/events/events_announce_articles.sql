-- Tells all partners about articles whose time of publication has come. Returns how
-- many.
-- called by: application
-- locks: issuers_articletocome (FOR UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.events_announce_articles()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    announced bigint;
    articles uuid[];
    issuers uuid[];
BEGIN
    PERFORM accounts_read_committed();
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    SELECT count(*), array_agg(a.id ORDER BY a.published_at),
        array_agg(a.issuer_id ORDER BY a.published_at)
        INTO announced, articles, issuers
    FROM come JOIN issuers_article a ON a.id = come.article_id;
    PERFORM events_write(array_fill('ALL'::text, ARRAY[announced::integer]), NULL,
        array_fill('ARTICLE_PUBLISHED'::text, ARRAY[announced::integer]), articles,
        issuers, NULL, NULL);
    RETURN announced;
END $$;
REVOKE ALL ON FUNCTION public.events_announce_articles() FROM PUBLIC;
