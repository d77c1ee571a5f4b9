-- An issuer with tokens stays, every issuer keeps its id, and the transaction that made
-- it is noted.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_issuer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'register_keep_issuer guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM issuers_token WHERE issuer_id = OLD.id) THEN
            RAISE EXCEPTION 'Issuer % stays: tables of the past list its tokens.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_formerissuer VALUES (OLD.id) ON CONFLICT DO NOTHING;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'Issuer % keeps its id: tables of the past have it.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        NEW.recorded_in := OLD.recorded_in;
    ELSE
        NEW.recorded_in := (SELECT register_transaction(0));
        IF EXISTS (SELECT FROM issuers_formerissuer WHERE id = NEW.id) THEN
            NEW.recorded_in := NULL;
        END IF;
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_issuer() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_issuer BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_issuer FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_issuer();
