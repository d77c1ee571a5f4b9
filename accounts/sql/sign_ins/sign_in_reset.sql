-- Removes the second factor and the recovery codes of a member of staff; two members of
-- staff have approved exactly that, whatever policy asks for.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.sign_in_reset(person uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('SIGN_IN', jsonb_build_object('person', person), NULL, NULL,
        NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'The reset of a sign-in always needs an approval by a second '
            'person.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    DELETE FROM accounts_recoverycode c WHERE c.person_id = person;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_reset(uuid) FROM PUBLIC;
