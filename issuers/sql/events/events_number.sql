-- Numbers the transaction's events at the commit: the first one, which has left the
-- table, and those that are left there.
-- called by: events_write, triggers
CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    told record;
BEGIN
    WITH others AS (
        DELETE FROM issuers_unnumberedevent
        WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    )
    SELECT array_agg(u.audience::text ORDER BY u.id) AS audiences,
        array_agg(u.partner_id ORDER BY u.id) AS partners,
        array_agg(u.type::text ORDER BY u.id) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id) ORDER BY u.id) AS subjects,
        array_agg(u.issuer_id ORDER BY u.id) AS issuers,
        array_agg(u.token_id ORDER BY u.id) AS tokens,
        array_agg(u.account_id ORDER BY u.id) AS accounts,
        array_agg(u.ledger_sequence ORDER BY u.id) AS ledger_sequences,
        array_agg(u.order_event ORDER BY u.id) AS order_events,
        array_agg(u.price ORDER BY u.id) AS prices,
        array_agg(u.quantity ORDER BY u.id) AS quantities,
        array_agg(u.remaining ORDER BY u.id) AS remainings,
        array_agg(u.trade ORDER BY u.id) AS trades,
        array_agg(u.reason::text ORDER BY u.id) AS reasons INTO told
    FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) u;
    PERFORM events_write(told.audiences, told.partners, told.kinds, told.subjects,
        told.issuers, told.tokens, told.accounts, told.ledger_sequences,
        told.order_events, told.prices, told.quantities, told.remainings, told.trades,
        told.reasons, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

DROP TRIGGER IF EXISTS events_number ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_number AFTER DELETE
    ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.leads) EXECUTE FUNCTION public.events_number();
