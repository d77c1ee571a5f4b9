-- Assigns a receipt in suspense to a client's cash account, or returns one that was
-- assigned (`undone`) to suspense; uses an approval where policy asks for one. Returns
-- the transaction's id.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_move_receipt(
    asker text, assigned bigint, undone bigint, target bigint, why text
)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    receipt accounts_cashtransaction;
    used uuid;
    entered bigint[];
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO receipt FROM accounts_cashtransaction t
        WHERE t.id = coalesce(assigned, undone);
    IF NOT FOUND OR receipt.kind <> 'DEPOSIT' OR num_nonnulls(assigned, undone) <> 1
        OR undone IS NOT NULL AND receipt.assigns_id IS NULL THEN
        RAISE EXCEPTION 'One receipt in suspense is assigned, or one assignment is '
            'undone.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (receipt.target_id, target)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    entered := cash_post(clock_timestamp(),
        ARRAY[CASE WHEN undone IS NULL THEN 'DEPOSIT' ELSE 'REVERSAL' END],
        ARRAY[receipt.target_id], ARRAY[target], ARRAY[receipt.amount], ARRAY[asker],
        ARRAY[why], ARRAY[NULL]::text[], ARRAY[undone], ARRAY[assigned],
        ARRAY[NULL]::uuid[], '{}', '{}');
    used := approvals_use('ASSIGNMENT', jsonb_build_object('assigns', assigned,
        'reverses', undone, 'to', target, 'cents', receipt.amount::text, 'reason', why),
        receipt.amount, NULL, NULL);
    PERFORM cash_judge_staff(asker, used, ARRAY['file_assignment']);
    RETURN entered[1];
END $$;
REVOKE ALL ON FUNCTION public.cash_move_receipt(text, bigint, bigint, bigint, text) FROM
    PUBLIC;
