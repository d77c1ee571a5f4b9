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
    SELECT array_agg(u.audience::text) AS audiences,
        array_agg(u.partner_id) AS partners,
        array_agg(u.type::text) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id)) AS subjects,
        array_agg(u.issuer_id) AS issuers,
        array_agg(u.token_id) AS tokens,
        array_agg(u.account_id) AS accounts,
        array_agg(u.ledger_sequence) AS ledger_sequences,
        array_agg(u.order_event) AS order_events,
        array_agg(u.price) AS prices,
        array_agg(u.quantity) AS quantities,
        array_agg(u.remaining) AS remainings,
        array_agg(u.trade) AS trades,
        array_agg(u.reason::text) AS reasons INTO told
    FROM (
        -- Sorted once, not for each list.
        SELECT * FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) a ORDER BY a.id
    ) u;
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
