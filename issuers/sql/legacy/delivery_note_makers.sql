-- Records the people that made or changed the content of a legacy line, and counts one
-- that goes to another issuer.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.delivery_note_makers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    maker text := approvals_person();
BEGIN
    IF TG_OP = 'UPDATE'
        AND ROW (NEW.issuer_id, NEW.user_id, NEW.token_id, NEW.number_of_shares)
        IS NOT DISTINCT FROM
        ROW (OLD.issuer_id, OLD.user_id, OLD.token_id, OLD.number_of_shares) THEN
        NEW.makers := OLD.makers;
        RETURN NEW;
    END IF;
    IF NEW.issuer_id <> OLD.issuer_id THEN
        PERFORM accounts_count(ARRAY['legacyShareholders', 'legacyShareholders'],
            ARRAY[OLD.issuer_id, NEW.issuer_id], ARRAY[-1, 1]);
    END IF;
    IF maker NOT IN ('SQL', 'command') THEN
        IF approvals_rests_until(maker::uuid, clock_timestamp()) IS NOT NULL THEN
            maker := 'command';
        END IF;
    END IF;
    NEW.makers := CASE WHEN TG_OP = 'INSERT' THEN ARRAY[maker]
        WHEN maker = ANY (OLD.makers) THEN OLD.makers ELSE OLD.makers || maker END;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_note_makers() FROM PUBLIC;

CREATE OR REPLACE TRIGGER delivery_note_makers BEFORE INSERT OR UPDATE OF issuer_id,
        user_id, token_id, number_of_shares, makers
    ON public.issuers_legacyshareholder FOR EACH ROW
    EXECUTE FUNCTION public.delivery_note_makers();
