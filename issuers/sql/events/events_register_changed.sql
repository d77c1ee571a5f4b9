-- Tells partners with a grant about entries that no trade made.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'REGISTER_CHANGED', e.token_id,
        t.issuer_id, e.token_id, NULL::uuid, e.seq
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE' GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_register_changed AFTER INSERT
    ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_register_changed();
