-- Keeps what a partner states of the client of a PENDING account that it opened, with
-- the account's partner and user.
-- called by: application
CREATE OR REPLACE FUNCTION public.accounts_state_client(
    account uuid, own_reference text, email text, lei text
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM accounts_read_committed();
    INSERT INTO accounts_applicant
        (account_id, partner_id, user_id, reference, email, lei)
    SELECT account, a.partner_id, a.user_id, own_reference, email, lei
    FROM (VALUES (account)) AS s (id)
    LEFT JOIN accounts_account a ON a.id = s.id AND a.status = 'PENDING';
END $$;
REVOKE ALL ON FUNCTION public.accounts_state_client(uuid, text, text, text) FROM PUBLIC;
