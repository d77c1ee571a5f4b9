-- Steps of a delivery are added before its release and never change.
-- called by: triggers
-- raises: restrict_violation
-- locks: issuers_deliveryjob (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.delivery_stays()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM issuers_deliveryjob WHERE id = NEW.job_id FOR UPDATE;
        IF NOT EXISTS (SELECT FROM issuers_deliveryjob
            WHERE id = NEW.job_id AND released_at IS NULL) THEN
            RAISE EXCEPTION 'Delivery % was released; it gets no further lines.',
                NEW.job_id USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.job_id, NEW.position, NEW.shareholder_ids, NEW.units, NEW.token_ids,
            NEW.user_ids) IS DISTINCT FROM (OLD.job_id, OLD.position,
            OLD.shareholder_ids, OLD.units, OLD.token_ids, OLD.user_ids) THEN
        RAISE EXCEPTION 'The lines of a delivery stay as they were frozen.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_stays() FROM PUBLIC;

CREATE OR REPLACE TRIGGER delivery_stays BEFORE INSERT OR UPDATE
    ON public.issuers_deliverystep FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.delivery_stays();
