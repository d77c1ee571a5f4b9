-- Triggers of history_record (accounts/sql/history) on tables of this app.

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE OF comp_id,
        partner_id, enabled
    ON public.marketdata_fixsession FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');
