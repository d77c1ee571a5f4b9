-- Times a new token under the issuer's lock; an earlier time is for issuers made in
-- this transaction.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: issuers_issuer (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_time_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM register_mark(ARRAY[NEW.issuer_id]);
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'register_time_token guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
    IF NEW.created_at >= transaction_timestamp() THEN
        NEW.created_at := clock_timestamp();
    ELSIF NOT EXISTS (
        SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because its '
            'issuer was there before.', NEW.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_time_token() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_time_token BEFORE INSERT ON public.issuers_token
    FOR EACH ROW EXECUTE FUNCTION public.register_time_token();
