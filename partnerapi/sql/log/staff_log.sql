-- All that staff did, from the histories of the apps, as one list. A detail is one
-- of many lines that a market, a delivery or a session leaves behind.
CREATE OR REPLACE VIEW public.staff_log AS
 SELECT c.at,
    c.who::text AS who,
    initcap(c.operation::text) AS what,
    c.table_name::text AS kind,
    c.row_id::text AS object,
    c.before::text AS before,
    c.after::text AS after,
    ''::text AS reason,
    c.request_id::text AS request_id,
    c.source::text AS source,
    NULL::uuid AS object_key,
    false AS is_price_of_trade,
    c.table_name::text = 'django_session'::text AS is_detail
   FROM accounts_rowchange c
UNION ALL
 SELECT s.recorded_at AS at,
    s.actor::text AS who,
    'Status'::text AS what,
    'accounts_account'::text AS kind,
    s.account_id::text AS object,
    s.previous_status::text AS before,
    s.status::text AS after,
    COALESCE(s.reason, ''::character varying)::text AS reason,
    ''::text AS request_id,
        CASE
            WHEN s.is_staff THEN concat_ws(', approved by '::text, 'staff', NULLIF(s.approved_by::text, ''::text))
            ELSE 'API'::text
        END AS source,
    s.account_id AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM accounts_accountstatuschange s
UNION ALL
 SELECT r.filed_at AS at,
    u.email::text AS who,
    'Request'::text AS what,
    'accounts_approvalrequest'::text AS kind,
    r.id::text AS object,
    NULL::text AS before,
    (r.title::text || ' '::text) || r.content AS after,
    r.reason::text AS reason,
    ''::text AS request_id,
    'request'::text AS source,
    r.id AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM accounts_approvalrequest r
     JOIN accounts_user u ON u.id = r.filed_by_id
UNION ALL
 SELECT d.decided_at AS at,
    u.email::text AS who,
        CASE
            WHEN d.is_approved THEN 'Approval'::text
            WHEN d.decided_by_id = r.filed_by_id THEN 'Taken back'::text
            ELSE 'Refusal'::text
        END AS what,
    'accounts_approvalrequest'::text AS kind,
    r.id::text AS object,
    NULL::text AS before,
    r.title::text AS after,
    d.reason::text AS reason,
    ''::text AS request_id,
    'request'::text AS source,
    r.id AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM accounts_approvaldecision d
     JOIN accounts_approvalrequest r ON r.id = d.request_id
     JOIN accounts_user u ON u.id = d.decided_by_id
UNION ALL
 SELECT o.ended_at AS at,
    u.email::text AS who,
        CASE
            WHEN o.is_executed THEN 'Execution'::text
            ELSE 'Overtaken'::text
        END AS what,
    'accounts_approvalrequest'::text AS kind,
    r.id::text AS object,
    NULL::text AS before,
    concat_ws(' '::text, r.title, 'token '::text || o.token_id, 'number '::text || o.number) AS after,
    o.detail::text AS reason,
    ''::text AS request_id,
    'request'::text AS source,
    r.id AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM accounts_approvaloutcome o
     JOIN accounts_approvalrequest r ON r.id = o.request_id
     JOIN accounts_user u ON u.id = r.filed_by_id
UNION ALL
 SELECT l.action_time AS at,
    u.email::text AS who,
        CASE l.action_flag
            WHEN 1 THEN 'Page: added'::text
            WHEN 2 THEN 'Page: changed'::text
            ELSE 'Page: deleted'::text
        END AS what,
    (t.app_label::text || '_'::text) || t.model::text AS kind,
    l.object_id AS object,
    NULL::text AS before,
    concat_ws(': '::text, l.object_repr, l.change_message) AS after,
    ''::text AS reason,
    ''::text AS request_id,
    'page'::text AS source,
    NULL::uuid AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM django_admin_log l
     JOIN accounts_user u ON u.id = l.user_id
     LEFT JOIN django_content_type t ON t.id = l.content_type_id
UNION ALL
 SELECT e.recorded_at AS at,
    e.actor::text AS who,
    'Entry: '::text || e.kind::text AS what,
    'issuers_token'::text AS kind,
    e.token_id::text AS object,
    NULL::text AS before,
    (((('entry '::text || e.seq) || ', units '::text) || e.amount) || ', supply '::text) || e.supply_after AS after,
    e.reason::text AS reason,
    ''::text AS request_id,
    'ledger'::text AS source,
    e.token_id AS object_key,
    false AS is_price_of_trade,
    e.kind::text = 'LEGACY_DELIVERY'::text OR e.kind::text = 'TRADE'::text AS is_detail
   FROM issuers_ledgertransaction e
UNION ALL
 SELECT p.recorded_at AS at,
    p.recorded_by::text AS who,
    'Price: '::text || p.source::text AS what,
    'issuers_token'::text AS kind,
    p.token_id::text AS object,
    NULL::text AS before,
    p.price_cents || ' cents'::text AS after,
    ''::text AS reason,
    ''::text AS request_id,
    'ledger'::text AS source,
    p.token_id AS object_key,
    p.source::text = 'TRADE'::text AS is_price_of_trade,
    p.source::text = 'TRADE'::text AS is_detail
   FROM issuers_tokenprice p
UNION ALL
 SELECT j.created_at AS at,
    j.created_by::text AS who,
    'Delivery'::text AS what,
    'issuers_deliveryjob'::text AS kind,
    j.id::text AS object,
    NULL::text AS before,
    (((((j.line_count || ' lines, source '::text) || j.source::text) || ', delivered '::text) || j.delivered) || ', refused '::text) || j.refused AS after,
    ''::text AS reason,
    ''::text AS request_id,
    'delivery'::text AS source,
    j.id AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM issuers_deliveryjob j
UNION ALL
 SELECT f.at,
    COALESCE(u.email::text, 'unknown login'::text) AS who,
    'Failed sign-in'::text AS what,
    NULL::text AS kind,
    NULL::text AS object,
    NULL::text AS before,
        CASE
            WHEN f.is_locked THEN 'locked out'::text
            ELSE NULL::text
        END AS after,
    ''::text AS reason,
    ''::text AS request_id,
    f.address::text AS source,
    NULL::uuid AS object_key,
    false AS is_price_of_trade,
    false AS is_detail
   FROM partnerapi_failedsignin f
     LEFT JOIN accounts_user u ON u.email::text = lower(f.login::text);
