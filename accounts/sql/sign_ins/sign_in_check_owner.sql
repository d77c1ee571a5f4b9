-- Refuses an author other than the member of staff whose sign-in it is.
-- called by: sign_in_make_codes, sign_in_use_code
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.sign_in_check_owner(person uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    PERFORM FROM accounts_user u
        WHERE u.id = person AND u.is_staff AND u.email = author ->> 'who';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Only their owner makes and uses recovery codes.'
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_check_owner(uuid) FROM PUBLIC;
