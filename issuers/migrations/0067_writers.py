"""Functions write entries, prices, rules, restrictions, grants and events."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '50 ms';
LOCK TABLE public.accounts_investorchange, public.issuers_approvedholder, public.issuers_issuergrant, public.issuers_ledgerposting, public.issuers_ledgertransaction, public.issuers_legacyshareholder, public.issuers_restriction, public.issuers_tokenprice, public.issuers_tokenrule, public.issuers_unnumberedevent IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.binds_approve_holder(id uuid, actor text, token uuid, account bigint, until timestamp with time zone)
RETURNS SETOF issuers_approvedholder LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.add_approvedholder');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = account AND a.kind = 'HOLDER' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Account % is no holder''s.', account
            USING ERRCODE = 'restrict_violation';
    END IF;
    at := clock_timestamp();
    UPDATE issuers_approvedholder h SET ended_at = at, ended_by = actor
        WHERE h.token_id = token AND h.ledger_account_id = account
            AND h.ended_at IS NULL;
    RETURN QUERY INSERT INTO issuers_approvedholder (id, token_id, ledger_account_id,
        until, created_by, created_at)
    VALUES (id, token, account, until, actor, at)
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_approve_holder(uuid, text, uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_check_rule(kind text, parameters jsonb)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    unknown text;
BEGIN
    IF register_rule_is_valid(kind, parameters) IS NOT TRUE THEN
        RAISE EXCEPTION '% are not parameters of %: token_rule_is_valid.', parameters,
            kind USING ERRCODE = 'check_violation';
    END IF;
    IF kind = 'COUNTRIES' THEN
        SELECT string_agg(named.code, ', ') INTO unknown
        FROM jsonb_path_query(parameters, '$.*[*]') AS said (code)
        CROSS JOIN LATERAL (SELECT said.code #>> '{}' AS code) AS named
        WHERE NOT EXISTS (SELECT FROM accounts_country c WHERE c.code = named.code);
    END IF;
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'A rule names countries by ISO 3166-1: %.', unknown
            USING ERRCODE = 'check_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_check_rule(text, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_end_approval(actor text, approved uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ended timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.add_approvedholder');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = (SELECT h.ledger_account_id FROM issuers_approvedholder h
            WHERE h.id = approved) FOR NO KEY UPDATE;
    UPDATE issuers_approvedholder h SET ended_at = clock_timestamp(), ended_by = actor
        WHERE h.id = approved AND h.ended_at IS NULL
        RETURNING h.ended_at INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'An approved holder is ended once: %.', approved
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN ended;
END $$;
REVOKE ALL ON FUNCTION public.binds_end_approval(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_end_grant(actor text, given uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.change_issuergrant');
    UPDATE issuers_issuergrant g SET ended_at = clock_timestamp()
        WHERE g.id = given AND g.ended_at IS NULL;
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.binds_end_grant(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_grant(id uuid, actor text, partner uuid, issuer uuid)
RETURNS SETOF issuers_issuergrant LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'GRANT',
        jsonb_strip_nulls(jsonb_build_object('partner', partner, 'issuer', issuer)));
    RETURN QUERY UPDATE issuers_issuergrant g
        SET ended_at = NULL, created_at = clock_timestamp()
        WHERE g.partner_id = partner AND g.issuer_id IS NOT DISTINCT FROM issuer
            AND g.ended_at IS NOT NULL
        RETURNING g.*;
    IF NOT FOUND THEN
        RETURN QUERY INSERT INTO issuers_issuergrant
            (id, partner_id, issuer_id, created_at)
        VALUES (id, partner, issuer, clock_timestamp())
        RETURNING *;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_grant(uuid, text, uuid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_lift(actor text, restriction uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ended timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = (SELECT r.ledger_account_id FROM issuers_restriction r
            WHERE r.id = restriction) FOR NO KEY UPDATE;
    UPDATE issuers_restriction r SET ended_at = clock_timestamp(), ended_by = actor
        WHERE r.id = restriction AND r.ended_at IS NULL
        RETURNING r.ended_at INTO ended;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A restriction is ended once: %.', restriction
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'LIFTING',
        jsonb_build_object('restriction', restriction));
    RETURN ended;
END $$;
REVOKE ALL ON FUNCTION public.binds_lift(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_preview_rule(token uuid, kind text, parameters jsonb, accounts bigint[], code text)
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    refused bigint[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM binds_check_rule(kind, parameters);
    BEGIN
        PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
        UPDATE issuers_tokenrule r SET ended_at = clock_timestamp(), ended_by = 'preview'
            WHERE r.token_id = token AND r.kind = binds_preview_rule.kind
                AND r.ended_at IS NULL;
        INSERT INTO issuers_tokenrule (id, token_id, kind, parameters, reason,
            created_by, approved_by, created_at)
        VALUES (gen_random_uuid(), token, kind, parameters, 'preview', 'preview',
            'preview', clock_timestamp());
        SELECT array_agg(s.account) INTO refused
        FROM register_standing(token, accounts, clock_timestamp()) s
        WHERE s.receiving @> jsonb_build_array(jsonb_build_object('code', code));
        -- The block ends by an error, so that its rows and its locks go.
        RAISE EXCEPTION 'The preview ends.' USING ERRCODE = 'no_data_found';
    EXCEPTION WHEN no_data_found THEN
        NULL;
    END;
    RETURN coalesce(refused, '{}');
END $$;
REVOKE ALL ON FUNCTION public.binds_preview_rule(uuid, text, jsonb, bigint[], text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_restrict(id uuid, actor text, account bigint, kind text, token uuid, units numeric, until timestamp with time zone, beneficiary text, reason text)
RETURNS SETOF issuers_restriction LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'issuers.add_restriction');
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = account AND a.kind = 'HOLDER' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Account % is no holder''s.', account
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY INSERT INTO issuers_restriction (id, kind, ledger_account_id, token_id,
        units, until, beneficiary, reason, created_by, created_at)
    VALUES (id, kind, account, token, units, until, beneficiary, reason, actor,
        clock_timestamp())
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_restrict(uuid, text, bigint, text, uuid, numeric, timestamp with time zone, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_rule(id uuid, actor text, token uuid, kind text, parameters jsonb, reason text)
RETURNS SETOF issuers_tokenrule LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    present uuid;
    approver text;
    at timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF parameters IS NOT NULL THEN
        PERFORM binds_check_rule(kind, parameters);
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
    SELECT r.id INTO present FROM issuers_tokenrule r
        WHERE r.token_id = token AND r.kind = binds_rule.kind AND r.ended_at IS NULL;
    IF parameters IS NULL AND present IS NULL THEN
        RAISE EXCEPTION 'There is no rule % to end.', kind
            USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'RULE', jsonb_build_object('token', token,
        'kind', kind, 'parameters', parameters, 'replaces', present)
        || CASE WHEN parameters IS NULL THEN '{}'
            ELSE jsonb_build_object('reason', reason) END);
    at := clock_timestamp();
    UPDATE issuers_tokenrule r SET ended_at = at, ended_by = actor
        WHERE r.id = present;
    IF parameters IS NOT NULL THEN
        RETURN QUERY INSERT INTO issuers_tokenrule (id, token_id, kind, parameters,
            reason, replaces_id, created_by, approved_by, created_at)
        VALUES (id, token, kind, parameters, reason, present, actor, approver, at)
        RETURNING *;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_rule(uuid, text, uuid, text, jsonb, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_account_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'events_account_changed guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_announce guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    DELETE FROM issuers_unnumberedevent WHERE id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_announce() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce_articles()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    announced bigint;
    articles uuid[];
    issuers uuid[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    SELECT count(*), array_agg(a.id ORDER BY a.published_at),
        array_agg(a.issuer_id ORDER BY a.published_at)
        INTO announced, articles, issuers
    FROM come JOIN issuers_article a ON a.id = come.article_id;
    PERFORM events_write(array_fill('ALL'::text, ARRAY[announced::integer]), NULL,
        array_fill('ARTICLE_PUBLISHED'::text, ARRAY[announced::integer]), articles,
        issuers, NULL, NULL);
    RETURN announced;
END $$;
REVOKE ALL ON FUNCTION public.events_announce_articles() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_article'::regclass THEN
        RAISE EXCEPTION 'events_article_changed guards issuers_article, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['ARTICLE_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_article_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_count()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_event'::regclass THEN
        RAISE EXCEPTION 'events_count guards issuers_event, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_eventcount c SET number = c.number - g.number
    FROM (SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id,
        count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
    WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
        AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
        AND c.token_id IS NOT DISTINCT FROM g.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_count() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuerfinancialdata'::regclass THEN
        RAISE EXCEPTION 'events_figures_changed guards issuers_issuerfinancialdata, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['FINANCIAL_DATA_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_grant_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(g.partner_id),
        array_agg('GRANT_CHANGED'::text), array_agg(g.issuer_id),
        array_agg(g.issuer_id), NULL, NULL)
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_investor_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('INVESTOR_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_key_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'events_key_changed guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, ARRAY[coalesce(NEW.partner_id, OLD.partner_id)],
        ARRAY['KEY_CHANGED'], NULL, NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY e.ledger_seq), NULL,
        array_agg('LEGACY_SHARES_DELIVERED'::text ORDER BY e.ledger_seq),
        array_agg(e.id ORDER BY e.ledger_seq),
        array_agg(e.issuer_id ORDER BY e.ledger_seq),
        array_agg(e.token_id ORDER BY e.ledger_seq), NULL,
        array_agg(e.ledger_seq ORDER BY e.ledger_seq))
    FROM entered e WHERE e.status = 'DELIVERED'
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    told record;
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_number guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    WITH others AS (
        DELETE FROM issuers_unnumberedevent
        WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    )
    SELECT array_agg(u.audience::text ORDER BY u.id) AS audiences,
        array_agg(u.partner_id ORDER BY u.id) AS partners,
        array_agg(u.type::text ORDER BY u.id) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id) ORDER BY u.id) AS subjects,
        array_agg(u.issuer_id ORDER BY u.id) AS issuers,
        array_agg(u.token_id ORDER BY u.id) AS tokens,
        array_agg(u.account_id ORDER BY u.id) AS accounts,
        array_agg(u.ledger_sequence ORDER BY u.id) AS ledger_sequences,
        array_agg(u.order_event ORDER BY u.id) AS order_events,
        array_agg(u.price ORDER BY u.id) AS prices,
        array_agg(u.quantity ORDER BY u.id) AS quantities,
        array_agg(u.remaining ORDER BY u.id) AS remainings,
        array_agg(u.trade ORDER BY u.id) AS trades,
        array_agg(u.reason::text ORDER BY u.id) AS reasons INTO told
    FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) u;
    PERFORM events_write(told.audiences, told.partners, told.kinds, told.subjects,
        told.issuers, told.tokens, told.accounts, told.ledger_sequences,
        told.order_events, told.prices, told.quantities, told.remainings, told.trades,
        told.reasons, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_price_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg(CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
            ELSE 'GRANTED' END ORDER BY t.id), NULL,
        array_agg('TOKEN_PRICE_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL)
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY t.id), NULL,
        array_agg('REGISTER_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL,
        array_agg(e.seq ORDER BY t.id))
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE'
        GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_withdrawal_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered w
        JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_write(audiences text[], partners uuid[], kinds text[], subjects uuid[], issuers uuid[], tokens uuid[], accounts uuid[], ledger_sequences bigint[] DEFAULT NULL::bigint[], order_events bigint[] DEFAULT NULL::bigint[], prices bigint[] DEFAULT NULL::bigint[], quantities bigint[] DEFAULT NULL::bigint[], remainings bigint[] DEFAULT NULL::bigint[], trades bigint[] DEFAULT NULL::bigint[], reasons text[] DEFAULT NULL::text[], last boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    this bigint := pg_current_xact_id()::text::bigint;
    collects boolean := NOT last;
BEGIN
    IF last THEN
        collects := EXISTS (
            SELECT FROM issuers_unnumberedevent WHERE transaction = this);
    END IF;
    IF collects THEN
        -- Several events of an order are several events: each has its number.
        INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
            type, subject_id, issuer_id, token_id, account_id, ledger_sequence,
            order_id, order_event, price, quantity, remaining, trade, reason)
        SELECT this, u.n = 1 AND NOT EXISTS (
                SELECT FROM issuers_unnumberedevent WHERE transaction = this),
            coalesce(u.audience, 'PARTNER'), u.partner_id, u.type,
            CASE WHEN u.order_event IS NULL THEN u.subject_id
                ELSE md5(concat_ws(' ', u.token_id, u.order_event))::uuid END,
            coalesce(u.issuer_id, t.issuer_id), u.token_id, u.account_id,
            u.ledger_sequence,
            CASE WHEN u.order_event IS NOT NULL THEN u.subject_id END,
            u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM unnest(audiences, partners, kinds, subjects, issuers, tokens, accounts,
            ledger_sequences, order_events, prices, quantities, remainings, trades,
            reasons) WITH ORDINALITY AS u (audience, partner_id, type, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price,
            quantity, remaining, trade, reason, n)
        LEFT JOIN issuers_token t ON t.id = u.token_id AND u.issuer_id IS NULL
        ORDER BY u.n
        ON CONFLICT (transaction, type, subject_id, partner_id)
        DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
        IF last THEN
            SET CONSTRAINTS public.events_announce, public.events_number IMMEDIATE;
            SET CONSTRAINTS public.events_announce, public.events_number DEFERRED;
        END IF;
        RETURN;
    END IF;
    IF 'GRANT_CHANGED' = ANY (kinds) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF 'GRANTED' = ANY (audiences) THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    WITH addressed AS MATERIALIZED (
        SELECT p.id AS reader, u.*, coalesce(u.issuer_id, t.issuer_id) AS of_issuer
        FROM unnest(audiences, partners, kinds, subjects, issuers, tokens, accounts,
            ledger_sequences, order_events, prices, quantities, remainings, trades,
            reasons) WITH ORDINALITY AS u (audience, partner_id, type, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price,
            quantity, remaining, trade, reason, n)
        LEFT JOIN issuers_token t ON t.id = u.token_id AND u.issuer_id IS NULL
        CROSS JOIN LATERAL (
            SELECT u.partner_id AS id WHERE coalesce(u.audience, 'PARTNER') = 'PARTNER'
            UNION ALL
            SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
            WHERE u.audience = 'GRANTED' AND (g.issuer_id IS NULL
                OR g.issuer_id = coalesce(u.issuer_id, t.issuer_id))
            UNION ALL
            SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
        ) p
    ), held AS MATERIALIZED (
        SELECT partner_id, last_sequence, last_at FROM issuers_eventhead
        WHERE partner_id IN (SELECT reader FROM addressed)
        ORDER BY partner_id FOR NO KEY UPDATE
    ), now AS MATERIALIZED (
        -- After the last lock: times do not run backwards.
        SELECT clock_timestamp() AS taken FROM (SELECT count(*) FROM held) h
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price,
            quantity, remaining, trade, reason)
        -- Ids rise with a partner's numbers: their index grows at one place.
        SELECT (left(md5(e.reader::text), 16) || lpad(to_hex(e.sequence), 16, '0'))::uuid,
            e.reader, e.sequence, e.type, e.at, e.subject_id, e.of_issuer, e.token_id,
            e.account_id, e.ledger_sequence, e.order_event, e.price, e.quantity,
            e.remaining, e.trade, e.reason
        FROM (
            SELECT u.*, greatest(h.last_at, now.taken) AS at,
                h.last_sequence + row_number() OVER (
                    PARTITION BY u.reader ORDER BY u.n) AS sequence
            FROM addressed u JOIN held h ON h.partner_id = u.reader CROSS JOIN now
        ) e
        RETURNING partner_id, sequence, at, type, issuer_id, token_id
    ), counted AS (
        INSERT INTO issuers_eventcount AS c (partner_id, type, issuer_id, token_id,
            number)
        SELECT partner_id, type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END,
            CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END, count(*)
        FROM numbered GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
END $$;
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'issuers_count_legacy guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        PERFORM accounts_count(ARRAY['legacyShareholders', 'legacyShareholders'],
            ARRAY[OLD.issuer_id, NEW.issuer_id], ARRAY[-1, 1]);
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg('legacyShareholders'::text),
            array_agg(issuer_id), array_agg(number))
        FROM (SELECT issuer_id, count(*) AS number FROM changed GROUP BY issuer_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg('legacyShareholders'::text),
            array_agg(issuer_id), array_agg(-number))
        FROM (SELECT issuer_id, count(*) AS number FROM changed GROUP BY issuer_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.issuers_count_legacy() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_enter(at timestamp with time zone, judges boolean, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], actors text[], legacy uuid[], reverses bigint[], entry_times timestamp with time zone[], price_tokens uuid[], price_cents bigint[], price_sources text[], price_actors text[], price_times timestamp with time zone[], held_tokens uuid[], held_accounts bigint[], held_deltas numeric[])
RETURNS TABLE(token_id uuid, number bigint, is_price boolean) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    missing bigint;
    crosses boolean;
    seqs bigint[]; supplies numeric[]; helds numeric[]; holders bigint[];
    leg_tokens uuid[]; leg_seqs bigint[]; legs smallint[]; leg_accounts bigint[];
    leg_deltas numeric[]; leg_afters numeric[];
    price_numbers bigint[];
BEGIN
    IF cardinality(entry_tokens) > 5000 OR cardinality(price_tokens) > 5000
        OR cardinality(held_tokens) > 10000 THEN
        RAISE EXCEPTION 'A call writes at most 5,000 entries and 5,000 prices.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF entry_tokens <> '{}' THEN
        SELECT array_agg(l.seq) FILTER (WHERE l.is_first),
            array_agg(l.supply_after) FILTER (WHERE l.is_first),
            array_agg(l.held_after) FILTER (WHERE l.is_first),
            array_agg(l.holders_after) FILTER (WHERE l.is_first),
            array_agg(l.token), array_agg(l.seq), array_agg(l.leg),
            array_agg(l.account), array_agg(l.delta), array_agg(l.after),
            bool_or(l.holds AND (l.after > 0) <> (l.after - l.delta > 0)),
            min(l.broken || ': token ' || l.token || ', entry ' || l.seq)
                FILTER (WHERE l.broken IS NOT NULL)
        INTO seqs, supplies, helds, holders, leg_tokens, leg_seqs, legs, leg_accounts,
            leg_deltas, leg_afters, crosses, wrong
        FROM (
            SELECT n.*, CASE
                WHEN n.account_kind IS NULL THEN 'There is no such ledger account'
                WHEN n.is_of_kind IS NOT TRUE THEN
                    'An entry moves units between accounts of its kind'
                WHEN NOT n.is_own THEN 'A treasury is of the token''s issuer'
                WHEN n.made AND n.supply_after > n.authorized_units THEN
                    'A token has no more units than are authorized'
                WHEN n.is_late IS NOT FALSE THEN
                    'The time of an entry is not before the last one of its token'
                WHEN n.reverses IS NOT NULL AND NOT EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = n.token AND u.seq = n.reverses
                        AND u.kind <> 'REVERSAL' AND u.amount = n.amount
                        AND u.source_id IS NOT DISTINCT FROM n.target
                        AND u.target_id IS NOT DISTINCT FROM n.source) THEN
                    'A reversal moves back all units of an entry'
                END AS broken
            FROM (
                -- Both legs of an entry are peers: a sum up to one holds the other.
                SELECT b.*,
                    b.last_seq + dense_rank() OVER by_place AS seq,
                    b.supply + sum(b.delta) OVER by_place AS supply_after,
                    b.held + coalesce(sum(b.delta) FILTER (WHERE b.holds)
                        OVER by_place, 0) AS held_after,
                    b.holder_count + coalesce(sum((b.after > 0)::integer
                        - (b.after - b.delta > 0)::integer) FILTER (WHERE b.holds)
                        OVER by_place, 0) AS holders_after,
                    b.entered_at < lag(b.entered_at, 1, b.last_at) OVER by_place
                        OR b.entered_at IS NULL AS is_late
                FROM (
                    SELECT e.place, e.token, e.source, e.target, e.amount, e.reverses,
                        coalesce(e.entered_at, at) AS entered_at,
                        e.source IS NULL AS made,
                        l.leg, l.account, l.delta,
                        l.leg = 1 OR e.source IS NULL AS is_first,
                        a.kind AS account_kind, a.kind = 'HOLDER' AS holds,
                        a.kind = 'HOLDER' OR a.issuer_id = t.issuer_id AS is_own,
                        a.kind = ANY (CASE l.leg WHEN 1 THEN k.sources
                                ELSE k.targets END)
                            AND (e.source IS NOT NULL
                                OR array_position(k.sources, NULL) > 0)
                            AND (e.target IS NOT NULL
                                OR array_position(k.targets, NULL) > 0) AS is_of_kind,
                        coalesce(b.balance, 0)
                            + sum(l.delta) OVER by_account AS after,
                        h.last_seq, h.supply, h.held, h.holder_count,
                        t.authorized_units,
                        greatest(h.last_effective_at, h.last_price_at, t.created_at)
                            AS last_at
                    FROM unnest(entry_tokens, kinds, sources, targets,
                        amounts::numeric(20, 0)[], reverses, entry_times)
                        WITH ORDINALITY AS e (token, kind, source, target, amount,
                            reverses, entered_at, place)
                    CROSS JOIN LATERAL (VALUES (1::smallint, e.source, -e.amount),
                        (2::smallint, e.target, e.amount)) AS l (leg, account, delta)
                    JOIN issuers_tokenledgerhead h ON h.token_id = e.token
                    JOIN issuers_token t ON t.id = e.token
                    LEFT JOIN LATERAL (
                        SELECT x.sources, x.targets
                        FROM issuers_entrykind x WHERE x.name = e.kind LIMIT 1
                    ) k ON TRUE
                    LEFT JOIN LATERAL (
                        SELECT x.kind, x.issuer_id
                        FROM issuers_ledgeraccount x WHERE x.id = l.account LIMIT 1
                    ) a ON TRUE
                    LEFT JOIN LATERAL (
                        SELECT x.balance FROM issuers_holderbalance x
                        WHERE x.token_id = e.token AND x.account_id = l.account LIMIT 1
                    ) b ON TRUE
                    WHERE l.account IS NOT NULL
                    WINDOW by_account AS (
                        PARTITION BY e.token, l.account ORDER BY e.place, l.leg)
                ) b
                WINDOW by_place AS (PARTITION BY b.token ORDER BY b.place)
            ) n
            ORDER BY n.place, n.leg
        ) l;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION '%.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
        IF cardinality(seqs) IS DISTINCT FROM cardinality(entry_tokens) THEN
            RAISE EXCEPTION 'An entry is of a token that there is, and units come or go.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_ledgertransaction (token_id, seq, kind, source_id,
            target_id, amount, effective_at, supply_after, held_after, holders_after,
            actor, reason, legacy_shareholder_id, reverses)
        SELECT e.token, e.seq, e.kind, e.source, e.target, e.amount,
            coalesce(e.entered_at, at), e.supply, e.held, e.holders, e.actor, e.reason,
            e.line, e.reverses
        FROM unnest(entry_tokens, seqs, kinds, sources, targets, amounts, entry_times,
            supplies, helds, holders, actors, reasons, legacy, reverses)
            AS e (token, seq, kind, source, target, amount, entered_at, supply, held,
                holders, actor, reason, line, reverses);
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT * FROM unnest(
            leg_tokens, leg_seqs, legs, leg_accounts, leg_deltas, leg_afters);
    END IF;
    IF entry_tokens <> '{}' OR held_tokens <> '{}' THEN
        WITH moved AS MATERIALIZED (
            SELECT w.token, w.account, sum(w.delta) AS delta, sum(w.held) AS held,
                max(w.seq) AS seq
            FROM (
                SELECT l.token, l.account, l.delta, 0::numeric AS held, l.seq
                FROM unnest(leg_tokens, leg_accounts, leg_deltas, leg_seqs)
                    AS l (token, account, delta, seq)
                UNION ALL
                SELECT r.token, r.account, 0, r.held, NULL
                FROM unnest(held_tokens, held_accounts,
                    held_deltas::numeric(20, 0)[]) AS r (token, account, held)
            ) w
            GROUP BY w.token, w.account
        ), changed AS (
            UPDATE issuers_holderbalance b
                SET balance = b.balance + m.delta, reserved = b.reserved + m.held,
                    last_seq = coalesce(m.seq, b.last_seq)
                FROM moved m
                WHERE b.token_id = m.token AND b.account_id = m.account
                RETURNING 1
        ), opened AS (
            INSERT INTO issuers_holderbalance
                (token_id, account_id, user_id, balance, last_seq, reserved)
            SELECT m.token, m.account, a.user_id, m.delta, m.seq, m.held
            FROM moved m JOIN issuers_ledgeraccount a ON a.id = m.account
            WHERE m.seq IS NOT NULL AND NOT EXISTS (
                SELECT FROM issuers_holderbalance b
                WHERE b.token_id = m.token AND b.account_id = m.account)
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM moved) - (SELECT count(*) FROM changed)
            - (SELECT count(*) FROM opened) INTO missing;
        IF missing <> 0 THEN
            RAISE EXCEPTION 'Units are reserved of a holder who has some.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF crosses THEN
        PERFORM register_follow_periods(entry_tokens, seqs);
    END IF;
    IF judges AND entry_tokens <> '{}' THEN
        PERFORM register_judge_entries(at, entry_tokens, seqs);
    END IF;
    IF array_remove(legacy, NULL) <> '{}' THEN
        WITH marked AS (
            UPDATE issuers_legacyshareholder s
                SET status = 'DELIVERED', delivered_at = coalesce(e.entered_at, at),
                    delivered_by = e.actor, ledger_seq = e.seq
                FROM unnest(legacy, entry_tokens, seqs, targets,
                        amounts::numeric(20, 0)[], actors, entry_times)
                        AS e (line, token, seq, target, amount, actor, entered_at)
                    JOIN issuers_ledgeraccount a ON a.id = e.target
                    JOIN issuers_token t ON t.id = e.token
                WHERE s.id = e.line AND s.status = 'PENDING' AND s.token_id = e.token
                    AND s.user_id = a.user_id AND s.number_of_shares = e.amount
                    AND s.issuer_id = t.issuer_id
                RETURNING 1
        )
        SELECT cardinality(array_remove(legacy, NULL)) - count(*) INTO missing
        FROM marked;
        IF missing <> 0 THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF price_tokens <> '{}' THEN
        WITH numbered AS MATERIALIZED (
            SELECT p.place, p.token, p.cents, p.source, p.actor,
                coalesce(p.priced_at, at) AS priced_at,
                h.last_price + row_number() OVER by_place AS number,
                coalesce(p.priced_at, at) < lag(coalesce(p.priced_at, at), 1,
                    greatest(h.last_effective_at, h.last_price_at, t.created_at))
                    OVER by_place AS is_late
            FROM unnest(price_tokens, price_cents, price_sources, price_actors,
                price_times) WITH ORDINALITY
                AS p (token, cents, source, actor, priced_at, place)
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token
            JOIN issuers_token t ON t.id = p.token
            WINDOW by_place AS (PARTITION BY p.token ORDER BY p.place)
        ), priced AS (
            INSERT INTO issuers_tokenprice
                (token_id, number, price_cents, source, effective_at, recorded_by)
            SELECT n.token, n.number, n.cents, n.source, n.priced_at, n.actor
            FROM numbered n ORDER BY n.place
        )
        SELECT array_agg(n.number), min('token ' || n.token || ', price ' || n.number)
            FILTER (WHERE n.is_late IS NOT FALSE)
        INTO price_numbers, wrong
        FROM (SELECT * FROM numbered ORDER BY place) n;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION 'The time of a price is not before the last one of its '
                'token: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
        IF cardinality(price_numbers) IS DISTINCT FROM cardinality(price_tokens) THEN
            RAISE EXCEPTION 'A price is of a token that there is.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET is_open = TRUE,
            last_seq = coalesce(l.seq, h.last_seq),
            last_effective_at = coalesce(l.entered_at, h.last_effective_at),
            supply = coalesce(l.supply, h.supply), held = coalesce(l.held, h.held),
            holder_count = coalesce(l.holders, h.holder_count),
            last_price = coalesce(l.number, h.last_price),
            last_price_at = coalesce(l.priced_at, h.last_price_at),
            price_cents = coalesce(l.cents, h.price_cents),
            entry_digest = CASE WHEN l.seq IS NULL THEN h.entry_digest
                ELSE register_chain_entries(h.token_id, h.last_seq, h.entry_digest) END,
            price_digest = CASE WHEN l.number IS NULL THEN h.price_digest
                ELSE register_chain_prices(h.token_id, h.last_price, h.price_digest) END
        FROM (
            -- A token has one row of each part at most.
            SELECT u.token, max(u.seq) AS seq, max(u.entered_at) AS entered_at,
                max(u.supply) AS supply, max(u.held) AS held,
                max(u.holders) AS holders, max(u.number) AS number,
                max(u.priced_at) AS priced_at, max(u.cents) AS cents
            FROM (
                (SELECT DISTINCT ON (e.token) e.token, e.seq,
                    coalesce(e.entered_at, at) AS entered_at, e.supply, e.held,
                    e.holders, NULL::bigint AS number,
                    NULL::timestamptz AS priced_at, NULL::bigint AS cents
                 FROM unnest(entry_tokens, seqs, entry_times, supplies, helds, holders)
                    AS e (token, seq, entered_at, supply, held, holders)
                 ORDER BY e.token, e.seq DESC)
                UNION ALL
                (SELECT DISTINCT ON (p.token) p.token, NULL, NULL, NULL, NULL, NULL,
                    p.number, coalesce(p.priced_at, at), p.cents
                 FROM unnest(price_tokens, price_numbers, price_times, price_cents)
                    AS p (token, number, priced_at, cents)
                 ORDER BY p.token, p.number DESC)
            ) u
            GROUP BY u.token
        ) l
        WHERE h.token_id = l.token;
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_periods(tokens uuid[], seqs bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
BEGIN
    WITH changed AS MATERIALIZED (
        SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
            lag(p.seq) OVER changes AS before, lead(p.seq) OVER changes AS next
        FROM unnest(tokens, seqs) AS w (token, seq)
        JOIN issuers_ledgerposting p ON p.token_id = w.token AND p.seq = w.seq
        JOIN issuers_ledgeraccount a ON a.id = p.account_id
        WHERE a.user_id IS NOT NULL
            AND (p.balance_after > 0) <> (p.balance_after > p.delta)
        WINDOW changes AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
    ), ended AS (
        UPDATE issuers_holdingperiod h SET until = c.seq
        FROM (
            SELECT k.seq, (SELECT x.ctid FROM issuers_holdingperiod x
                WHERE x.token_id = k.token_id AND x.user_id = k.user_id
                    AND x.until IS NULL) AS place
            FROM changed k WHERE NOT k.holds AND k.before IS NULL OFFSET 0
        ) c
        WHERE h.ctid = c.place RETURNING 1
    )
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
    SELECT c.token_id, c.user_id, c.seq, c.next
    FROM changed c, (SELECT count(*) FROM ended) AS at_first
    WHERE c.holds;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_periods(uuid[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    marked bigint;
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'register_follow_transactions guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    WITH numbered AS (
        SELECT e.*, h.supply, h.held, h.holder_count, t.authorized_units,
            t.issuer_id AS token_issuer_id,
            e.seq = h.last_seq + row_number() OVER by_seq
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_effective_at, t.created_at)) OVER by_seq
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AND CASE e.kind
                WHEN 'MINT' THEN e.source_id IS NULL
                WHEN 'BURN' THEN e.target_id IS NULL
                WHEN 'LEGACY_DELIVERY' THEN e.target_id IS NOT NULL
                WHEN 'REVERSAL' THEN EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = e.token_id AND u.seq = e.reverses
                        AND u.seq < e.seq AND u.kind <> 'REVERSAL'
                        AND u.amount = e.amount
                        AND u.source_id IS NOT DISTINCT FROM e.target_id
                        AND u.target_id IS NOT DISTINCT FROM e.source_id)
                ELSE e.source_id IS NOT NULL AND e.target_id IS NOT NULL END
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_seq AS (PARTITION BY e.token_id ORDER BY e.seq)
    ), accounts AS (
        SELECT n.*, l.leg, l.account_id, l.delta, a.user_id, a.kind = 'HOLDER' AS holds,
            coalesce(b.balance_after, 0) + sum(l.delta) OVER by_account AS after,
            n.follows AND CASE
                WHEN n.kind IN ('TRANSFER', 'FORCED_TRANSFER', 'TRADE') THEN a.kind = 'HOLDER'
                WHEN n.kind IN ('ALLOCATE', 'LEGACY_DELIVERY')
                    THEN a.kind = CASE leg WHEN 1 THEN 'TREASURY' ELSE 'HOLDER' END
                WHEN n.kind = 'RETURN'
                    THEN a.kind = CASE leg WHEN 1 THEN 'HOLDER' ELSE 'TREASURY' END
                ELSE n.kind IN ('MINT', 'BURN', 'REVERSAL') AND a.kind IS NOT NULL END
            AND (a.kind = 'HOLDER' OR a.issuer_id = n.token_issuer_id) AS allowed
        FROM numbered n
        CROSS JOIN LATERAL (
            VALUES (1, n.source_id, -n.amount), (2, n.target_id, n.amount)
        ) AS l (leg, account_id, delta)
        LEFT JOIN LATERAL (
            SELECT kind, user_id, issuer_id FROM issuers_ledgeraccount
            WHERE id = l.account_id LIMIT 1
        ) a ON TRUE
        LEFT JOIN LATERAL (
            SELECT p.balance_after FROM issuers_ledgerposting p
            WHERE p.token_id = n.token_id AND p.account_id = l.account_id
            ORDER BY p.seq DESC LIMIT 1
        ) b ON TRUE
        WHERE l.account_id IS NOT NULL
        WINDOW by_account AS (PARTITION BY n.token_id, l.account_id ORDER BY n.seq)
    ), legs AS MATERIALIZED (
        -- Both legs of an entry are peers: a sum up to one holds the other, too.
        SELECT token_id, seq, leg, account_id, user_id, delta, after,
            allowed
            AND supply_after = supply + sum(delta) OVER by_seq
            AND held_after = held + coalesce(sum(delta) FILTER (WHERE holds) OVER by_seq, 0)
            AND holders_after = holder_count + coalesce(sum(
                (after > 0)::int - (after - delta > 0)::int)
                FILTER (WHERE holds) OVER by_seq, 0)
            AND (source_id IS NOT NULL OR supply_after <= authorized_units) IS NOT FALSE
            AS follows
        FROM accounts
        WINDOW by_seq AS (PARTITION BY token_id ORDER BY seq)
    ), posted AS (
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT token_id, seq, leg, account_id, delta, after FROM legs
    ), balanced AS (
        INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (token_id, account_id)
            token_id, account_id, user_id, after, seq
        FROM legs ORDER BY token_id, account_id, seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq
    )
    SELECT format('token %s, entry %s', token_id, seq) INTO wrong
    FROM legs WHERE follows IS NOT TRUE ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The ledger''s next entry must have the next number, the time '
            'that its writer took under the lock, accounts of its kind, and the '
            'supply, held units and holders that follow: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_follow_periods(array_agg(token_id), array_agg(seq)) FROM entered;
    PERFORM register_judge_entries(e.effective_at, array_agg(e.token_id),
        array_agg(e.seq))
    FROM entered e
    JOIN issuers_token t ON t.id = e.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
        AND i.recorded_in IS DISTINCT FROM (SELECT register_transaction(0))
    GROUP BY e.effective_at;
    IF EXISTS (SELECT FROM entered WHERE legacy_shareholder_id IS NOT NULL) THEN
        UPDATE issuers_legacyshareholder s
            SET status = 'DELIVERED', delivered_at = e.effective_at,
                delivered_by = e.actor, ledger_seq = e.seq
            FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.target_id
            WHERE s.id = e.legacy_shareholder_id AND s.status = 'PENDING'
                AND s.token_id = e.token_id AND s.user_id = a.user_id
                AND s.number_of_shares = e.amount AND s.issuer_id = (
                    SELECT issuer_id FROM issuers_token WHERE id = e.token_id);
        GET DIAGNOSTICS marked = ROW_COUNT;
        IF marked <> (SELECT count(legacy_shareholder_id) FROM entered) THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_seq = l.seq, last_effective_at = l.effective_at,
            supply = l.supply_after, held = l.held_after,
            holder_count = l.holders_after,
            entry_digest = register_chain_entries(
                h.token_id, h.last_seq, h.entry_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, seq DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_history(actor text, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], legacy uuid[], entry_times timestamp with time zone[], price_tokens uuid[], price_cents bigint[], price_sources text[], price_times timestamp with time zone[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    made_now constant bigint := register_transaction(0);
    tokens uuid[] := ARRAY(
        SELECT DISTINCT t FROM unnest(entry_tokens || price_tokens) AS t);
    wrong text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(tokens);
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT t.symbol INTO wrong
    FROM issuers_tokenledgerhead h
    JOIN issuers_token t ON t.id = h.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
    WHERE h.token_id = ANY (tokens) AND (i.recorded_in IS DISTINCT FROM made_now
        OR (h.is_open OR h.last_seq > 0 OR h.last_price > 0)
            AND (h.hold_transaction, h.hold_at)
                IS DISTINCT FROM (made_now, 'epoch'::timestamptz))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A past is written for a token that is new in this transaction, '
            'with its issuer: not for %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'TRADE' = ANY (kinds) OR 'REVERSAL' = ANY (kinds) THEN
        RAISE EXCEPTION 'A past has no trades and no reversals.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM unnest(entry_times || price_times) AS w (entered_at)
            WHERE (w.entered_at <= clock_timestamp()) IS NOT TRUE)
        OR cardinality(entry_times) <> cardinality(entry_tokens)
        OR cardinality(price_times) <> cardinality(price_tokens) THEN
        RAISE EXCEPTION 'A past has times, and none of them is to come.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- Further calls of this transaction go on with it.
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = made_now, hold_at = 'epoch'
        WHERE h.token_id = ANY (tokens) AND NOT h.is_open;
    PERFORM register_enter(clock_timestamp(), FALSE, entry_tokens, kinds, sources,
        targets, amounts, reasons,
        array_fill(actor, ARRAY[cardinality(entry_tokens)]), legacy,
        array_fill(NULL::bigint, ARRAY[cardinality(entry_tokens)]), entry_times,
        price_tokens, price_cents, price_sources,
        array_fill(actor, ARRAY[cardinality(price_tokens)]), price_times, '{}', '{}',
        '{}');
END $$;
REVOKE ALL ON FUNCTION public.register_history(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], timestamp with time zone[], uuid[], bigint[], text[], timestamp with time zone[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge(of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp with time zone, past boolean, source_balance numeric, source_reserved numeric, target_balance numeric, supply_after numeric, holders_before bigint, holders_after bigint, newcomer uuid DEFAULT NULL::uuid)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    of_kind issuers_entrykind;
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO of_kind FROM issuers_entrykind k WHERE k.name = kind;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no kind of entry %.', kind
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN of_kind.is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE of_kind.is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE of_kind.is_paused AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE of_kind.is_given OR of_kind.is_forced AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE of_kind.is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE of_kind.is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;
GRANT EXECUTE ON FUNCTION public.register_judge(uuid, text, bigint, bigint, numeric, timestamp with time zone, boolean, numeric, numeric, numeric, numeric, bigint, bigint, uuid) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge_entries(at timestamp with time zone, entry_tokens uuid[], seqs bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = ANY (entry_tokens)
            AND (r.ended_at IS NULL OR r.ended_at > at))
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at > at) THEN
        RETURN;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                s.balance_after AS source_after, g.balance_after AS target_after
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = w.token
            LEFT JOIN issuers_ledgerposting s
                ON s.token_id = w.token AND s.seq = w.seq AND s.leg = 1
            LEFT JOIN issuers_ledgerposting g
                ON g.token_id = w.token AND g.seq = w.seq AND g.leg = 2
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id
                    AND (r.ended_at IS NULL OR r.ended_at > at))
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at > at))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            at, FALSE, e.source_after + e.amount, 0, e.target_after - e.amount,
            e.supply_after, e.holders_before, e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, b.balance, b.reserved
        FROM (
            SELECT x.token_id, x.source_id AS account_id
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_entrykind k ON k.name = x.kind
            WHERE x.source_id IS NOT NULL
            GROUP BY x.token_id, x.source_id
            HAVING bool_and(k.is_taken)
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.register_judge_entries(timestamp with time zone, uuid[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_open_accounts(users uuid[], issuers uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- The lock keeps a profile from going to another user meanwhile.
    INSERT INTO issuers_ledgeraccount (kind, holder_id, user_id)
    SELECT 'HOLDER', h.id, h.user_id FROM accounts_userholder h
    WHERE h.user_id = ANY (users) ORDER BY h.user_id FOR KEY SHARE
    ON CONFLICT DO NOTHING;
    INSERT INTO issuers_ledgeraccount (kind, issuer_id)
    SELECT 'TREASURY', i.id FROM issuers_issuer i
    WHERE i.id = ANY (issuers) ORDER BY i.id
    ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.register_open_accounts(uuid[], uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_post(at timestamp with time zone, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], actors text[], legacy uuid[], reverses bigint[], price_tokens uuid[], price_cents bigint[], price_sources text[], price_actors text[], held_tokens uuid[], held_accounts bigint[], held_deltas numeric[])
RETURNS TABLE(token_id uuid, number bigint, is_price boolean) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'The register is written at a time of this transaction: not %.',
            at USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY SELECT * FROM register_enter(at, TRUE, entry_tokens, kinds, sources,
        targets, amounts, reasons, actors, legacy, reverses, NULL, price_tokens,
        price_cents, price_sources, price_actors, NULL, held_tokens, held_accounts,
        held_deltas);
END $$;
REVOKE ALL ON FUNCTION public.register_post(timestamp with time zone, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], uuid[], bigint[], text[], text[], uuid[], bigint[], numeric[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_read(tokens uuid[], of_tokens uuid[], accounts bigint[], holds boolean)
RETURNS TABLE(token_id uuid, symbol text, issuer_id uuid, created_at timestamp with time zone, authorized_units numeric, last_seq bigint, last_price bigint, supply numeric, held numeric, holder_count bigint, price_cents bigint, is_open boolean, last_at timestamp with time zone, clock timestamp with time zone, states text) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    last timestamptz;
    taken timestamptz;
    binds boolean;
BEGIN
    IF holds THEN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'This is done in a transaction that is READ '
                'COMMITTED: the snapshot of another does not show what was committed '
                'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
        END IF;
        PERFORM register_mark(tokens);
        PERFORM FROM issuers_tokenledgerhead h
            WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
        SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
        FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (tokens);
        WHILE last > clock_timestamp()
            AND last <= clock_timestamp() + interval '1 second'
        LOOP
            PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
        END LOOP;
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (accounts) AND a.kind = 'HOLDER'
            ORDER BY a.id FOR SHARE;
    END IF;
    taken := clock_timestamp();
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    binds := accounts <> '{}' AND (
        EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = ANY (of_tokens)
            AND (r.ended_at IS NULL OR r.ended_at > taken))
        OR EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at > taken));
    RETURN QUERY
    SELECT h.token_id, t.symbol::text, t.issuer_id, t.created_at, t.authorized_units,
        h.last_seq, h.last_price, h.supply, h.held, h.holder_count, h.price_cents,
        h.is_open, greatest(h.last_effective_at, h.last_price_at), taken,
        CASE WHEN accounts <> '{}' THEN (
            SELECT json_agg(json_build_array(a.id, a.kind, a.issuer_id,
                coalesce(holder.name, 'the treasury of ' || issuer.trading_name, ''),
                coalesce(b.balance, 0), coalesce(b.reserved, 0), s.standing))::text
            FROM unnest(of_tokens, accounts) AS w (token, account)
            -- LATERAL looks each account up: where statistics are older than a large
            -- import, the planner would compare each account with all.
            JOIN LATERAL (
                SELECT * FROM issuers_ledgeraccount x WHERE x.id = w.account LIMIT 1
            ) a ON TRUE
            LEFT JOIN LATERAL (
                SELECT x.trading_name FROM issuers_issuer x
                WHERE x.id = a.issuer_id LIMIT 1
            ) issuer ON TRUE
            LEFT JOIN LATERAL (
                SELECT x.name FROM accounts_userholder x
                WHERE x.id = a.holder_id LIMIT 1
            ) holder ON TRUE
            LEFT JOIN LATERAL (
                SELECT x.balance, x.reserved FROM issuers_holderbalance x
                WHERE x.token_id = w.token AND x.account_id = w.account LIMIT 1
            ) b ON TRUE
            LEFT JOIN LATERAL (
                SELECT json_build_array(y.is_paused, y.sending::text,
                    y.receiving::text, y.locked, y.locked_until, y.most_units,
                    y.most_bps, y.most_holders) AS standing
                FROM (
                    SELECT WHERE binds AND (
                        EXISTS (SELECT FROM issuers_tokenrule r
                            WHERE r.token_id = w.token
                                AND (r.ended_at IS NULL OR r.ended_at > taken))
                        OR EXISTS (SELECT FROM issuers_restriction r
                            WHERE r.ledger_account_id = w.account
                                AND (r.ended_at IS NULL OR r.ended_at > taken)))
                    OFFSET 0
                ) AS is_bound
                CROSS JOIN LATERAL
                    register_standing(w.token, ARRAY[w.account], taken, FALSE) y
            ) s ON TRUE
            WHERE w.token = h.token_id
        ) END
    FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
    WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;
REVOKE ALL ON FUNCTION public.register_read(uuid[], uuid[], bigint[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_write(actor text, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[], amounts numeric[], reasons text[], legacy uuid[], reverses bigint[], price_tokens uuid[], price_cents bigint[], price_sources text[], step bigint)
RETURNS TABLE(token_id uuid, number bigint, is_price boolean, entered_at timestamp with time zone) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    made_now constant bigint := register_transaction(0);
    person constant text := approvals_person();
    carried constant uuid[] := string_to_array(
        nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[];
    taken timestamptz;
    last timestamptz;
    wrong text;
    tokens uuid[]; numbers bigint[]; priced boolean[];
    asked text[];
    used uuid[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'TRADE' = ANY (kinds) OR 'TRADE' = ANY (price_sources) THEN
        RAISE EXCEPTION 'Only a market enters trades and their prices.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- A reader of an instant waits for those marked before its lock is asked for.
    PERFORM register_mark(ARRAY(
        SELECT DISTINCT t FROM unnest(entry_tokens || price_tokens) AS t));
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (entry_tokens || price_tokens)
        ORDER BY h.token_id FOR UPDATE;
    SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (entry_tokens || price_tokens);
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    taken := clock_timestamp();
    IF array_remove(reverses, NULL) <> '{}' AND EXISTS (
        SELECT FROM unnest(entry_tokens, reverses) AS e (token, undone)
        JOIN issuers_ledgertransaction t
            ON t.token_id = e.token AND t.seq = e.undone AND t.kind = 'TRADE') THEN
        RAISE EXCEPTION 'Only market bust reverses a trade, with its payment.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(p.token_id), array_agg(p.number), array_agg(p.is_price)
    INTO tokens, numbers, priced
    FROM register_post(taken, entry_tokens, kinds, sources, targets, amounts, reasons,
        array_fill(actor, ARRAY[cardinality(entry_tokens)]), legacy, reverses,
        price_tokens, price_cents, price_sources,
        array_fill(actor, ARRAY[cardinality(price_tokens)]), '{}', '{}', '{}') p;
    IF array_remove(legacy, NULL) <> '{}' THEN
        SELECT format('line %s', e.line) INTO wrong
        FROM unnest(legacy, entry_tokens, sources, targets, amounts)
            AS e (line, token, source, target, amount)
        JOIN issuers_token t ON t.id = e.token
        JOIN issuers_issuer i ON i.id = t.issuer_id
            AND i.recorded_in IS DISTINCT FROM made_now
        JOIN issuers_ledgeraccount a ON a.id = e.target
        WHERE e.line IS NOT NULL AND NOT EXISTS (
            SELECT FROM issuers_deliverystep s
            JOIN issuers_deliveryjob j ON j.id = s.job_id AND j.released_at IS NOT NULL
            CROSS JOIN LATERAL (
                SELECT array_position(s.shareholder_ids, e.line) AS place) l
            WHERE s.id = step AND s.units[l.place] = e.amount
                AND s.token_ids[l.place] = e.token AND s.user_ids[l.place] = a.user_id
                AND (j.source = 'MINT') = (e.source IS NULL))
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'Legacy shares are delivered as a released delivery has frozen '
                'them: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    -- What needs the right of a member of staff, and by policy a second person.
    SELECT array_agg(DISTINCT a.kind) INTO asked FROM (
        SELECT k.approval AS kind, e.token FROM unnest(kinds, entry_tokens)
            AS e (kind, token)
        JOIN issuers_entrykind k ON k.name = e.kind
        UNION ALL SELECT 'PRICE', p.token FROM unnest(price_tokens) AS p (token)
    ) a
    JOIN issuers_token t ON t.id = a.token
    JOIN issuers_issuer i ON i.id = t.issuer_id
    WHERE a.kind IS NOT NULL AND i.recorded_in IS DISTINCT FROM made_now;
    IF asked IS NULL THEN
        RETURN QUERY SELECT d.token, d.number, d.priced, taken
            FROM unnest(tokens, numbers, priced) AS d (token, number, priced);
        RETURN;
    END IF;
    IF person NOT IN ('SQL', 'command') THEN
        SELECT k.kind INTO wrong FROM unnest(asked) AS k (kind)
        WHERE NOT approvals_may(person::uuid, 'file_' || k.kind)
            AND NOT approvals_may(person::uuid, 'decide_' || k.kind) LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'Only a member of staff with the right to do so writes this '
                'into the register: %.', lower(wrong)
                USING ERRCODE = 'restrict_violation';
        END IF;
        IF NOT EXISTS (SELECT FROM accounts_user u WHERE u.email = actor
            AND (u.id = person::uuid OR EXISTS (
                SELECT FROM accounts_approvalrequest r
                WHERE r.id = ANY (carried) AND r.filed_by_id = u.id))) THEN
            RAISE EXCEPTION 'The register names the user that is signed in, or that '
                'filed the request: not %.', actor USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF carried IS NULL AND NOT EXISTS (
        SELECT FROM unnest(asked) AS k (kind)
        LEFT JOIN accounts_approvalpolicy p ON p.kind = k.kind
        WHERE p.is_required IS NOT FALSE) THEN
        RETURN QUERY SELECT d.token, d.number, d.priced, taken
            FROM unnest(tokens, numbers, priced) AS d (token, number, priced);
        RETURN;
    END IF;
    SELECT array_agg(approvals_use(e.approval, jsonb_build_object(
        'token', e.token_id, 'from', e.source_id, 'to', e.target_id,
        'units', e.amount::text, 'reverses', e.reverses, 'reason', e.reason,
        'supply', CASE WHEN e.approval <> 'TRANSFER'
            AND (e.source_id IS NULL OR e.target_id IS NULL)
            THEN e.supply_after::text END),
        e.amount, e.token_id, e.seq)) INTO used
    FROM (
        SELECT x.*, k.approval
        FROM unnest(tokens, numbers, priced) WITH ORDINALITY
            AS d (token, number, priced, place)
        -- LATERAL looks each entry up, and never all of a token.
        CROSS JOIN LATERAL (
            SELECT * FROM issuers_ledgertransaction y
            WHERE y.token_id = d.token AND y.seq = d.number AND NOT d.priced LIMIT 1
        ) x
        JOIN issuers_entrykind k ON k.name = x.kind AND k.approval IS NOT NULL
        JOIN issuers_token t ON t.id = x.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE i.recorded_in IS DISTINCT FROM made_now
            AND (k.approval <> 'TRANSFER' OR person <> 'SQL')
        ORDER BY d.place
        OFFSET 0
    ) e;
    IF price_tokens <> '{}' THEN
        SELECT used || array_agg(approvals_use('PRICE', jsonb_build_object(
            'token', p.token_id, 'cents', p.price_cents::text, 'source', p.source,
            'after', p.before), p.price_cents, p.token_id, p.number)) INTO used
        FROM (
            SELECT x.*, (SELECT coalesce(max(y.number), 0) FROM issuers_tokenprice y
                WHERE y.token_id = x.token_id AND y.number < x.number
                    AND y.source <> 'TRADE') AS before
            FROM unnest(tokens, numbers, priced) WITH ORDINALITY
                AS d (token, number, priced, place)
            CROSS JOIN LATERAL (
                SELECT * FROM issuers_tokenprice y
                WHERE y.token_id = d.token AND y.number = d.number AND d.priced LIMIT 1
            ) x
            JOIN issuers_token t ON t.id = x.token_id
            JOIN issuers_issuer i ON i.id = t.issuer_id
            WHERE i.recorded_in IS DISTINCT FROM made_now
            ORDER BY d.place
            OFFSET 0
        ) p;
    END IF;
    IF person NOT IN ('SQL', 'command') AND EXISTS (
        SELECT FROM accounts_approvalrequest r
        JOIN accounts_approvaldecision d ON d.request_id = r.id
        WHERE r.id = ANY (used)
            AND person::uuid NOT IN (r.filed_by_id, d.decided_by_id)) THEN
        RAISE EXCEPTION 'A request is carried out by the user that filed or decided it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY SELECT d.token, d.number, d.priced, taken
        FROM unnest(tokens, numbers, priced) AS d (token, number, priced);
END $$;
REVOKE ALL ON FUNCTION public.register_write(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], bigint[], uuid[], bigint[], text[], bigint) FROM PUBLIC;

CREATE OR REPLACE TRIGGER account_is_held_first BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_hold_investor();

CREATE OR REPLACE TRIGGER approvals_of_delivered_line AFTER INSERT ON public.issuers_ledgertransaction FOR EACH ROW WHEN (new.kind = 'LEGACY_DELIVERY' AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_delivered_line();

DROP TRIGGER IF EXISTS approvals_of_entry ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_entry AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = ANY (ARRAY['MINT', 'BURN', 'FORCED_TRANSFER', 'REVERSAL'])) AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_entry();

DROP TRIGGER IF EXISTS approvals_of_grant ON public.issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant AFTER INSERT OR UPDATE ON public.issuers_issuergrant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.ended_at IS NULL AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_grant();

DROP TRIGGER IF EXISTS approvals_of_lifting ON public.issuers_restriction;
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_lifting();

DROP TRIGGER IF EXISTS approvals_of_price ON public.issuers_tokenprice;
CREATE CONSTRAINT TRIGGER approvals_of_price AFTER INSERT ON public.issuers_tokenprice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.source <> 'TRADE' AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_price();

DROP TRIGGER IF EXISTS approvals_of_rule ON public.issuers_tokenrule;
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_rule();

CREATE OR REPLACE TRIGGER approvals_of_trade_price AFTER INSERT ON public.issuers_tokenprice FOR EACH ROW WHEN (new.source = 'TRADE' AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_trade_price();

DROP TRIGGER IF EXISTS approvals_of_transfer ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_transfer AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = ANY (ARRAY['TRANSFER', 'ALLOCATE', 'RETURN'])) AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_transfer();

CREATE OR REPLACE TRIGGER compliance_know_countries AFTER INSERT ON public.issuers_tokenrule FOR EACH ROW WHEN (new.kind = 'COUNTRIES' AND public.accounts_written_directly()) EXECUTE FUNCTION public.compliance_know_countries();

DROP TRIGGER IF EXISTS events_number ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_number AFTER DELETE ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.leads) EXECUTE FUNCTION public.events_number();

CREATE OR REPLACE TRIGGER register_follow_holdings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_follow_holdings();

CREATE OR REPLACE TRIGGER register_follow_prices AFTER INSERT ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_follow_prices();

CREATE OR REPLACE TRIGGER register_follow_transactions AFTER INSERT ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_follow_transactions();

CREATE OR REPLACE TRIGGER register_judge_postings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_judge_postings();

CREATE OR REPLACE TRIGGER register_keep_approvedholder BEFORE INSERT OR UPDATE ON public.issuers_approvedholder FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_approvedholder();

CREATE OR REPLACE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER register_keep_marked BEFORE UPDATE ON public.issuers_legacyshareholder FOR EACH ROW WHEN (old.status = 'DELIVERED' OR new.status = 'DELIVERED' AND public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE ON public.issuers_restriction FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_restriction();

CREATE OR REPLACE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE ON public.issuers_tokenrule FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_tokenrule();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '50 ms';
LOCK TABLE public.accounts_investorchange, public.issuers_approvedholder, public.issuers_issuergrant, public.issuers_ledgerposting, public.issuers_ledgertransaction, public.issuers_legacyshareholder, public.issuers_restriction, public.issuers_tokenprice, public.issuers_tokenrule, public.issuers_unnumberedevent IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.events_account_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'events_account_changed guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'ACCOUNT_STATUS_CHANGED', a.id,
        NULL::uuid, NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_announce guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_unnumberedevent SET leads = TRUE WHERE id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_announce() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce_articles()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    announced bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', 'ARTICLE_PUBLISHED', a.id,
        a.issuer_id
    FROM come JOIN issuers_article a ON a.id = come.article_id ORDER BY a.published_at;
    GET DIAGNOSTICS announced = ROW_COUNT;
    RETURN announced;
END $$;
REVOKE ALL ON FUNCTION public.events_announce_articles() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_article'::regclass THEN
        RAISE EXCEPTION 'events_article_changed guards issuers_article, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'ARTICLE_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_article_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'CASH_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_count()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_event'::regclass THEN
        RAISE EXCEPTION 'events_count guards issuers_event, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO issuers_eventcount AS c (partner_id, type, issuer_id, token_id,
            number)
        SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id, count(*) FROM changed GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number;
    ELSE
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id, count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
        WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_count() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuerfinancialdata'::regclass THEN
        RAISE EXCEPTION 'events_figures_changed guards issuers_issuerfinancialdata, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'FINANCIAL_DATA_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_grant_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', g.partner_id, 'GRANT_CHANGED', g.issuer_id, g.issuer_id,
        NULL::uuid, NULL::uuid, NULL::bigint
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_investor_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'INVESTOR_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_key_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'events_key_changed guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', coalesce(NEW.partner_id, OLD.partner_id), 'KEY_CHANGED',
        NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'LEGACY_SHARES_DELIVERED', e.id, e.issuer_id,
        e.token_id, NULL::uuid, e.ledger_seq
    FROM entered e WHERE e.status = 'DELIVERED' ORDER BY e.ledger_seq 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    gives boolean;
    asks boolean;
    taken timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_number guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT bool_or(type = 'GRANT_CHANGED'), bool_or(audience = 'GRANTED')
    INTO gives, asks FROM issuers_unnumberedevent
    WHERE transaction = pg_current_xact_id()::text::bigint
        AND EXISTS (SELECT FROM issuers_unnumberedevent WHERE id = NEW.id);
    IF gives IS NULL THEN
        RETURN NULL;
    ELSIF gives THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF asks THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    PERFORM FROM issuers_eventhead WHERE partner_id IN (
            SELECT p.id FROM issuers_unnumberedevent u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
            WHERE u.transaction = pg_current_xact_id()::text::bigint)
        ORDER BY partner_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint;
        RETURN NULL;
    END IF;
    taken := clock_timestamp();
    WITH happened AS (
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price, quantity, remaining, trade, reason)
        SELECT gen_random_uuid(), h.partner_id, h.last_sequence + row_number() OVER (
                PARTITION BY h.partner_id ORDER BY u.id),
            u.type, greatest(h.last_at, taken), coalesce(u.order_id, u.subject_id), u.issuer_id, u.token_id,
            u.account_id, u.ledger_sequence, u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM happened u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
        JOIN issuers_eventhead h ON h.partner_id = p.id
        RETURNING partner_id, sequence, at
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_price_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, CASE t.visibility WHEN 'PUBLIC' THEN 'ALL' ELSE 'GRANTED' END,
        NULL::uuid, 'TOKEN_PRICE_CHANGED', e.token_id, t.issuer_id, e.token_id,
        NULL::uuid, NULL::bigint
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'REGISTER_CHANGED', e.token_id,
        t.issuer_id, e.token_id, NULL::uuid, e.seq
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE' GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_withdrawal_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'CASH_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT c.account_id FROM entered w JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'issuers_count_legacy guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', OLD.issuer_id, -1 UNION ALL SELECT 'legacyShareholders', NEW.issuer_id, 1) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, -count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.issuers_count_legacy() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    marked bigint;
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'register_follow_transactions guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    WITH numbered AS (
        SELECT e.*, h.supply, h.held, h.holder_count, t.authorized_units,
            t.issuer_id AS token_issuer_id,
            e.seq = h.last_seq + row_number() OVER by_seq
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_effective_at, t.created_at)) OVER by_seq
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AND CASE e.kind
                WHEN 'MINT' THEN e.source_id IS NULL
                WHEN 'BURN' THEN e.target_id IS NULL
                WHEN 'LEGACY_DELIVERY' THEN e.target_id IS NOT NULL
                WHEN 'REVERSAL' THEN EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = e.token_id AND u.seq = e.reverses
                        AND u.seq < e.seq AND u.kind <> 'REVERSAL'
                        AND u.amount = e.amount
                        AND u.source_id IS NOT DISTINCT FROM e.target_id
                        AND u.target_id IS NOT DISTINCT FROM e.source_id)
                ELSE e.source_id IS NOT NULL AND e.target_id IS NOT NULL END
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_seq AS (PARTITION BY e.token_id ORDER BY e.seq)
    ), accounts AS (
        SELECT n.*, l.leg, l.account_id, l.delta, a.user_id, a.kind = 'HOLDER' AS holds,
            coalesce(b.balance_after, 0) + sum(l.delta) OVER by_account AS after,
            n.follows AND CASE
                WHEN n.kind IN ('TRANSFER', 'FORCED_TRANSFER', 'TRADE') THEN a.kind = 'HOLDER'
                WHEN n.kind IN ('ALLOCATE', 'LEGACY_DELIVERY')
                    THEN a.kind = CASE leg WHEN 1 THEN 'TREASURY' ELSE 'HOLDER' END
                WHEN n.kind = 'RETURN'
                    THEN a.kind = CASE leg WHEN 1 THEN 'HOLDER' ELSE 'TREASURY' END
                ELSE n.kind IN ('MINT', 'BURN', 'REVERSAL') AND a.kind IS NOT NULL END
            AND (a.kind = 'HOLDER' OR a.issuer_id = n.token_issuer_id) AS allowed
        FROM numbered n
        CROSS JOIN LATERAL (
            VALUES (1, n.source_id, -n.amount), (2, n.target_id, n.amount)
        ) AS l (leg, account_id, delta)
        LEFT JOIN LATERAL (
            SELECT kind, user_id, issuer_id FROM issuers_ledgeraccount
            WHERE id = l.account_id LIMIT 1
        ) a ON TRUE
        LEFT JOIN LATERAL (
            SELECT p.balance_after FROM issuers_ledgerposting p
            WHERE p.token_id = n.token_id AND p.account_id = l.account_id
            ORDER BY p.seq DESC LIMIT 1
        ) b ON TRUE
        WHERE l.account_id IS NOT NULL
        WINDOW by_account AS (PARTITION BY n.token_id, l.account_id ORDER BY n.seq)
    ), legs AS MATERIALIZED (
        -- Both legs of an entry are peers: a sum up to one holds the other, too.
        SELECT token_id, seq, leg, account_id, user_id, delta, after,
            allowed
            AND supply_after = supply + sum(delta) OVER by_seq
            AND held_after = held + coalesce(sum(delta) FILTER (WHERE holds) OVER by_seq, 0)
            AND holders_after = holder_count + coalesce(sum(
                (after > 0)::int - (after - delta > 0)::int)
                FILTER (WHERE holds) OVER by_seq, 0)
            AND (source_id IS NOT NULL OR supply_after <= authorized_units) IS NOT FALSE
            AS follows
        FROM accounts
        WINDOW by_seq AS (PARTITION BY token_id ORDER BY seq)
    ), posted AS (
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT token_id, seq, leg, account_id, delta, after FROM legs
    ), balanced AS (
        INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (token_id, account_id)
            token_id, account_id, user_id, after, seq
        FROM legs ORDER BY token_id, account_id, seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq
    )
    SELECT format('token %s, entry %s', token_id, seq) INTO wrong
    FROM legs WHERE follows IS NOT TRUE ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The ledger''s next entry must have the next number, the time '
            'that its writer took under the lock, accounts of its kind, and the '
            'supply, held units and holders that follow: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM entered WHERE legacy_shareholder_id IS NOT NULL) THEN
        UPDATE issuers_legacyshareholder s
            SET status = 'DELIVERED', delivered_at = e.effective_at,
                delivered_by = e.actor, ledger_seq = e.seq
            FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.target_id
            WHERE s.id = e.legacy_shareholder_id AND s.status = 'PENDING'
                AND s.token_id = e.token_id AND s.user_id = a.user_id
                AND s.number_of_shares = e.amount AND s.issuer_id = (
                    SELECT issuer_id FROM issuers_token WHERE id = e.token_id);
        GET DIAGNOSTICS marked = ROW_COUNT;
        IF marked <> (SELECT count(legacy_shareholder_id) FROM entered) THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_seq = l.seq, last_effective_at = l.effective_at,
            supply = l.supply_after, held = l.held_after,
            holder_count = l.holders_after,
            entry_digest = register_chain_entries(
                h.token_id, h.last_seq, h.entry_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, seq DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge(of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp with time zone, past boolean, source_balance numeric, source_reserved numeric, target_balance numeric, supply_after numeric, holders_before bigint, holders_after bigint, newcomer uuid DEFAULT NULL::uuid)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    is_free boolean := kind IN ('TRADE', 'TRANSFER');
    is_taken boolean := kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN');
    is_given boolean := kind IN
        ('TRADE', 'TRANSFER', 'MINT', 'ALLOCATE', 'LEGACY_DELIVERY');
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE is_free AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE is_given OR kind = 'FORCED_TRANSFER' AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;
GRANT EXECUTE ON FUNCTION public.register_judge(uuid, text, bigint, bigint, numeric, timestamp with time zone, boolean, numeric, numeric, numeric, numeric, bigint, bigint, uuid) TO PUBLIC;

CREATE OR REPLACE TRIGGER account_is_held_first BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.register_hold_investor();

CREATE OR REPLACE TRIGGER approvals_of_delivered_line AFTER INSERT ON public.issuers_ledgertransaction FOR EACH ROW WHEN (new.kind = 'LEGACY_DELIVERY' AND new.effective_at > (transaction_timestamp() - '1 day'::interval)) EXECUTE FUNCTION public.approvals_of_delivered_line();

DROP TRIGGER IF EXISTS approvals_of_entry ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_entry AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = ANY (ARRAY['MINT', 'BURN', 'FORCED_TRANSFER', 'REVERSAL'])) AND new.effective_at > (transaction_timestamp() - '1 day'::interval)) EXECUTE FUNCTION public.approvals_of_entry();

DROP TRIGGER IF EXISTS approvals_of_grant ON public.issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant AFTER INSERT OR UPDATE ON public.issuers_issuergrant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.ended_at IS NULL) EXECUTE FUNCTION public.approvals_of_grant();

DROP TRIGGER IF EXISTS approvals_of_lifting ON public.issuers_restriction;
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_lifting();

DROP TRIGGER IF EXISTS approvals_of_price ON public.issuers_tokenprice;
CREATE CONSTRAINT TRIGGER approvals_of_price AFTER INSERT ON public.issuers_tokenprice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.source <> 'TRADE' AND new.effective_at > (transaction_timestamp() - '1 day'::interval)) EXECUTE FUNCTION public.approvals_of_price();

DROP TRIGGER IF EXISTS approvals_of_rule ON public.issuers_tokenrule;
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_rule();

CREATE OR REPLACE TRIGGER approvals_of_trade_price AFTER INSERT ON public.issuers_tokenprice FOR EACH ROW WHEN (new.source = 'TRADE' AND new.effective_at > (transaction_timestamp() - '1 day'::interval)) EXECUTE FUNCTION public.approvals_of_trade_price();

DROP TRIGGER IF EXISTS approvals_of_transfer ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_transfer AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = ANY (ARRAY['TRANSFER', 'ALLOCATE', 'RETURN'])) AND new.effective_at > (transaction_timestamp() - '1 day'::interval)) EXECUTE FUNCTION public.approvals_of_transfer();

CREATE OR REPLACE TRIGGER compliance_know_countries AFTER INSERT ON public.issuers_tokenrule FOR EACH ROW WHEN (new.kind = 'COUNTRIES') EXECUTE FUNCTION public.compliance_know_countries();

DROP TRIGGER IF EXISTS events_number ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_number AFTER UPDATE OF leads ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.events_number();

CREATE OR REPLACE TRIGGER register_follow_holdings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_follow_holdings();

CREATE OR REPLACE TRIGGER register_follow_prices AFTER INSERT ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_follow_prices();

CREATE OR REPLACE TRIGGER register_follow_transactions AFTER INSERT ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_follow_transactions();

CREATE OR REPLACE TRIGGER register_judge_postings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.register_judge_postings();

CREATE OR REPLACE TRIGGER register_keep_approvedholder BEFORE INSERT OR UPDATE ON public.issuers_approvedholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_approvedholder();

CREATE OR REPLACE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE ON public.issuers_restriction FOR EACH ROW EXECUTE FUNCTION public.register_keep_restriction();

CREATE OR REPLACE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE ON public.issuers_tokenrule FOR EACH ROW EXECUTE FUNCTION public.register_keep_tokenrule();

DROP TRIGGER register_keep_marked ON public.issuers_legacyshareholder;

DROP FUNCTION public.binds_approve_holder(uuid, text, uuid, bigint, timestamp with time zone);

DROP FUNCTION public.binds_check_rule(text, jsonb);

DROP FUNCTION public.binds_end_approval(text, uuid);

DROP FUNCTION public.binds_end_grant(text, uuid);

DROP FUNCTION public.binds_grant(uuid, text, uuid, uuid);

DROP FUNCTION public.binds_lift(text, uuid);

DROP FUNCTION public.binds_preview_rule(uuid, text, jsonb, bigint[], text);

DROP FUNCTION public.binds_restrict(uuid, text, bigint, text, uuid, numeric, timestamp with time zone, text, text);

DROP FUNCTION public.binds_rule(uuid, text, uuid, text, jsonb, text);

DROP FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean);

DROP FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]);

DROP FUNCTION public.register_follow_periods(uuid[], bigint[]);

DROP FUNCTION public.register_history(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], timestamp with time zone[], uuid[], bigint[], text[], timestamp with time zone[]);

DROP FUNCTION public.register_judge_entries(timestamp with time zone, uuid[], bigint[]);

DROP FUNCTION public.register_open_accounts(uuid[], uuid[]);

DROP FUNCTION public.register_post(timestamp with time zone, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], uuid[], bigint[], text[], text[], uuid[], bigint[], numeric[]);

DROP FUNCTION public.register_read(uuid[], uuid[], bigint[], boolean);

DROP FUNCTION public.register_write(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], bigint[], uuid[], bigint[], text[], bigint);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0066_unread_indexes"),
        ("accounts", "0052_writers"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
