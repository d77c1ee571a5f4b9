-- Enters changes in the histories of accounts, in their order, numbered without gaps;
-- one without a time happens now. PENDING opens an account of a partner for a user,
-- with its cash account. A partner opens, suspends, reactivates and closes its own; a
-- member of staff with the right makes all other moves, and closes one with the approval
-- that policy asks for. An account that becomes ACTIVE gives its user the email and LEI
-- that the partner stated, where it has none. One with cash stays open. Returns the
-- accounts.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR NO KEY UPDATE), accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.accounts_write(
    entries uuid[], accounts uuid[], partners uuid[], users uuid[], statuses text[],
    reasons text[], actors text[], by_staff boolean[], approvers text[],
    times timestamp with time zone[]
)
RETURNS SETOF accounts_account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    left_over bigint;
    closing accounts_accountstatuschange;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.account::text INTO wrong
    FROM unnest(accounts, statuses, by_staff, approvers, times)
        AS c (account, status, is_staff, approver, at)
    WHERE c.at IS NOT NULL AND (NOT isfinite(c.at) OR EXISTS (
            SELECT FROM accounts_account a WHERE a.id = c.account))
        OR c.approver <> '' AND (c.is_staff AND c.status = 'CLOSED') IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The history of a new account has times, and that of others goes '
            'on now; an approver is of a closing by staff: account %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- Rows are timed after the transaction has its id.
    PERFORM pg_current_xact_id();
    WITH opened AS (
        INSERT INTO accounts_account (id, partner_id, user_id, status, changes,
            created_at, updated_at, recorded_at)
        SELECT o.account, o.partner, o.client, o.status, 0,
            coalesce(o.at, clock_timestamp()), coalesce(o.at, clock_timestamp()),
            clock_timestamp()
        FROM unnest(accounts, partners, users, statuses, times)
            AS o (account, partner, client, status, at)
        WHERE o.status = 'PENDING'
        RETURNING id
    ), named AS (
        INSERT INTO accounts_cashaccount (id, kind, account_id, deposit_reference)
        SELECT o.number, 'CLIENT', o.id, cash_reference('1', o.number)
        FROM (SELECT id, nextval('public.accounts_cashaccount_id_seq') AS number
            FROM opened ORDER BY id) o
        RETURNING id
    )
    INSERT INTO accounts_cashhead
        (cash_account_id, kind, balance, reserved, last_number, entry_digest)
    SELECT id, 'CLIENT', 0, 0, 0, decode(repeat('00', 32), 'hex') FROM named;
    PERFORM accounts_count(array_agg('accounts'::text), array_agg(o.partner),
        array_agg(o.number))
    FROM (SELECT partner, count(*) AS number
        FROM unnest(partners, statuses) AS u (partner, status)
        WHERE status = 'PENDING' GROUP BY partner) o
    HAVING count(*) > 0;
    PERFORM FROM accounts_account
        WHERE id = ANY (accounts) ORDER BY id FOR NO KEY UPDATE;
    INSERT INTO accounts_accountstatuschange (id, account_id, number, previous_status,
        status, reason, actor, is_staff, approved_by, created_at, recorded_at)
    SELECT c.id, c.account, a.changes + row_number() OVER by_place,
        lag(c.status, 1, CASE WHEN a.changes > 0 THEN a.status::text END) OVER by_place,
        c.status, c.reason, c.actor, c.is_staff, c.approver,
        coalesce(c.at, greatest(a.updated_at, clock_timestamp())), clock_timestamp()
    FROM unnest(entries, accounts, statuses, reasons, actors, by_staff, approvers, times)
        WITH ORDINALITY
        AS c (id, account, status, reason, actor, is_staff, approver, at, place)
    LEFT JOIN accounts_account a ON a.id = c.account
    WINDOW by_place AS (PARTITION BY c.account ORDER BY c.place);
    SELECT format('account %s, change %s', e.account_id, e.number) INTO wrong
    FROM accounts_accountstatuschange e
    JOIN accounts_account a ON a.id = e.account_id
    LEFT JOIN accounts_accountstatuschange p
        ON p.account_id = e.account_id AND p.number = e.number - 1
    WHERE e.id = ANY (entries) AND (e.created_at < coalesce(p.created_at, a.updated_at)
        OR e.created_at >= clock_timestamp() + interval '1 minute')
    ORDER BY e.number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An account''s next change has a time that is not before the '
            'last one''s nor in the future: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s by %s', e.account_id, e.actor) INTO wrong
    FROM accounts_accountstatuschange e
    JOIN accounts_account a ON a.id = e.account_id
    JOIN accounts_partner p ON p.id = a.partner_id
    WHERE e.id = ANY (entries) AND NOT e.is_staff AND NOT (e.actor = p.login
        AND (e.previous_status IS NULL OR e.previous_status IN ('ACTIVE', 'SUSPENDED')))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A partner opens, suspends, reactivates and closes accounts of '
            'its own: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(c.actor, 'accounts.change_account')
        FROM (SELECT DISTINCT actor FROM unnest(actors, by_staff, statuses)
                AS u (actor, is_staff, status)
            WHERE is_staff AND status <> 'CLOSED') c;
    FOR closing IN
        SELECT * FROM accounts_accountstatuschange
        WHERE id = ANY (entries) AND is_staff AND status = 'CLOSED' ORDER BY account_id
    LOOP
        used := approvals_use('CLOSING', jsonb_build_object('account', closing.account_id,
            'number', closing.number, 'reason', closing.reason), NULL, NULL, NULL);
        IF used IS NULL THEN
            PERFORM accounts_staff_with(closing.actor, 'accounts.change_account');
            CONTINUE;
        END IF;
        PERFORM cash_judge_staff(closing.actor, used, '{}');
        PERFORM FROM accounts_approvaldecision d
            JOIN accounts_user u ON u.id = d.decided_by_id
            WHERE d.request_id = used AND u.email = closing.approved_by;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'The closing of an account names who approved it.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at, recorded_at = clock_timestamp()
        FROM (SELECT DISTINCT ON (account_id) * FROM accounts_accountstatuschange
              WHERE id = ANY (entries) ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_accountstatuschange e
        JOIN accounts_applicant p ON p.account_id = e.account_id
        JOIN accounts_account a ON a.id = p.account_id AND a.user_id = p.user_id
        WHERE e.id = ANY (entries)
            AND (e.previous_status, e.status) = ('PENDING', 'ACTIVE')
            AND u.id = p.user_id;
    FOR left_over IN
        SELECT h.balance FROM unnest(accounts, statuses) AS e (account, status)
        JOIN accounts_cashaccount c ON c.account_id = e.account
        JOIN accounts_cashhead h ON h.cash_account_id = c.id
        WHERE e.status = 'CLOSED' ORDER BY c.id FOR NO KEY UPDATE OF h
    LOOP
        IF left_over <> 0 THEN
            RAISE EXCEPTION 'The account has cash, % cents, and so is not closed.',
                left_over USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a WHERE a.id = ANY (accounts)
    HAVING count(*) > 0;
    RETURN QUERY SELECT * FROM accounts_account WHERE id = ANY (accounts);
END $$;
REVOKE ALL ON FUNCTION public.accounts_write(uuid[], uuid[], uuid[], uuid[], text[],
    text[], text[], boolean[], text[], timestamp with time zone[]) FROM PUBLIC;
