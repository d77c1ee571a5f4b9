-- A stored answer stays until it expires.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.partnerapi_keep_answers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF OLD.expires_at > clock_timestamp() THEN
        RAISE EXCEPTION 'The answer to key % is kept as it was given until %.',
            OLD.key, OLD.expires_at USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_keep_answers() FROM PUBLIC;

CREATE OR REPLACE TRIGGER partnerapi_keep_answers BEFORE UPDATE
    ON public.partnerapi_idempotencyrecord FOR EACH ROW
    EXECUTE FUNCTION public.partnerapi_keep_answers();
