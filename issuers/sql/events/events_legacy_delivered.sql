-- Tells partners with a grant about delivered legacy shares.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'LEGACY_SHARES_DELIVERED', e.id, e.issuer_id,
        e.token_id, NULL::uuid, e.ledger_seq
    FROM entered e WHERE e.status = 'DELIVERED' ORDER BY e.ledger_seq 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_legacy_delivered AFTER UPDATE
    ON public.issuers_legacyshareholder REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_legacy_delivered();
