-- Tells all partners about changed financial data.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['FINANCIAL_DATA_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_figures_changed AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuerfinancialdata FOR EACH ROW
    EXECUTE FUNCTION public.events_figures_changed();
