-- Uses an approval of one content and amount; see approvals_use_each.
-- called by: accounts_write, approvals_use_by, cash_book_statement,
--     cash_decide_withdrawal, cash_move_receipt, desk_invite, keys_issue,
--     offerings_pay_out, register_follow_issuer, register_follow_token, register_write, sign_in_reset,
--     trading_change_phase, trading_release, trading_told_bust
CREATE OR REPLACE FUNCTION public.approvals_use(
    wanted text, said jsonb, amount numeric, entry_token uuid, entry_number bigint
)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN approvals_use_each(wanted, said,
        ARRAY[(SELECT t.issuer_id FROM issuers_token t WHERE t.id = entry_token)],
        ARRAY[amount], entry_token, entry_number);
END $$;
REVOKE ALL ON FUNCTION public.approvals_use(text, jsonb, numeric, uuid, bigint) FROM
    PUBLIC;
