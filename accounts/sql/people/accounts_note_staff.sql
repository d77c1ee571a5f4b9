-- Records a change of a member of staff's access and e-mails about it, one for each
-- recipient and transaction.
-- called by: accounts_appoint, accounts_follow_staff
CREATE OR REPLACE FUNCTION public.accounts_note_staff(
    whom uuid, happened text, more text, line bigint, former text
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    first_change bigint;
BEGIN
    PERFORM FROM accounts_user u WHERE u.id = whom AND u.is_staff;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO accounts_staffchange (person_id, what, detail, at, change_id, recorded_in)
    SELECT whom, happened, left(coalesce(more, ''), 300), c.at, line,
        pg_current_xact_id()::text::bigint
    FROM accounts_rowchange c WHERE c.id = line;
    SELECT min(c.id) INTO STRICT first_change FROM accounts_staffchange c
        WHERE c.recorded_in = pg_current_xact_id()::text::bigint
            AND c.at >= transaction_timestamp();
    INSERT INTO accounts_staffnotice (change_id, recipient, tries, error)
    SELECT first_change, told.email, 0, '' FROM (
        SELECT d.email FROM approvals_deciders() d
        UNION SELECT u.email FROM accounts_user u WHERE u.id = whom
        UNION SELECT former
    ) AS told WHERE told.email <> ''
    ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.accounts_note_staff(uuid, text, text, bigint, text) FROM
    PUBLIC;
