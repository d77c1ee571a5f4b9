"""One view of all that staff, partners, commands and SQL have done; nothing is kept twice."""

from django.db import migrations

LOG = """
CREATE VIEW staff_log AS
SELECT c.at, c.who::text, initcap(c.operation) AS what, c.table_name::text AS kind,
    c.row_id::text AS object, c.before::text, c.after::text, ''::text AS reason,
    c.request_id::text, c.source::text
FROM accounts_rowchange c
UNION ALL
SELECT s.recorded_at, s.actor, 'Status', 'accounts_account', s.account_id::text,
    s.previous_status, s.status, coalesce(s.reason, ''), '',
    CASE WHEN s.is_staff THEN concat_ws(', approved by ', 'staff', nullif(s.approved_by, ''))
        ELSE 'API' END
FROM accounts_accountstatuschange s
UNION ALL
SELECT r.filed_at, u.email, 'Request', 'accounts_approvalrequest', r.id::text,
    NULL, r.title || ' ' || r.content, r.reason, '', 'request'
FROM accounts_approvalrequest r JOIN accounts_user u ON u.id = r.filed_by_id
UNION ALL
SELECT d.decided_at, u.email, CASE WHEN d.is_approved THEN 'Approval' ELSE 'Refusal' END,
    'accounts_approvalrequest', r.id::text, NULL, r.title, d.reason, '', 'request'
FROM accounts_approvaldecision d
JOIN accounts_approvalrequest r ON r.id = d.request_id
JOIN accounts_user u ON u.id = d.decided_by_id
UNION ALL
SELECT o.ended_at, u.email, CASE WHEN o.is_executed THEN 'Execution' ELSE 'Overtaken' END,
    'accounts_approvalrequest', r.id::text, NULL,
    concat_ws(' ', r.title, 'token ' || o.token_id, 'number ' || o.number),
    o.detail, '', 'request'
FROM accounts_approvaloutcome o
JOIN accounts_approvalrequest r ON r.id = o.request_id
JOIN accounts_user u ON u.id = r.filed_by_id
UNION ALL
SELECT l.action_time, u.email,
    CASE l.action_flag WHEN 1 THEN 'Page: added' WHEN 2 THEN 'Page: changed'
        ELSE 'Page: deleted' END,
    t.app_label || '_' || t.model, l.object_id, NULL,
    concat_ws(': ', l.object_repr, l.change_message), '', '', 'page'
FROM django_admin_log l
JOIN accounts_user u ON u.id = l.user_id
LEFT JOIN django_content_type t ON t.id = l.content_type_id
UNION ALL
SELECT e.recorded_at, e.actor, 'Entry: ' || e.kind, 'issuers_token', e.token_id::text,
    NULL, 'entry ' || e.seq || ', units ' || e.amount || ', supply ' || e.supply_after,
    e.reason, '', 'ledger'
FROM issuers_ledgertransaction e
UNION ALL
SELECT p.recorded_at, p.recorded_by, 'Price: ' || p.source, 'issuers_token',
    p.token_id::text, NULL, p.price_cents || ' cents', '', '', 'ledger'
FROM issuers_tokenprice p
UNION ALL
SELECT j.created_at, j.created_by, 'Delivery', 'issuers_deliveryjob', j.id::text, NULL,
    j.line_count || ' lines, source ' || j.source || ', delivered ' || j.delivered
        || ', refused ' || j.refused, '', '', 'delivery'
FROM issuers_deliveryjob j
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0008_job_run_begins"),
        ("issuers", "0027_recorded_at"),
        ("marketdata", "0009_history"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunSQL(LOG, "DROP VIEW staff_log")]
