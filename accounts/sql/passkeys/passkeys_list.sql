-- Notes which passkeys a statement of the register lists: from then on they count.
-- called by: application
-- locks: accounts_passkey (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.passkeys_list(keys uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    UPDATE accounts_passkey SET listed_at = clock_timestamp() WHERE id IN (
        SELECT k.id FROM accounts_passkey k
        WHERE k.id = ANY (keys) AND k.vouched_at IS NOT NULL AND k.listed_at IS NULL
        ORDER BY k.id FOR UPDATE);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_list(uuid[]) FROM PUBLIC;
