-- Derives an account's status from its history: numbers without gaps, each change from
-- the status before it, times that never run backwards. The account's partner makes
-- its own moves, and a member of staff with the right all others. approvals_of_closing
-- judges staff that close one. Once the account becomes ACTIVE, its user gets the email
-- and LEI that the partner stated where it has none. An account with cash stays open.
-- called by: triggers
-- raises: restrict_violation
-- locks: accounts_account (FOR NO KEY UPDATE), accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_follow_history()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
    left_over bigint;
BEGIN
    PERFORM FROM accounts_account
        WHERE id IN (SELECT account_id FROM entered) ORDER BY id FOR NO KEY UPDATE;
    SELECT format('account %s, change %s', account_id, number) INTO wrong
    FROM (
        SELECT e.account_id, e.number,
            e.number = a.changes + row_number() OVER by_number
            AND e.previous_status IS NOT DISTINCT FROM lag(e.status, 1,
                CASE WHEN a.changes > 0 THEN a.status END) OVER by_number
            AND e.created_at >= lag(e.created_at, 1, a.updated_at) OVER by_number
            AND e.created_at < clock_timestamp() + interval '1 minute' AS follows
        FROM entered e JOIN accounts_account a ON a.id = e.account_id
        WINDOW by_number AS (PARTITION BY e.account_id ORDER BY e.number)
    ) AS checked
    WHERE NOT follows ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An account''s next change must have the next number, begin '
            'where the account stands, and have a time that is not before the last '
            'one''s nor in the future: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s by %s', e.account_id, e.actor) INTO wrong
    FROM entered e
    JOIN accounts_account a ON a.id = e.account_id
    JOIN accounts_partner p ON p.id = a.partner_id
    WHERE NOT e.is_staff AND NOT (e.actor = p.login
        AND (e.previous_status IS NULL OR e.previous_status IN ('ACTIVE', 'SUSPENDED')))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A partner opens, suspends, reactivates and closes accounts of '
            'its own: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(e.actor, 'accounts.change_account')
        FROM (SELECT DISTINCT actor FROM entered
            WHERE is_staff AND status <> 'CLOSED') e;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at, recorded_at = clock_timestamp()
        FROM (SELECT DISTINCT ON (account_id) * FROM entered
              ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM entered e JOIN accounts_applicant p ON p.account_id = e.account_id
        JOIN accounts_account a ON a.id = p.account_id AND a.user_id = p.user_id
        WHERE (e.previous_status, e.status) = ('PENDING', 'ACTIVE')
            AND u.id = p.user_id;
    FOR left_over IN
        SELECT h.balance FROM entered e
        JOIN accounts_cashaccount c ON c.account_id = e.account_id
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE e.status = 'CLOSED' ORDER BY c.id FOR NO KEY UPDATE OF h
    LOOP
        IF left_over <> 0 THEN
            RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
                left_over USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_history() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_follow_history AFTER INSERT
    ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_follow_history();
