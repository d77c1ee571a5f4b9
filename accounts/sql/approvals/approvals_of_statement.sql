-- A bank statement is judged once, at the commit: its closing balance is the books',
-- its lines are booked, its credits use an approval where policy asks for one.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_of_statement()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    lines jsonb;
    credited numeric;
    last_entry bigint;
    lies bigint;
    used uuid;
    asker text;
BEGIN
    IF TG_RELID <> 'accounts_bankstatement'::regclass THEN
        RAISE EXCEPTION 'approvals_of_statement guards accounts_bankstatement, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT coalesce(jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
            l.date, CASE WHEN l.amount > 0 THEN t.target_id ELSE t.source_id END)
            ORDER BY t.id), '[]'),
        coalesce(sum(l.amount) FILTER (WHERE l.amount > 0 AND c.kind = 'CLIENT'), 0),
        max(t.id)
        INTO lines, credited, last_entry
    FROM accounts_bankline l
    JOIN accounts_cashtransaction t ON t.reference = l.reference
    JOIN accounts_cashaccount c ON c.id = t.target_id
    WHERE l.statement_id = NEW.id;
    SELECT -coalesce(p.balance_after, h.balance) INTO lies
    FROM accounts_cashhead h LEFT JOIN accounts_cashposting p
        ON p.cash_account_id = h.cash_account_id AND p.transaction_id = last_entry
    WHERE h.kind = 'BANK';
    IF lies IS DISTINCT FROM NEW.closing_balance THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', NEW.closing_balance,
            lies USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM accounts_bankline l WHERE l.statement_id = NEW.id
            AND NOT EXISTS (SELECT FROM accounts_cashtransaction t
                WHERE t.reference = l.reference)) THEN
        RAISE EXCEPTION 'The lines of a bank statement are booked before it is judged.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_bankstatement SET made_in = 0 WHERE id = NEW.id;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', NEW.name,
            'digest', NEW.digest, 'closing', NEW.closing_balance::text,
            'lines', lines), credited, NULL, NULL);
    END IF;
    SELECT u.email INTO asker FROM accounts_approvalrequest r
        JOIN accounts_user u ON u.id = r.filed_by_id WHERE r.id = used;
    IF asker IS NULL AND approvals_person() NOT IN ('SQL', 'command') THEN
        asker := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb ->> 'who';
    END IF;
    IF NEW.booked_by <> asker THEN
        RAISE EXCEPTION 'A bank statement is booked by the user that filed its request, or '
            'is signed in: %, not %.', asker, NEW.booked_by USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_statement() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_statement ON public.accounts_bankstatement;
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT
    ON public.accounts_bankstatement DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_statement();
