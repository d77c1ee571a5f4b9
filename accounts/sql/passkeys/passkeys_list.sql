-- Notes which passkeys a statement of the register lists: from then on they count.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_passkey (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.passkeys_list(keys uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey SET listed_at = clock_timestamp() WHERE id IN (
        SELECT k.id FROM accounts_passkey k
        WHERE k.id = ANY (keys) AND k.vouched_at IS NOT NULL AND k.listed_at IS NULL
        ORDER BY k.id FOR UPDATE);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_list(uuid[]) FROM PUBLIC;
