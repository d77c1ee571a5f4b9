-- Times each line of Django's log by the database's clock.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.staff_log_has_its_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'django_admin_log'::regclass THEN
        RAISE EXCEPTION 'staff_log_has_its_time guards django_admin_log, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.action_time := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.staff_log_has_its_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER staff_log_has_its_time BEFORE INSERT
    ON public.django_admin_log FOR EACH ROW
    EXECUTE FUNCTION public.staff_log_has_its_time();
