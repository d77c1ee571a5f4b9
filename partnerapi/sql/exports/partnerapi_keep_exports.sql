-- What an export was asked for stays, and its status moves forward only.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.partnerapi_keep_exports()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF (NEW.id, NEW.partner_id, NEW.connection, NEW.issuer_id, NEW.token_id,
            NEW.account_id, NEW.last_sequence, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.partner_id, OLD.connection, OLD.issuer_id,
            OLD.token_id, OLD.account_id, OLD.last_sequence, OLD.created_at)
    THEN
        RAISE EXCEPTION 'What export % was asked for stays as it is.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.status, NEW.status) NOT IN (
        ('WAITING', 'WAITING'), ('WAITING', 'RUNNING'), ('WAITING', 'FAILED'),
        ('RUNNING', 'RUNNING'), ('RUNNING', 'READY'), ('RUNNING', 'FAILED'),
        ('READY', 'EXPIRED'))
    THEN
        RAISE EXCEPTION 'Export % is % and cannot become %.', OLD.id, OLD.status,
            NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_keep_exports() FROM PUBLIC;

CREATE OR REPLACE TRIGGER partnerapi_keep_exports BEFORE UPDATE
    ON public.partnerapi_export FOR EACH ROW
    EXECUTE FUNCTION public.partnerapi_keep_exports();
