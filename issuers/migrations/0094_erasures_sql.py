"""Erasures sql."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.erasure_erase(actor text, person uuid, kept jsonb, stated jsonb)
RETURNS SETOF issuers_erasure LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    decider text;
    pattern constant text := erasure_pattern(person);
    at constant timestamptz := clock_timestamp();
    last issuers_erasure;
    number bigint;
    alias text;
    p record;
    e record;
    done bigint;
    counts jsonb := '{}';
    lines jsonb := '[]';
    cash jsonb := '[]';
    entries jsonb;
    digest bytea;
    after bytea;
    line text;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('erasures', 0));
    decider := approvals_use_by(actor, 'ERASURE',
        jsonb_build_object('person', person, 'kept', kept));
    PERFORM FROM accounts_userholder h WHERE h.user_id = person FOR UPDATE;
    PERFORM FROM accounts_user u WHERE u.id = person AND u.type = 'INDIVIDUAL'
        AND NOT u.is_staff AND NOT u.is_superuser FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Only a natural person who is no member of staff is erased.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_ledgeraccount a JOIN issuers_holderbalance b
            ON b.account_id = a.id AND b.balance > 0 WHERE a.user_id = person)
        OR EXISTS (SELECT FROM accounts_account a WHERE a.user_id = person
            AND a.status <> 'CLOSED')
        OR EXISTS (SELECT FROM issuers_legacyshareholder l WHERE l.user_id = person
            AND l.status = 'PENDING')
        OR EXISTS (SELECT FROM issuers_issuer i WHERE i.owner_id = person) THEN
        RAISE EXCEPTION 'A person is erased who has no units, no pending legacy shares, '
            'no account that is not closed, and owns no issuer.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO last FROM issuers_erasure x ORDER BY x.number DESC LIMIT 1;
    number := coalesce(last.number, 0) + 1;
    alias := 'erased person ' || number;

    -- Statements keep the commitments of these rows, without what opens them.
    UPDATE issuers_statedrows r SET seed = NULL, salts = s.salts,
        erased = coalesce(r.erased, '{}') || s.erased
    FROM jsonb_to_recordset(stated)
        AS s (name text, statement bigint, salts jsonb, erased jsonb)
    WHERE r.name = s.name AND r.statement_id = s.statement;

    -- A line of version 1 has its reason in it: its digests stay.
    FOR e IN SELECT t.token_id, t.seq FROM issuers_ledgertransaction t
        WHERE t.private_digest IS NULL AND t.reason ~* pattern AND t.recorded_at
            + make_interval(days => coalesce(
                (kept ->> 'issuers_ledgertransaction')::int, 0)) <= at
            AND NOT EXISTS (SELECT FROM issuers_redactedline d
                WHERE d.token_id = t.token_id AND d.number = t.seq)
        ORDER BY t.token_id, t.seq
    LOOP
        digest := decode(repeat('00', 32), 'hex');
        FOR line IN SELECT l.line FROM register_entry_lines l
            WHERE l.token_id = e.token_id AND l.number < e.seq ORDER BY l.number LOOP
            digest := register_chain(digest, line);
        END LOOP;
        SELECT register_chain(digest, l.line) INTO after FROM register_entry_lines l
            WHERE l.token_id = e.token_id AND l.number = e.seq;
        INSERT INTO issuers_redactedline (token_id, number, erasure_id, digest_before,
            digest_after) VALUES (e.token_id, e.seq, number, digest, after);
        lines := lines || jsonb_build_object('token', e.token_id, 'number', e.seq,
            'digestBefore', encode(digest, 'hex'), 'digestAfter', encode(after, 'hex'));
    END LOOP;

    UPDATE accounts_userholder h SET name = alias, wallet_address = NULL
        WHERE h.user_id = person;
    SET CONSTRAINTS accounts_keep_names IMMEDIATE;
    UPDATE accounts_user u SET first_name = '', last_name = alias, email = NULL,
        address = '', postal_code = '', city = '' WHERE u.id = person;
    DELETE FROM issuers_holdersalt s WHERE s.user_id = person;
    GET DIAGNOSTICS done = ROW_COUNT;
    counts := counts || jsonb_build_object('issuers_holdersalt', done);
    FOR p IN SELECT * FROM erasure_places() LOOP
        IF p.name = 'cash_entry_lines' THEN
            WITH bare AS (
                UPDATE accounts_cashposting c SET salt = NULL
                FROM accounts_cashtransaction t
                WHERE t.id = c.transaction_id AND c.salt IS NOT NULL
                    AND t.reason LIKE '%' || alias || '%'
                RETURNING ROW(c.cash_account_id, c.number)::text AS key
            ) SELECT coalesce(jsonb_agg(b.key ORDER BY b.key), '[]'), count(*)
                INTO cash, done FROM bare b;
        ELSE
            EXECUTE format('UPDATE %I t SET %s WHERE (%s OR concat_ws(chr(10), NULL%s) ~* $1)'
                ' AND %s + $2 <= $5', p.name,
                concat_ws(', ',
                    (SELECT string_agg(format('%I = left(CASE WHEN %s AND t.%I <> '''''
                        ' THEN $4 ELSE regexp_replace(t.%I, $1, %s, ''gi'') END, %s)', c,
                        p.own, c, c,
                        -- A reference may have to be the only one of its kind.
                        CASE c WHEN 'reference'
                            THEN '$4 || '' '' || left(gen_random_uuid()::text, 8)'
                            ELSE '$4' END,
                        CASE WHEN a.atttypmod > 4 THEN a.atttypmod - 4 ELSE 10000000 END),
                        ', ') FROM unnest(p.texts) c
                    JOIN pg_attribute a ON a.attrelid = p.name::regclass
                        AND a.attname = c),
                    (SELECT string_agg(format('%I = CASE WHEN %s THEN (SELECT '
                        'jsonb_object_agg(k, ''…''::text) FROM jsonb_object_keys(t.%I) k)'
                        ' ELSE regexp_replace(t.%I::text, $1, $4, ''gi'')::jsonb END',
                        c, p.own, c, c), ', ') FROM unnest(p.documents) c)),
                p.own, (SELECT string_agg(', t.' || c, '')
                    FROM unnest(p.texts || p.documents) c), p.dated)
            USING pattern, make_interval(days => coalesce((kept ->> p.name)::int, 0)),
                person, alias, clock_timestamp();
            GET DIAGNOSTICS done = ROW_COUNT;
        END IF;
        IF done > 0 THEN
            counts := counts || jsonb_build_object(p.name,
                done + coalesce((counts ->> p.name)::bigint, 0));
        END IF;
    END LOOP;
    -- Without its salt, what an entry's digest covers cannot be guessed.
    WITH bare AS (
        UPDATE issuers_ledgertransaction t SET salt = NULL
        WHERE t.salt IS NOT NULL AND t.reason LIKE '%' || alias || '%'
        RETURNING ROW(t.token_id, t.seq)::text AS key
    ) SELECT coalesce(jsonb_agg(b.key ORDER BY b.key), '[]') INTO entries FROM bare b;

    line := jsonb_build_object('actor', actor, 'at', register_api_time(at), 'decider',
        decider, 'kept', kept, 'lines', lines, 'number', number, 'person', person,
        'rows', counts, 'unsalted', cash || entries, 'stated', (SELECT jsonb_agg(jsonb_build_object(
            'name', s ->> 'name', 'statement', s -> 'statement',
            'erased', s -> 'erased')) FROM jsonb_array_elements(stated) s))::text;
    RETURN QUERY INSERT INTO issuers_erasure (number, at, person_id, line, digest)
        VALUES (number, at, person, line, sha256(
            coalesce(last.digest, decode(repeat('00', 32), 'hex'))
            || convert_to(line, 'UTF8')))
        RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.erasure_erase(text, uuid, jsonb, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.erasure_pattern(person uuid)
RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH named AS (
        SELECT h.id, h.name, h.wallet_address FROM accounts_userholder h
        WHERE h.user_id = person
    ), said (text) AS (
        SELECT n.name FROM named n
        UNION SELECT n.wallet_address FROM named n
        UNION SELECT f.name FROM accounts_userholdername f
            WHERE f.holder_id IN (SELECT n.id FROM named n)
        UNION SELECT unnest(ARRAY[u.email, concat(u.first_name, ' ', u.last_name),
                concat(u.last_name, ', ', u.first_name),
                concat(u.last_name, ' ', u.first_name)])
            FROM accounts_user u WHERE u.id = person
        UNION SELECT a.email FROM accounts_applicant a WHERE a.user_id = person
        UNION SELECT unnest(ARRAY[p.name, p.iban]) FROM accounts_payee p
            JOIN accounts_withdrawal w ON w.id = p.withdrawal_id
            JOIN accounts_cashaccount c ON c.id = w.cash_account_id
            JOIN accounts_account a ON a.id = c.account_id
            WHERE a.user_id = person
    )
    SELECT '(?<![[:alnum:]])(?:' || string_agg(DISTINCT
        regexp_replace(v.text, '[^[:alnum:][:space:]]', '\\\&', 'g'), '|')
        || ')(?![[:alnum:]])'
    FROM said s
    CROSS JOIN LATERAL (VALUES (btrim(s.text, ' ,')),
        (substr(to_json(btrim(s.text, ' ,'))::text, 2,
            length(to_json(btrim(s.text, ' ,'))::text) - 2))) v (text)
    WHERE length(btrim(s.text, ' ,')) >= 4
$$;
REVOKE ALL ON FUNCTION public.erasure_pattern(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.erasure_places()
RETURNS TABLE(name text, key text, dated text, own text, texts text[], documents text[]) LANGUAGE sql IMMUTABLE PARALLEL SAFE
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
    ('issuers_restriction', 'id', 't.created_at', 'FALSE', '{beneficiary,reason}',
        '{}'),
    ('issuers_tokenrule', 'id', 't.created_at', 'FALSE', '{reason}', '{}'),
    ('partnerapi_jobrun', 'id', 't.started_at', 'FALSE', '{detail}', '{}'),
    ('trading_bust', 'token_id, sequence', 't.at', 'FALSE', '{reason}', '{}'),
    ('trading_market', 'token_id', 't.last_at', 'FALSE', '{halt_reason}', '{}'),
    ('trading_orderblock', 'id', 't.blocked_at', 'FALSE', '{reason}', '{}'),
    ('trading_orderevent', 'token_id, number', 't.at', 'FALSE', '{reason}', '{}'),
    -- The last, since changes of the others are recorded there.
    ('accounts_rowchange', 'id', 't.at', '(t.table_name, t.row_id) IN ('
        'SELECT ''accounts_user'', $3::text UNION SELECT ''accounts_userholder'', '
        'h.id::text FROM accounts_userholder h WHERE h.user_id = $3)', '{}',
        '{before,after}')
    ) AS v (name, key, dated, own, texts, documents)
$$;
GRANT EXECUTE ON FUNCTION public.erasure_places() TO PUBLIC;

CREATE OR REPLACE FUNCTION public.erasure_rows(person uuid, kept jsonb)
RETURNS TABLE(place text, key text, ends timestamp with time zone) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    p record;
    pattern constant text := erasure_pattern(person);
BEGIN
    FOR p IN SELECT * FROM erasure_places() LOOP
        RETURN QUERY EXECUTE format(
            'SELECT %L, ROW(%s)::text, CASE WHEN %s + $2 > clock_timestamp()'
            ' THEN %s + $2 END FROM %I t WHERE %s OR concat_ws(chr(10), NULL%s) ~* $1',
            p.name, p.key, p.dated, p.dated, p.name, p.own,
            (SELECT string_agg(', t.' || c, '') FROM unnest(p.texts || p.documents) c))
        USING pattern, make_interval(days => coalesce((kept ->> p.name)::int, 0)),
            person;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.erasure_rows(uuid, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_chain(digest bytea, line text)
RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN pg_catalog.starts_with(line, '{"digestAfter":')
        AND (line::pg_catalog.json OPERATOR(pg_catalog.->>) 'digestBefore')
            OPERATOR(pg_catalog.=) pg_catalog.encode(digest, 'hex')
        THEN pg_catalog.decode(
            line::pg_catalog.json OPERATOR(pg_catalog.->>) 'digestAfter', 'hex')
        ELSE pg_catalog.sha256(digest OPERATOR(pg_catalog.||)
            pg_catalog.convert_to(line, 'UTF8')) END
$$;
GRANT EXECUTE ON FUNCTION public.register_chain(bytea, text) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.register_chain_entries(token uuid, after bigint, digest bytea)
RETURNS bytea LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    said text;
BEGIN
    FOR said IN SELECT line FROM register_entry_lines
        WHERE token_id = token AND number > after ORDER BY number
    LOOP
        digest := register_chain(digest, said);
    END LOOP;
    RETURN digest;
END $$;
GRANT EXECUTE ON FUNCTION public.register_chain_entries(uuid, bigint, bytea) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF OLD.status = 'DELIVERED' AND (TG_OP = 'DELETE' OR accounts_written_directly()
        -- The reference of a person who is erased.
        OR to_jsonb(NEW) - 'reference' IS DISTINCT FROM to_jsonb(OLD) - 'reference') THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSIF NEW.status = 'DELIVERED' AND accounts_written_directly() THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE VIEW public.register_entry_lines AS
SELECT t.token_id, t.seq AS number, CASE WHEN t.private_digest IS NULL THEN COALESCE(( SELECT concat('{"digestAfter":"', encode(d.digest_after, 'hex'::text), '","digestBefore":"', encode(d.digest_before, 'hex'::text), '","number":"', d.number, '","redacted":"', d.erasure_id, '"}') AS concat FROM issuers_redactedline d WHERE d.token_id = t.token_id AND d.number = t.seq), concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":', CASE WHEN t.source_id IS NULL THEN 'null'::text WHEN source.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || source.user_id) || '"'::text END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE(('"'::text || t.legacy_shareholder_id) || '"'::text, 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE(t.reverses::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":', CASE WHEN t.target_id IS NULL THEN 'null'::text WHEN target.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || target.user_id) || '"'::text END, ',"token":"', t.token_id, '"}')) ELSE concat('{"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', register_api_time(t.effective_at), '","heldAfter":"', t.held_after, '","holdersAfter":"', t.holders_after, '","kind":"', t.kind, '","lineVersion":"2","previousDigest":', COALESCE(('"'::text || encode(t.previous_digest, 'hex'::text)) || '"'::text, 'null'::text), ',"privateDigest":"', encode(t.private_digest, 'hex'::text), '","reverses":', COALESCE(('"'::text || t.reverses) || '"'::text, 'null'::text), ',"sequence":"', t.seq, '","source":', COALESCE(('"User|'::text || source.user_id) || '"'::text, 'null'::text), ',"sourceBefore":', COALESCE(('"'::text || t.source_before) || '"'::text, 'null'::text), ',"supplyAfter":"', t.supply_after, '","target":', COALESCE(('"User|'::text || target.user_id) || '"'::text, 'null'::text), ',"targetBefore":', COALESCE(('"'::text || t.target_before) || '"'::text, 'null'::text), ',"token":"Token|', t.token_id, '"}') END AS line, CASE WHEN t.salt IS NOT NULL THEN register_entry_detail(t.actor::text, t.legacy_shareholder_id, t.reason::text, t.recorded_at) ELSE NULL::text END AS private, t.salt, t.private_digest FROM issuers_ledgertransaction t LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.register_chain_entries(token uuid, after bigint, digest bytea)
RETURNS bytea LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    said text;
BEGIN
    FOR said IN SELECT line FROM register_entry_lines
        WHERE token_id = token AND number > after ORDER BY number
    LOOP
        digest := sha256(digest || convert_to(said, 'UTF8'));
    END LOOP;
    RETURN digest;
END $$;
GRANT EXECUTE ON FUNCTION public.register_chain_entries(uuid, bigint, bytea) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSIF NEW.status = 'DELIVERED' AND accounts_written_directly() THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE VIEW public.register_entry_lines AS
SELECT t.token_id, t.seq AS number, CASE WHEN t.private_digest IS NULL THEN concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":', CASE WHEN t.source_id IS NULL THEN 'null'::text WHEN source.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || source.user_id) || '"'::text END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE(('"'::text || t.legacy_shareholder_id) || '"'::text, 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE(t.reverses::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":', CASE WHEN t.target_id IS NULL THEN 'null'::text WHEN target.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || target.user_id) || '"'::text END, ',"token":"', t.token_id, '"}') ELSE concat('{"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', register_api_time(t.effective_at), '","heldAfter":"', t.held_after, '","holdersAfter":"', t.holders_after, '","kind":"', t.kind, '","lineVersion":"2","previousDigest":', COALESCE(('"'::text || encode(t.previous_digest, 'hex'::text)) || '"'::text, 'null'::text), ',"privateDigest":"', encode(t.private_digest, 'hex'::text), '","reverses":', COALESCE(('"'::text || t.reverses) || '"'::text, 'null'::text), ',"sequence":"', t.seq, '","source":', COALESCE(('"User|'::text || source.user_id) || '"'::text, 'null'::text), ',"sourceBefore":', COALESCE(('"'::text || t.source_before) || '"'::text, 'null'::text), ',"supplyAfter":"', t.supply_after, '","target":', COALESCE(('"User|'::text || target.user_id) || '"'::text, 'null'::text), ',"targetBefore":', COALESCE(('"'::text || t.target_before) || '"'::text, 'null'::text), ',"token":"Token|', t.token_id, '"}') END AS line, CASE WHEN t.salt IS NOT NULL THEN register_entry_detail(t.actor::text, t.legacy_shareholder_id, t.reason::text, t.recorded_at) ELSE NULL::text END AS private, t.salt, t.private_digest FROM issuers_ledgertransaction t LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;

DROP FUNCTION public.erasure_erase(text, uuid, jsonb, jsonb);

DROP FUNCTION public.erasure_pattern(uuid);

DROP FUNCTION public.erasure_places();

DROP FUNCTION public.erasure_rows(uuid, jsonb);

DROP FUNCTION public.register_chain(bytea, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0093_erasures"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
