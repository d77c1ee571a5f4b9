-- Refuses a transaction that is not READ COMMITTED: its snapshot hides what was
-- committed since, such as a freeze.
-- called by: anyone, accounts_enrol_device, accounts_follow_staff, accounts_hold_cash,
--     accounts_join, accounts_keep_names, accounts_keep_superusers, accounts_lock,
--     accounts_share, accounts_state_client, accounts_write, approvals_decide_requests,
--     approvals_decide_signed, approvals_file_request, approvals_overtake,
--     binds_approve_holder, binds_attest, binds_decide, binds_end_approval,
--     binds_end_grant, binds_grant, binds_lift, binds_preview_rule, binds_restrict,
--     binds_rule, cash_book_statement, cash_decide_withdrawal, cash_move_receipt,
--     cash_order_payments, cash_read_account, cash_withdraw, delivery_begin,
--     delivery_release, desk_enrol, desk_invite, desk_issue_key, erasure_erase,
--     events_announce_articles, events_article_changed, events_figures_changed,
--     keys_issue, keys_narrow, marketdata_lock_book, marketdata_price,
--     marketdata_record, offerings_allot, offerings_amend, offerings_close,
--     offerings_draft, offerings_end, offerings_leave, offerings_mark, offerings_open,
--     offerings_pay_out, offerings_price, offerings_read, offerings_read_subscription,
--     offerings_settle, offerings_subscribe, passkeys_enrol, passkeys_list,
--     passkeys_revoke, passkeys_vouch, register_history, register_instant,
--     register_keep_changes, register_keep_delivered, register_keep_holder,
--     register_keep_issuer, register_keep_judged, register_keep_token,
--     register_keep_user, register_note, register_open_accounts, register_read,
--     register_write, sign_in_make_codes, sign_in_reset, sign_in_use_code,
--     trading_announce, trading_block, trading_change_phase, trading_indicate,
--     trading_issue_document,
--     trading_lock, trading_lock_markets, trading_open, trading_set_parameters,
--     trading_set_tariff, trading_settle, trading_sweep, trading_uncross, trading_undo,
--     update_industry_of_issuers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_read_committed()
RETURNS void LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed since, '
            'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
