-- Triggers of history_record on tables of this room.

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE OF comp_id,
        partner_id, enabled
    ON public.marketdata_fixsession FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');
