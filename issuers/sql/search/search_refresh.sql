-- Brings an issuer's terms up to date, under the lock of its empty term.
-- called by: register_follow_issuer, register_follow_token, search_owner_changed
-- locks: issuers_issuerterm (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.search_refresh(wanted uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    terms text[];
    privates boolean[];
    folded text;
BEGIN
    PERFORM FROM issuers_issuerterm WHERE issuer_id = wanted AND term = '' FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT t.term, t.name, wanted, t.private FROM search_terms(wanted) t;
        RETURN;
    END IF;
    SELECT array_agg(t.term), max(t.name), array_agg(t.private)
        INTO terms, folded, privates FROM search_terms(wanted) t;
    DELETE FROM issuers_issuerterm k
        WHERE issuer_id = wanted AND term <> '' AND NOT EXISTS (
            SELECT FROM unnest(terms, privates) AS t (term, private)
            WHERE t.term = k.term AND folded = k.name AND t.private = k.private);
    UPDATE issuers_issuerterm SET name = folded
        WHERE issuer_id = wanted AND term = '' AND name <> folded;
    INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
        SELECT t.term, folded, wanted, t.private
        FROM unnest(terms, privates) AS t (term, private)
        ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.search_refresh(uuid) FROM PUBLIC;
