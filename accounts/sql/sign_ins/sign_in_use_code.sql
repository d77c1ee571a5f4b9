-- Uses a recovery code of the member of staff who signs in, and removes the second
-- factor that it replaces; FALSE if there is no such code, or it was used before.
-- called by: application
CREATE OR REPLACE FUNCTION public.sign_in_use_code(person uuid, digest text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM accounts_read_committed();
    PERFORM sign_in_check_owner(person);
    UPDATE accounts_recoverycode c SET used_at = clock_timestamp()
        WHERE c.person_id = person AND c.digest = digest AND c.used_at IS NULL;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_use_code(uuid, text) FROM PUBLIC;
