-- Lines of Django's log stay, and so do the users that they name.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.staff_log_stays()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'What staff did stays on the log, and so does user %. Clear '
        'is_active on the user instead.', OLD.user_id
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.staff_log_stays() FROM PUBLIC;

CREATE OR REPLACE TRIGGER staff_log_stays BEFORE DELETE ON public.django_admin_log
    FOR EACH ROW EXECUTE FUNCTION public.staff_log_stays();
