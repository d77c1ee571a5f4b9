-- The tables whose texts may name a person: the key of a row, its time, the condition
-- that it is about the person ($3), its columns of text, and those of JSON.
-- called by: anyone, erasure_erase, erasure_rows
CREATE OR REPLACE FUNCTION public.erasure_places()
RETURNS TABLE(name text, key text, dated text, own text, texts text[], documents text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT v.name, v.key, v.dated, v.own, v.texts::text[], v.documents::text[]
    FROM (VALUES
    ('accounts_account', 'id', 't.recorded_at', 'FALSE', '{status_reason}', '{}'),
    ('accounts_accountstatuschange', 'id', 't.recorded_at', 'FALSE', '{reason}', '{}'),
    ('accounts_applicant', 'account_id', 't.created_at', 't.user_id = $3',
        '{email}', '{}'),
    ('accounts_applicant', 'account_id', 't.created_at', 'FALSE', '{reference}', '{}'),
    ('accounts_approvaldecision', 'request_id', 't.decided_at', 'FALSE', '{reason}',
        '{}'),
    ('accounts_approvaloutcome', 'request_id', 't.ended_at', 'FALSE', '{detail}', '{}'),
    ('accounts_approvalrequest', 'id', 't.filed_at', 'FALSE', '{title,reason}',
        '{content}'),
    ('accounts_bankline', 'reference', '(SELECT s.booked_at FROM '
        'accounts_bankstatement s WHERE s.id = t.statement_id)', 'FALSE',
        '{text}', '{}'),
    ('accounts_cashtransaction', 'id', 't.at', 'FALSE', '{reason}', '{}'),
    ('accounts_investorattestation', 'id', 't.created_at', 't.user_id = $3',
        '{evidence}', '{}'),
    ('accounts_investorchange', 'id', 't.created_at', 't.user_id = $3', '{evidence}',
        '{}'),
    ('accounts_investorprofile', 'user_id', 't.updated_at', 't.user_id = $3',
        '{evidence}', '{}'),
    ('accounts_payee', 'withdrawal_id', '(SELECT w.created_at FROM '
        'accounts_withdrawal w WHERE w.id = t.withdrawal_id)', 'FALSE',
        '{name,iban}', '{}'),
    ('accounts_paymentfile', 'id', 't.made_at', 'FALSE', '{content}', '{}'),
    ('accounts_userholdername', 'id', 't.replaced_at', 't.holder_id IN (SELECT h.id '
        'FROM accounts_userholder h WHERE h.user_id = $3)', '{name}', '{}'),
    ('accounts_withdrawal', 'id', 't.created_at', 'FALSE', '{reference,status_reason}',
        '{}'),
    -- A view: without its salt an entry has no private part.
    ('cash_entry_lines', 'cash_account_id, number', 't.at', 'EXISTS (SELECT FROM '
        'accounts_cashposting p JOIN accounts_cashtransaction c '
        'ON c.id = p.transaction_id WHERE p.cash_account_id = t.cash_account_id '
        'AND p.number = t.number AND p.salt IS NOT NULL AND c.reason ~* $1)', '{}',
        '{}'),
    ('django_admin_log', 'id', 't.action_time', 'FALSE', '{object_repr,change_message}',
        '{}'),
    ('issuers_deliverystep', 'id', '(SELECT j.created_at FROM '
        'issuers_deliveryjob j WHERE j.id = t.job_id)', 'FALSE', '{}',
        '{refusals}'),
    ('issuers_event', 'partner_id, sequence', 't.at', 'FALSE', '{reason}', '{}'),
    ('issuers_ledgertransaction', 'token_id, seq', 't.recorded_at', 'FALSE', '{reason}',
        '{}'),
    ('issuers_legacyshareholder', 'id', 't.created_at', 'FALSE', '{reference}', '{}'),
    ('issuers_legacyshareholderchange', 'id', 't.created_at', 'FALSE', '{}',
        '{before}'),
    ('issuers_offering', 'id', 't.updated_at', 'FALSE', '{status_reason}', '{}'),
    ('issuers_recordinstant', 'at', 't.created_at', 'FALSE', '{reason}', '{}'),
    ('issuers_restriction', 'id', 't.created_at', 'FALSE', '{beneficiary,reason}',
        '{}'),
    ('issuers_tokenrule', 'id', 't.created_at', 'FALSE', '{reason}', '{}'),
    ('partnerapi_jobrun', 'id', 't.started_at', 'FALSE', '{detail}', '{}'),
    ('trading_bust', 'token_id, sequence', 't.at', 'FALSE', '{reason}', '{}'),
    ('trading_market', 'token_id', 't.last_at', 'FALSE', '{halt_reason}', '{}'),
    ('trading_marketparameters', 'id', 't.created_at', 'FALSE', '{reason}', '{}'),
    ('trading_orderblock', 'id', 't.blocked_at', 'FALSE', '{reason}', '{}'),
    ('trading_orderevent', 'token_id, number', 't.at', 'FALSE', '{reason}', '{}'),
    ('trading_refusedorder', 'id', 't.at', 'FALSE', '{message}', '{}'),
    ('trading_tariff', 'id', 't.created_at', 'FALSE', '{reason}', '{}'),
    -- The last, since changes of the others are recorded there.
    ('accounts_rowchange', 'id', 't.at', '(t.table_name, t.row_id) IN ('
        'SELECT ''accounts_user'', $3::text UNION SELECT ''accounts_userholder'', '
        'h.id::text FROM accounts_userholder h WHERE h.user_id = $3)', '{}',
        '{before,after}')
    ) AS v (name, key, dated, own, texts, documents)
$$;
