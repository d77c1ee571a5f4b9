-- Opens the head of a new partner's events.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.events_open_head()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    INSERT INTO issuers_eventhead (partner_id, last_sequence, pruned_sequence)
        VALUES (NEW.id, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_open_head() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_open_head AFTER INSERT ON public.accounts_partner
    FOR EACH ROW EXECUTE FUNCTION public.events_open_head();
