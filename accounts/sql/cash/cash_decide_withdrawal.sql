-- Approves or refuses a withdrawal that is REQUESTED, or cancels one that is APPROVED.
-- Approval and cancellation use an approval where policy asks for one; refusal and
-- cancellation have a reason and free the cents.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_decide_withdrawal(
    asker text, withdrawal uuid, becomes text, why text
)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    standing text;
    used uuid;
    decided accounts_withdrawal;
BEGIN
    PERFORM accounts_read_committed();
    SELECT a.status INTO standing
    FROM accounts_account a
    JOIN accounts_cashaccount c ON c.account_id = a.id
    JOIN accounts_withdrawal w ON w.cash_account_id = c.id AND w.id = withdrawal
    FOR SHARE OF a;
    IF becomes = 'APPROVED' AND standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF becomes IN ('REFUSED', 'CANCELLED') AND coalesce(why, '') = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', becomes
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = (SELECT w.cash_account_id FROM accounts_withdrawal w
            WHERE w.id = withdrawal)
        FOR NO KEY UPDATE;
    SELECT * INTO decided FROM accounts_withdrawal w WHERE w.id = withdrawal;
    IF (decided.status = CASE becomes WHEN 'APPROVED' THEN 'REQUESTED'
            WHEN 'REFUSED' THEN 'REQUESTED' WHEN 'CANCELLED' THEN 'APPROVED' END)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A withdrawal that is REQUESTED becomes APPROVED or REFUSED, '
            'one that is APPROVED becomes CANCELLED; not % %.', decided.status, becomes
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF becomes <> 'REFUSED' THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', withdrawal,
            'status', becomes, 'cents', decided.amount::text, 'reason', why),
            decided.amount, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used, CASE becomes WHEN 'REFUSED'
        THEN ARRAY['change_withdrawal', 'decide_withdrawal']
        ELSE ARRAY['file_withdrawal'] END);
    IF becomes <> 'APPROVED' THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved - decided.amount
            WHERE h.cash_account_id = decided.cash_account_id;
    END IF;
    UPDATE accounts_withdrawal w SET status = becomes, status_reason = why,
        request_id = CASE becomes WHEN 'REFUSED' THEN w.request_id ELSE used END,
        updated_at = greatest(w.updated_at, clock_timestamp())
    WHERE w.id = withdrawal
    RETURNING * INTO decided;
    PERFORM cash_tell(ARRAY[decided.cash_account_id]);
    RETURN decided;
END $$;
REVOKE ALL ON FUNCTION public.cash_decide_withdrawal(text, uuid, text, text) FROM PUBLIC;
