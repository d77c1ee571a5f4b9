-- Replaces the recovery codes of the member of staff who is signed in, by new digests.
-- called by: application
CREATE OR REPLACE FUNCTION public.sign_in_make_codes(
    person uuid, digests text[]
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM accounts_read_committed();
    PERFORM sign_in_check_owner(person);
    DELETE FROM accounts_recoverycode c WHERE c.person_id = person;
    INSERT INTO accounts_recoverycode (person_id, digest, made_at)
    SELECT person, d, clock_timestamp() FROM unnest(digests) AS d;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_make_codes(uuid, text[]) FROM PUBLIC;
