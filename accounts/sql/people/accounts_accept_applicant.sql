-- Completes a user with the email and LEI that the partner stated, once the account
-- becomes ACTIVE; never replaces what the user has.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_accept_applicant()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'accounts_accept_applicant guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE p.account_id = NEW.account_id AND a.user_id = p.user_id
            AND u.id = p.user_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_accept_applicant() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_accept_applicant AFTER INSERT
    ON public.accounts_accountstatuschange FOR EACH ROW
    WHEN (new.previous_status = 'PENDING' AND new.status = 'ACTIVE')
    EXECUTE FUNCTION public.accounts_accept_applicant();
