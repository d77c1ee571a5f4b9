-- Numbers the transaction's events for each partner that may read them, at the commit,
-- without gaps and with times that never run backwards.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: events by grants (advisory), events by grants (advisory, shared),
--     issuers_eventhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    gives boolean;
    asks boolean;
    taken timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_number guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT bool_or(type = 'GRANT_CHANGED'), bool_or(audience = 'GRANTED')
    INTO gives, asks FROM issuers_unnumberedevent
    WHERE transaction = pg_current_xact_id()::text::bigint
        AND EXISTS (SELECT FROM issuers_unnumberedevent WHERE id = NEW.id);
    IF gives IS NULL THEN
        RETURN NULL;
    ELSIF gives THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF asks THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    PERFORM FROM issuers_eventhead WHERE partner_id IN (
            SELECT p.id FROM issuers_unnumberedevent u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
            WHERE u.transaction = pg_current_xact_id()::text::bigint)
        ORDER BY partner_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint;
        RETURN NULL;
    END IF;
    taken := clock_timestamp();
    WITH happened AS (
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price, quantity, remaining, trade, reason)
        SELECT gen_random_uuid(), h.partner_id, h.last_sequence + row_number() OVER (
                PARTITION BY h.partner_id ORDER BY u.id),
            u.type, greatest(h.last_at, taken), coalesce(u.order_id, u.subject_id), u.issuer_id, u.token_id,
            u.account_id, u.ledger_sequence, u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM happened u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
        JOIN issuers_eventhead h ON h.partner_id = p.id
        RETURNING partner_id, sequence, at
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

DROP TRIGGER IF EXISTS events_number ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_number AFTER UPDATE OF leads
    ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.events_number();
