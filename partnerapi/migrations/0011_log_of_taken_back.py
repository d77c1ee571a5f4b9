"""A request that its asker took back is no refusal in the log."""

from django.db import migrations

LOG = """
CREATE OR REPLACE VIEW staff_log AS
SELECT c.at, c.who::text, initcap(c.operation) AS what, c.table_name::text AS kind,
    c.row_id::text AS object, c.before::text, c.after::text, ''::text AS reason,
    c.request_id::text, c.source::text,
    NULL::uuid AS object_key, FALSE AS is_price_of_trade
FROM accounts_rowchange c
UNION ALL
SELECT s.recorded_at, s.actor::text, 'Status', 'accounts_account', s.account_id::text,
    s.previous_status::text, s.status::text, coalesce(s.reason, '')::text, '',
    CASE WHEN s.is_staff THEN concat_ws(', approved by ', 'staff', nullif(s.approved_by, ''))
        ELSE 'API' END,
    s.account_id, FALSE
FROM accounts_accountstatuschange s
UNION ALL
SELECT r.filed_at, u.email::text, 'Request', 'accounts_approvalrequest', r.id::text,
    NULL, r.title || ' ' || r.content, r.reason::text, '', 'request',
    r.id, FALSE
FROM accounts_approvalrequest r JOIN accounts_user u ON u.id = r.filed_by_id
UNION ALL
SELECT d.decided_at, u.email::text,
    CASE WHEN d.is_approved THEN 'Approval' ELSE 'Refusal' END,
    'accounts_approvalrequest', r.id::text, NULL, r.title::text, d.reason::text, '',
    'request', r.id, FALSE
FROM accounts_approvaldecision d
JOIN accounts_approvalrequest r ON r.id = d.request_id
JOIN accounts_user u ON u.id = d.decided_by_id
UNION ALL
SELECT o.ended_at, u.email::text,
    CASE WHEN o.is_executed THEN 'Execution' ELSE 'Overtaken' END,
    'accounts_approvalrequest', r.id::text, NULL,
    concat_ws(' ', r.title, 'token ' || o.token_id, 'number ' || o.number),
    o.detail::text, '', 'request', r.id, FALSE
FROM accounts_approvaloutcome o
JOIN accounts_approvalrequest r ON r.id = o.request_id
JOIN accounts_user u ON u.id = r.filed_by_id
UNION ALL
SELECT l.action_time, u.email::text,
    CASE l.action_flag WHEN 1 THEN 'Page: added' WHEN 2 THEN 'Page: changed'
        ELSE 'Page: deleted' END,
    t.app_label || '_' || t.model, l.object_id, NULL,
    concat_ws(': ', l.object_repr, l.change_message), '', '', 'page', NULL::uuid, FALSE
FROM django_admin_log l
JOIN accounts_user u ON u.id = l.user_id
LEFT JOIN django_content_type t ON t.id = l.content_type_id
UNION ALL
SELECT e.recorded_at, e.actor::text, 'Entry: ' || e.kind, 'issuers_token',
    e.token_id::text, NULL,
    'entry ' || e.seq || ', units ' || e.amount || ', supply ' || e.supply_after,
    e.reason::text, '', 'ledger', e.token_id, FALSE
FROM issuers_ledgertransaction e
UNION ALL
SELECT p.recorded_at, p.recorded_by::text, 'Price: ' || p.source, 'issuers_token',
    p.token_id::text, NULL, p.price_cents || ' cents', '', '', 'ledger',
    p.token_id, p.source = 'TRADE'
FROM issuers_tokenprice p
UNION ALL
SELECT j.created_at, j.created_by::text, 'Delivery', 'issuers_deliveryjob', j.id::text,
    NULL, j.line_count || ' lines, source ' || j.source || ', delivered ' || j.delivered
        || ', refused ' || j.refused, '', '', 'delivery', j.id, FALSE
FROM issuers_deliveryjob j
"""
VERDICT = "CASE WHEN d.is_approved THEN 'Approval' ELSE 'Refusal' END"
TAKEN_BACK = (
    "CASE WHEN d.is_approved THEN 'Approval'"
    " WHEN d.decided_by_id = r.filed_by_id THEN 'Taken back' ELSE 'Refusal' END"
)


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0010_baseline"),
        ("accounts", "0041_exports_and_imports_are_kept"),
    ]

    operations = [
        migrations.RunSQL(LOG.replace(VERDICT, TAKEN_BACK), LOG),
    ]
