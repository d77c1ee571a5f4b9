-- Tells all partners about changed financial data.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuerfinancialdata'::regclass THEN
        RAISE EXCEPTION 'events_figures_changed guards issuers_issuerfinancialdata, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'FINANCIAL_DATA_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_figures_changed AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuerfinancialdata FOR EACH ROW
    EXECUTE FUNCTION public.events_figures_changed();
