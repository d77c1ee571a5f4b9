-- Lines of Django's log have the time of the database's clock and stay, and so do the
-- users that they name.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.staff_log_stays()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'What staff did stays on the log, and so does user %. Clear '
            'is_active on the user instead.', OLD.user_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.action_time := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.staff_log_stays() FROM PUBLIC;

CREATE OR REPLACE TRIGGER staff_log_stays BEFORE INSERT OR DELETE
    ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.staff_log_stays();
