"""Erasures, reasons of entries, events and offerings, in functions."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.delivery_release(job uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    said jsonb;
    issuers uuid[];
    amounts numeric[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM issuers_deliveryjob j
        WHERE j.id = job AND j.released_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT jsonb_build_object('job', j.id, 'source', j.source,
        'lines', coalesce(sum(cardinality(s.shareholder_ids)), 0),
        'shares', coalesce(sum(l.units), 0)::text) INTO said
    FROM issuers_deliveryjob j
    LEFT JOIN issuers_deliverystep s ON s.job_id = j.id
    LEFT JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l ON TRUE
    WHERE j.id = job GROUP BY j.id;
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        -- Of a line that is gone, who made it is not known, and it may come back.
        SELECT t.issuer_id, sum(f.units) AS units, bool_or(coalesce(
            delivery_is_own(h.makers::text[], approvals_person()), TRUE)) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units, s.token_ids)
            AS f (line, units, token)
        JOIN issuers_token t ON t.id = f.token
        LEFT JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = job
        GROUP BY t.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', said, issuers, amounts, NULL, NULL);
    UPDATE issuers_deliveryjob SET released_at = clock_timestamp() WHERE id = job;
END $$;
REVOKE ALL ON FUNCTION public.delivery_release(uuid) FROM PUBLIC;

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
        RAISE EXCEPTION 'Only a natural person who is not on the staff can be erased.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'person_may_be_erased';
    END IF;
    IF EXISTS (SELECT FROM issuers_ledgeraccount a JOIN issuers_holderbalance b
            ON b.account_id = a.id AND b.balance > 0 WHERE a.user_id = person)
        OR EXISTS (SELECT FROM accounts_account a WHERE a.user_id = person
            AND a.status <> 'CLOSED')
        OR EXISTS (SELECT FROM issuers_legacyshareholder l WHERE l.user_id = person
            AND l.status = 'PENDING')
        OR EXISTS (SELECT FROM issuers_issuer i WHERE i.owner_id = person) THEN
        RAISE EXCEPTION 'A person who is erased must have no units, no pending legacy '
            'shares and no open account, and must own no issuer.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'person_may_be_erased';
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
    FOR e IN
        WITH named AS MATERIALIZED (
            SELECT t.token_id, t.seq FROM issuers_ledgertransaction t
            WHERE t.private_digest IS NULL AND t.reason ~* pattern AND t.recorded_at
                + make_interval(days => coalesce(
                    (kept ->> 'issuers_ledgertransaction')::int, 0)) <= at
                AND NOT EXISTS (SELECT FROM issuers_redactedline d
                    WHERE d.token_id = t.token_id AND d.number = t.seq)
        )
        SELECT l.token_id, l.number AS seq, l.line, n.seq IS NOT NULL AS is_named
        FROM register_entry_lines l
        LEFT JOIN named n ON n.token_id = l.token_id AND n.seq = l.number
        WHERE l.token_id IN (SELECT o.token_id FROM named o)
        ORDER BY l.token_id, l.number
    LOOP
        digest := CASE WHEN e.seq = 1 THEN decode(repeat('00', 32), 'hex')
            ELSE after END;
        after := register_chain(digest, e.line);
        CONTINUE WHEN NOT e.is_named;
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
        'rows', counts, 'unsalted', cash || entries, 'stated', (
            SELECT jsonb_agg(jsonb_build_object('name', s ->> 'name',
                'statement', s -> 'statement', 'erased', s -> 'erased'))
            FROM jsonb_array_elements(stated) s))::text;
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
    WITH others AS (
        DELETE FROM issuers_unnumberedevent
        WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    )
    SELECT array_agg(u.audience::text) AS audiences,
        array_agg(u.partner_id) AS partners,
        array_agg(u.type::text) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id)) AS subjects,
        array_agg(u.issuer_id) AS issuers,
        array_agg(u.token_id) AS tokens,
        array_agg(u.account_id) AS accounts,
        array_agg(u.ledger_sequence) AS ledger_sequences,
        array_agg(u.order_event) AS order_events,
        array_agg(u.price) AS prices,
        array_agg(u.quantity) AS quantities,
        array_agg(u.remaining) AS remainings,
        array_agg(u.trade) AS trades,
        array_agg(u.reason::text) AS reasons INTO told
    FROM (
        -- Sorted once, not for each list.
        SELECT * FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) a ORDER BY a.id
    ) u;
    PERFORM events_write(told.audiences, told.partners, told.kinds, told.subjects,
        told.issuers, told.tokens, told.accounts, told.ledger_sequences,
        told.order_events, told.prices, told.quantities, told.remainings, told.trades,
        told.reasons, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    WITH removed AS (
        DELETE FROM issuers_event WHERE partner_id = head.partner_id
            AND sequence > head.pruned_sequence AND sequence <= until
        RETURNING type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END AS issuer_id,
            CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
                'MARKET_PHASE_CHANGED', 'OFFERING_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END AS token_id
    ), counted AS (
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT type, issuer_id, token_id, count(*) AS number FROM removed
            GROUP BY 1, 2, 3) g
        WHERE c.partner_id = head.partner_id AND c.type = g.type
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id
    )
    SELECT count(*) INTO deleted FROM removed;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;

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
            CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
                'MARKET_PHASE_CHANGED', 'OFFERING_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END, count(*)
        FROM numbered GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    -- A session that hears it notifies those who wait for events, after the commit.
    RAISE INFO 'Partners have new events.' USING ERRCODE = 'PEV01';
END $$;
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_allot(actor text, of_offering uuid, subscriptions uuid[], units bigint[], codes text[])
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    moment timestamptz;
    total numeric;
    wrong text;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    moment := clock_timestamp();
    IF (offering.status IN ('CLOSED', 'ALLOTTED') AND offering.price IS NOT NULL)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Units are allotted of an offering that has closed and has a '
            'price.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_subscription s WHERE s.offering_id = of_offering
            AND s.status = 'ACTIVE' AND s.reflects_until > moment) THEN
        RAISE EXCEPTION 'Units are allotted once the last reflection period has ended.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT sum(g.units) INTO total FROM unnest(units) AS g (units);
    IF (total BETWEEN offering.minimum_units AND offering.maximum_units)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'An allotment is between the minimum and the maximum of its '
            'offering: %.', coalesce(total, 0) USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(s.id, g.id)::text INTO wrong
    FROM unnest(subscriptions, units, codes) AS g (id, units, code)
    FULL JOIN (SELECT * FROM issuers_subscription x
        WHERE x.offering_id = of_offering AND x.status = 'ACTIVE') s ON s.id = g.id
    WHERE (g.units BETWEEN 0 AND s.quantity AND g.code IS NOT NULL
        AND (g.units = 0 OR s.limit_price >= offering.price)) IS NOT TRUE
    LIMIT 1;
    IF FOUND OR cardinality(subscriptions) <> (SELECT count(DISTINCT g.id)
            FROM unnest(subscriptions) AS g (id)) THEN
        RAISE EXCEPTION 'An allotment names each active subscription once, with at most '
            'its units, within its limit: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'ALLOT',
        'offering', of_offering, 'price', offering.price, 'units', total,
        'digest', offerings_digest(subscriptions, units, codes)));
    UPDATE issuers_subscription s SET allotted = g.units, refusal = g.code,
        updated_at = greatest(s.updated_at, moment)
    FROM unnest(subscriptions, units, codes) AS g (id, units, code)
    WHERE s.id = g.id;
    UPDATE issuers_offering o SET status = 'ALLOTTED', updated_at = moment
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    PERFORM offerings_tell_each(offering.token_id, subscriptions);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_allot(text, uuid, uuid[], bigint[], text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_amend(asker text, subscription uuid, expected integer, units bigint, cents bigint, at timestamp with time zone)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    before issuers_subscription;
    written issuers_subscription;
    is_more boolean;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = before.offering_id FOR SHARE;
    SELECT * INTO account FROM accounts_account a
        WHERE a.id = before.account_id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = before.cash_account_id FOR NO KEY UPDATE;
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
    UPDATE accounts_cashhead h SET reserved = h.reserved + units * cents
            - before.quantity * before.limit_price
        WHERE h.cash_account_id = before.cash_account_id;
    PERFORM offerings_judge(asker, offering, account, before.ledger_account_id, units,
        cents, at);
    IF (before.status = 'ACTIVE' AND before.version = expected
        AND (units >= before.quantity AND cents >= before.limit_price
            OR at < before.reflects_until)) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is amended while it is active, in the version '
            'that was read, and to less before its reflection period has ended.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    is_more := units > before.quantity OR cents > before.limit_price;
    UPDATE issuers_subscription s SET quantity = units, limit_price = cents,
        version = s.version + 1, updated_at = at,
        ranked_at = CASE WHEN is_more THEN at ELSE s.ranked_at END,
        reflects_until = CASE WHEN is_more THEN greatest(s.reflects_until,
            offerings_reflects_until(offering, s.user_id, at))
            ELSE s.reflects_until END
    WHERE s.id = subscription
    RETURNING * INTO written;
    PERFORM cash_tell(ARRAY[before.cash_account_id]);
    PERFORM offerings_tell_each(offering.token_id, ARRAY[subscription]);
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_amend(text, uuid, integer, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_close(of_offering uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    offering issuers_offering;
    covered numeric;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status IN ('OPEN', 'CLOSED')
            AND offering.closes_at <= clock_timestamp()) IS NOT TRUE THEN
        RETURN FALSE;
    END IF;
    SELECT coalesce(sum(s.quantity), 0) INTO covered FROM issuers_subscription s
        WHERE s.offering_id = of_offering AND s.status = 'ACTIVE';
    IF offering.status = 'CLOSED' AND covered >= offering.minimum_units THEN
        RETURN FALSE;
    END IF;
    UPDATE issuers_offering o SET updated_at = clock_timestamp(),
        status = CASE WHEN covered >= o.minimum_units THEN 'CLOSED' ELSE 'FAILED' END
        WHERE o.id = of_offering RETURNING * INTO offering;
    IF offering.status = 'FAILED' THEN
        PERFORM offerings_release(offering);
    END IF;
    PERFORM offerings_tell(offering);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.offerings_close(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_digest(subscriptions uuid[], units bigint[], codes text[])
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(
        concat_ws(' ', g.id, g.units, g.code) || chr(10), '' ORDER BY g.id), ''),
        'UTF8')), 'hex')
    FROM unnest(subscriptions, units, codes) AS g (id, units, code);
$$;
REVOKE ALL ON FUNCTION public.offerings_digest(uuid[], bigint[], text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_draft(actor text, drafted uuid, of_token uuid, terms jsonb)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    written issuers_offering;
    moment timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM cash_judge_staff(actor, NULL, ARRAY['file_offering']);
    PERFORM FROM issuers_offering o WHERE o.id = drafted FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM issuers_offering o WHERE o.id = drafted
            AND (o.status <> 'DRAFT' OR o.token_id <> of_token)) THEN
        RAISE EXCEPTION 'Only the terms of a draft change, and never its token.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    moment := clock_timestamp();
    INSERT INTO issuers_offering AS o (id, token_id, status, status_reason, rule,
        source, price, price_floor, price_cap, maximum_units, minimum_units,
        smallest_ticket, largest_ticket, opens_at, closes_at, reflection_seconds,
        fee_bps, vat_bps, documents, created_by, opened_by, approved_by, created_at,
        updated_at)
    VALUES (drafted, of_token, 'DRAFT', '', terms ->> 'rule', terms ->> 'source',
        (terms ->> 'price')::bigint, (terms ->> 'floor')::bigint,
        (terms ->> 'cap')::bigint, (terms ->> 'maximum')::bigint,
        (terms ->> 'minimum')::bigint, (terms ->> 'smallest')::bigint,
        (terms ->> 'largest')::bigint,
        to_timestamp((terms ->> 'opens')::bigint),
        to_timestamp((terms ->> 'closes')::bigint),
        (terms ->> 'reflection')::bigint, (terms ->> 'fee')::integer,
        (terms ->> 'vat')::integer,
        ARRAY(SELECT jsonb_array_elements_text(terms -> 'documents')::uuid), actor, '',
        '', moment, moment)
    ON CONFLICT (id) DO UPDATE SET rule = excluded.rule, source = excluded.source,
        price = excluded.price, price_floor = excluded.price_floor,
        price_cap = excluded.price_cap, maximum_units = excluded.maximum_units,
        minimum_units = excluded.minimum_units,
        smallest_ticket = excluded.smallest_ticket,
        largest_ticket = excluded.largest_ticket, opens_at = excluded.opens_at,
        closes_at = excluded.closes_at,
        reflection_seconds = excluded.reflection_seconds, fee_bps = excluded.fee_bps,
        vat_bps = excluded.vat_bps, documents = excluded.documents,
        created_by = excluded.created_by, updated_at = excluded.updated_at
    RETURNING * INTO written;
    IF cardinality(written.documents) > 20
            OR EXISTS (SELECT FROM unnest(written.documents) AS d (id)
            WHERE NOT EXISTS (SELECT FROM issuers_document x WHERE x.id = d.id)) THEN
        RAISE EXCEPTION 'An offering names 20 documents at most, which exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF written.fee_bps * (10000 + written.vat_bps) > 10000 * 10000 THEN
        RAISE EXCEPTION 'The fee of an offering and its tax are within the proceeds.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_draft(text, uuid, uuid, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_end(actor text, of_offering uuid, becomes text, why text)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (becomes = 'WITHDRAWN' AND offering.status IN ('DRAFT', 'OPEN', 'CLOSED',
                'ALLOTTED')
            OR becomes = 'FAILED' AND offering.status IN ('CLOSED', 'ALLOTTED')) IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering that is % does not become %.', offering.status,
            becomes USING ERRCODE = 'restrict_violation';
    END IF;
    IF offering.status = 'DRAFT' THEN
        PERFORM cash_judge_staff(actor, NULL, ARRAY['file_offering']);
    ELSE
        PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', becomes,
            'offering', of_offering, 'was', offering.status, 'reason', why));
        PERFORM offerings_release(offering);
    END IF;
    UPDATE issuers_offering o SET status = becomes, status_reason = why,
        settling_until = NULL, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    IF offering.opened_by <> '' THEN
        PERFORM offerings_tell(offering);
    END IF;
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_end(text, uuid, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_judge(asker text, offering issuers_offering, account accounts_account, target bigint, units bigint, cents bigint, at timestamp with time zone)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    wrong text;
BEGIN
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription has the time that its writer took under the '
            'lock, and not %.', at USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_partner p
        WHERE p.id = account.partner_id AND p.login = asker AND p.is_active;
    IF NOT FOUND OR account.status <> 'ACTIVE' THEN
        RAISE EXCEPTION 'The partner of an active account subscribes for it, and not '
            '%.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    IF (offering.status = 'OPEN' AND at >= offering.opens_at AND at < offering.closes_at)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering takes subscriptions while it is open.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (units BETWEEN offering.smallest_ticket AND coalesce(offering.largest_ticket,
            offering.maximum_units) AND CASE offering.rule WHEN 'BOOK'
            THEN cents BETWEEN offering.price_floor AND offering.price_cap
            ELSE cents = offering.price END) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is within the tickets and the prices of its '
            'offering.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT r.code INTO wrong
        FROM offerings_refusals(offering, target, NULL, units, at) r LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            'the subscription: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.offerings_judge(text, issuers_offering, accounts_account, bigint, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_leave(asker text, subscription uuid, at timestamp with time zone)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    kept issuers_subscription;
    standing text;
    token uuid;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = subscription;
    SELECT o.status, o.token_id INTO standing, token FROM issuers_offering o
        WHERE o.id = kept.offering_id FOR SHARE;
    PERFORM FROM accounts_account a WHERE a.id = kept.account_id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = kept.cash_account_id FOR NO KEY UPDATE;
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = subscription;
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()
        AND kept.status = 'ACTIVE' AND standing IN ('OPEN', 'CLOSED')
        AND at < kept.reflects_until) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is withdrawn before its reflection period has '
            'ended.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_partner p
        WHERE p.id = kept.partner_id AND p.login = asker AND p.is_active;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The partner of its account withdraws a subscription, and not '
            '%.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_cashhead h
        SET reserved = h.reserved - kept.quantity * kept.limit_price
        WHERE h.cash_account_id = kept.cash_account_id;
    UPDATE issuers_subscription s SET status = 'WITHDRAWN', version = s.version + 1,
        updated_at = at
        WHERE s.id = subscription RETURNING * INTO kept;
    PERFORM cash_tell(ARRAY[kept.cash_account_id]);
    PERFORM offerings_tell_each(token, ARRAY[subscription]);
    RETURN kept;
END $$;
REVOKE ALL ON FUNCTION public.offerings_leave(text, uuid, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_mark(actor text, of_offering uuid, seconds integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    standing text;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM cash_judge_staff(actor, NULL, ARRAY['file_settlement', 'decide_settlement']);
    SELECT o.status INTO standing FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF seconds = 0 THEN
        UPDATE issuers_offering o SET settling_until = NULL WHERE o.id = of_offering;
        RETURN;
    END IF;
    IF (standing = 'ALLOTTED' AND seconds BETWEEN 1 AND 120) IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering that is allotted settles, in 120 seconds at most.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id AND d.is_approved
            WHERE r.kind = 'SETTLEMENT' AND r.content ->> 'offering' = of_offering::text
                AND r.expires_at > clock_timestamp()
                AND NOT EXISTS (SELECT FROM accounts_approvaloutcome x
                    WHERE x.request_id = r.id))
            AND NOT EXISTS (SELECT FROM accounts_approvalpolicy p
                WHERE p.kind = 'SETTLEMENT' AND NOT p.is_required) THEN
        RAISE EXCEPTION 'Investors are marked for a settlement that two people '
            'approved.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('orders of partner' || p.id, 0))
        FROM (SELECT x.id FROM accounts_partner x ORDER BY x.id) p;
    UPDATE issuers_offering o
        SET settling_until = clock_timestamp() + make_interval(secs => seconds)
        WHERE o.id = of_offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_mark(text, uuid, integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_open(actor text, of_offering uuid)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    approver text;
    token uuid;
    issuer uuid;
    available numeric;
    account bigint;
BEGIN
    PERFORM accounts_read_committed();
    SELECT t.id, t.issuer_id INTO token, issuer
        FROM issuers_offering o JOIN issuers_token t ON t.id = o.token_id
        WHERE o.id = of_offering;
    PERFORM FROM issuers_issuer i WHERE i.id = issuer FOR NO KEY UPDATE;
    PERFORM FROM issuers_token t WHERE t.id = token FOR SHARE;
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'DRAFT' AND offering.closes_at > clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Only a draft that closes later is opened.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT CASE offering.source
        WHEN 'MINT' THEN coalesce(t.authorized_units, 18446744073709551615) - h.supply
        ELSE (SELECT coalesce(sum(b.balance), 0)
            FROM issuers_holderbalance b
            JOIN issuers_ledgeraccount a ON a.id = b.account_id AND a.kind = 'TREASURY'
            WHERE b.token_id = t.id) END
    INTO available
    FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
    WHERE t.id = token AND t.market_type = 'PRIMARY_MARKET';
    IF (available >= offering.maximum_units) IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering is of a token on the primary market, and of units '
            'that the issuer has or may mint: % of %.', offering.maximum_units,
            coalesce(available, 0) USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'OPEN',
        'offering', of_offering, 'token', offering.token_id,
        'terms', offerings_terms(offering), 'digests', (
            SELECT coalesce(jsonb_agg(d.checksum_sha256 ORDER BY n.position), '[]')
            FROM unnest(offering.documents) WITH ORDINALITY AS n (id, position)
            LEFT JOIN issuers_document d ON d.id = n.id)));
    IF NOT EXISTS (SELECT FROM issuers_issuercash c WHERE c.issuer_id = issuer) THEN
        INSERT INTO accounts_cashaccount (kind) VALUES ('ISSUER')
            RETURNING id INTO account;
        INSERT INTO accounts_cashhead
            (cash_account_id, kind, balance, reserved, last_number, entry_digest)
        VALUES (account, 'ISSUER', 0, 0, 0, decode(repeat('00', 32), 'hex'));
        INSERT INTO issuers_issuercash (issuer_id, cash_account_id)
            VALUES (issuer, account);
    END IF;
    UPDATE issuers_offering o SET status = 'OPEN', opened_by = actor,
        approved_by = approver, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_open(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_pay_out(actor text, withdrawal uuid, of_issuer uuid, cents bigint, payee_name text, payee_iban text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    cash bigint;
    used uuid;
    moment timestamptz;
    ordered accounts_withdrawal;
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.cash_account_id INTO cash FROM issuers_issuercash c
        WHERE c.issuer_id = of_issuer;
    PERFORM FROM accounts_cashhead h WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    IF (cents BETWEEN 1 AND (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = cash)) IS NOT TRUE THEN
        RAISE EXCEPTION 'An issuer is paid cents of its cash that are available: %.',
            cents USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('PAYOUT', jsonb_build_object('withdrawal', withdrawal,
        'issuer', of_issuer, 'cents', cents::text, 'payee', payee_name,
        'iban', payee_iban), cents, NULL, NULL);
    PERFORM cash_judge_staff(actor, used, ARRAY['file_payout']);
    UPDATE accounts_cashhead h SET reserved = h.reserved + cents
        WHERE h.cash_account_id = cash;
    moment := clock_timestamp();
    INSERT INTO accounts_withdrawal (id, cash_account_id, amount, reference,
        payment_reference, status, status_reason, request_id, requested_by, created_at,
        updated_at)
    VALUES (withdrawal, cash, cents, withdrawal::text,
        cash_reference('2', ('x' || right(withdrawal::text, 12))::bit(48)::bigint),
        'APPROVED', '', used, actor, moment, moment)
    RETURNING * INTO ordered;
    INSERT INTO accounts_payee (withdrawal_id, name, iban)
        VALUES (ordered.id, payee_name, payee_iban);
    RETURN ordered;
END $$;
REVOKE ALL ON FUNCTION public.offerings_pay_out(text, uuid, uuid, bigint, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_price(actor text, of_offering uuid, cents bigint)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'CLOSED' AND offering.rule = 'BOOK') IS NOT TRUE THEN
        RAISE EXCEPTION 'Only an offering with a book that has closed gets a price.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'PRICE',
        'offering', of_offering, 'cents', cents, 'before', offering.price));
    UPDATE issuers_offering o SET price = cents, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_price(text, uuid, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_read(of_offering uuid, of_account uuid, units bigint, holds boolean)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    ledger bigint;
    cash bigint;
    settling integer;
    moment timestamptz;
BEGIN
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_offering o WHERE o.id = of_offering FOR SHARE;
        PERFORM FROM accounts_account a WHERE a.id = of_account FOR SHARE;
    END IF;
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = of_offering;
    SELECT * INTO account FROM accounts_account a WHERE a.id = of_account;
    SELECT l.id INTO ledger FROM issuers_ledgeraccount l
        WHERE l.user_id = account.user_id;
    SELECT c.id INTO cash FROM accounts_cashaccount c WHERE c.account_id = of_account;
    settling := offerings_settling(ARRAY[cash]);
    IF holds AND ledger IS NULL THEN
        RETURN json_build_object('missing', account.user_id);
    END IF;
    IF holds AND settling IS NULL THEN
        PERFORM FROM issuers_ledgeraccount l WHERE l.id = ledger FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    END IF;
    moment := clock_timestamp();
    RETURN json_build_object('clock', moment, 'settling', settling,
        'offering', to_json(offering), 'account', account.status,
        'class', (SELECT i.investor_class FROM accounts_investorprofile i
            WHERE i.user_id = account.user_id),
        'available', (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = cash),
        'before', (SELECT s.id FROM issuers_subscription s
            WHERE s.account_id = of_account AND s.offering_id = of_offering
                AND s.status = 'ACTIVE'),
        'refusals', (SELECT coalesce(json_agg(json_build_array(r.code, r.details)),
                '[]')
            FROM offerings_refusals(offering, ledger,
                CASE WHEN ledger IS NULL THEN account.user_id END, units, moment) r));
END $$;
REVOKE ALL ON FUNCTION public.offerings_read(uuid, uuid, bigint, boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_read_subscription(of_subscription uuid, units bigint, holds boolean)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    kept issuers_subscription;
    settling integer;
    moment timestamptz;
BEGIN
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = of_subscription;
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_offering o WHERE o.id = kept.offering_id FOR SHARE;
        PERFORM FROM accounts_account a WHERE a.id = kept.account_id FOR SHARE;
    END IF;
    settling := offerings_settling(ARRAY[kept.cash_account_id]);
    IF holds AND settling IS NULL THEN
        PERFORM FROM issuers_ledgeraccount l WHERE l.id = kept.ledger_account_id
            FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = kept.cash_account_id FOR NO KEY UPDATE;
        SELECT * INTO kept FROM issuers_subscription s WHERE s.id = of_subscription;
    END IF;
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = kept.offering_id;
    moment := clock_timestamp();
    RETURN json_build_object('clock', moment, 'settling', settling,
        'offering', to_json(offering), 'subscription', to_json(kept),
        'account', (SELECT a.status FROM accounts_account a
            WHERE a.id = kept.account_id),
        'class', (SELECT i.investor_class FROM accounts_investorprofile i
            WHERE i.user_id = kept.user_id),
        'available', (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = kept.cash_account_id),
        'refusals', (SELECT coalesce(json_agg(json_build_array(r.code, r.details)),
                '[]')
            FROM offerings_refusals(offering, kept.ledger_account_id, NULL, units,
                moment) r));
END $$;
REVOKE ALL ON FUNCTION public.offerings_read_subscription(uuid, bigint, boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_reflects_until(offering issuers_offering, investor uuid, at timestamp with time zone)
RETURNS timestamp with time zone LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN CASE WHEN EXISTS (SELECT FROM accounts_investorprofile i
            WHERE i.user_id = investor
                AND i.investor_class IN ('PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'))
        THEN at ELSE at + make_interval(secs => offering.reflection_seconds) END;
END $$;
REVOKE ALL ON FUNCTION public.offerings_reflects_until(issuers_offering, uuid, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_refusals(offering issuers_offering, target bigint, newcomer uuid, units bigint, at timestamp with time zone)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    head issuers_tokenledgerhead;
    held numeric;
BEGIN
    SELECT * INTO head FROM issuers_tokenledgerhead h
        WHERE h.token_id = offering.token_id;
    SELECT coalesce(sum(b.balance), 0) INTO held FROM issuers_holderbalance b
        WHERE b.token_id = offering.token_id AND b.account_id = target;
    RETURN QUERY SELECT j.code, j.details FROM register_judge(offering.token_id,
        'ALLOCATE', NULL, target, units, at, FALSE, 0, 0, held,
        head.supply + CASE offering.source WHEN 'MINT' THEN offering.maximum_units
            ELSE 0 END,
        head.holder_count, head.holder_count + (held = 0)::integer, newcomer) j;
END $$;
REVOKE ALL ON FUNCTION public.offerings_refusals(issuers_offering, bigint, uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_release(offering issuers_offering)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    freed uuid[];
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (SELECT s.cash_account_id FROM issuers_subscription s
            WHERE s.offering_id = offering.id AND s.status = 'ACTIVE')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved - r.cents
    FROM (
        SELECT s.cash_account_id, sum(s.quantity * s.limit_price)::bigint AS cents
        FROM issuers_subscription s
        WHERE s.offering_id = offering.id AND s.status = 'ACTIVE'
        GROUP BY s.cash_account_id
    ) r
    WHERE h.cash_account_id = r.cash_account_id;
    WITH ended AS (
        UPDATE issuers_subscription s SET status = 'RELEASED', allotted = 0,
            updated_at = clock_timestamp()
        WHERE s.offering_id = offering.id AND s.status = 'ACTIVE'
        RETURNING s.id
    ) SELECT array_agg(id) INTO freed FROM ended;
    IF freed IS NOT NULL THEN
        PERFORM offerings_tell_each(offering.token_id, freed);
        PERFORM cash_tell(array_agg(s.cash_account_id))
            FROM issuers_subscription s WHERE s.id = ANY (freed);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.offerings_release(issuers_offering) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_settle(actor text, of_offering uuid)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    last timestamptz;
    moment timestamptz;
    total numeric;
    net bigint;
    vat bigint;
    treasury bigint;
    takes bigint;
    fees bigint;
    part record;
    stopped uuid;
    paid bigint[];
    done uuid[] := '{}';
    entered bigint[];
    why text;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'ALLOTTED') IS NOT TRUE THEN
        RAISE EXCEPTION 'Only an offering that is allotted settles.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(ARRAY[offering.token_id]);
    SELECT greatest(h.last_effective_at, h.last_price_at) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = offering.token_id FOR UPDATE;
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT s.account_id FROM issuers_subscription s
            WHERE s.offering_id = of_offering AND s.status = 'ACTIVE'
                AND s.allotted > 0)
        ORDER BY a.id FOR SHARE;
    SELECT a.id INTO stopped FROM issuers_subscription s
        JOIN accounts_account a ON a.id = s.account_id AND a.status <> 'ACTIVE'
        WHERE s.offering_id = of_offering AND s.status = 'ACTIVE' AND s.allotted > 0
        ORDER BY a.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ACCOUNT_NOT_ACTIVE: account % got units and is not active any '
            'more. Allot the units anew.', stopped
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id IN (SELECT s.ledger_account_id FROM issuers_subscription s
            WHERE s.offering_id = of_offering AND s.status = 'ACTIVE')
        ORDER BY a.id FOR SHARE;
    SELECT a.id INTO STRICT treasury FROM issuers_ledgeraccount a
        JOIN issuers_token t ON t.issuer_id = a.issuer_id AND t.id = offering.token_id
        WHERE a.kind = 'TREASURY';
    SELECT c.cash_account_id INTO STRICT takes FROM issuers_issuercash c
        JOIN issuers_token t ON t.issuer_id = c.issuer_id AND t.id = offering.token_id;
    SELECT c.id INTO STRICT fees FROM accounts_cashaccount c WHERE c.kind = 'FEES';
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (takes, fees) OR h.cash_account_id IN (
            SELECT s.cash_account_id FROM issuers_subscription s
            WHERE s.offering_id = of_offering AND s.status = 'ACTIVE')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    moment := clock_timestamp();
    SELECT coalesce(sum(s.allotted), 0) INTO total FROM issuers_subscription s
        WHERE s.offering_id = of_offering AND s.status = 'ACTIVE';
    net := floor((2 * total * offering.price * offering.fee_bps + 10000) / 20000);
    vat := floor((2 * net::numeric * offering.vat_bps + 10000) / 20000);
    why := 'offering ' || of_offering;
    PERFORM approvals_use_by(actor, 'SETTLEMENT', jsonb_build_object(
        'offering', of_offering, 'units', total, 'cents', total * offering.price,
        'fee', net + vat));
    IF offering.source = 'MINT' THEN
        PERFORM register_post(moment, ARRAY[offering.token_id], ARRAY['MINT'],
            ARRAY[NULL]::bigint[], ARRAY[treasury], ARRAY[total], ARRAY[why],
            ARRAY[actor], ARRAY[NULL]::uuid[], ARRAY[NULL]::bigint[], '{}', '{}', '{}',
            '{}', '{}', '{}', '{}');
    END IF;
    FOR part IN
        SELECT array_agg(s.id ORDER BY s.place) AS ids,
            array_agg(s.ledger_account_id ORDER BY s.place) AS holders,
            array_agg(s.cash_account_id ORDER BY s.place) AS accounts,
            array_agg(s.allotted ORDER BY s.place) AS units,
            array_agg(s.quantity * s.limit_price ORDER BY s.place) AS reserves,
            count(*)::integer AS number
        FROM (
            SELECT x.*, row_number() OVER (ORDER BY x.allotted = 0, x.ranked_at, x.id)
                AS place
            FROM issuers_subscription x
            WHERE x.offering_id = of_offering AND x.status = 'ACTIVE'
        ) s
        GROUP BY s.allotted = 0, s.place / 5000
        ORDER BY min(s.place)
    LOOP
        done := done || part.ids;
        IF part.units[1] = 0 THEN
            PERFORM cash_post(moment, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
                '{}', '{}', part.accounts,
                ARRAY(SELECT -r FROM unnest(part.reserves) AS r));
            UPDATE issuers_subscription s SET status = 'RELEASED',
                updated_at = greatest(s.updated_at, moment)
                WHERE s.id = ANY (part.ids);
            CONTINUE;
        END IF;
        SELECT array_agg(p.number) INTO entered FROM register_post(moment,
            array_fill(offering.token_id, ARRAY[part.number]),
            array_fill('ALLOCATE'::text, ARRAY[part.number]),
            array_fill(treasury, ARRAY[part.number]), part.holders,
            part.units::numeric[], array_fill(why, ARRAY[part.number]),
            array_fill(actor, ARRAY[part.number]),
            array_fill(NULL::uuid, ARRAY[part.number]),
            array_fill(NULL::bigint, ARRAY[part.number]), '{}', '{}', '{}', '{}', '{}',
            '{}', '{}') p;
        paid := cash_post(moment,
            array_fill('OFFERING'::text, ARRAY[part.number]), part.accounts,
            array_fill(takes, ARRAY[part.number]),
            ARRAY(SELECT u.units * offering.price
                FROM unnest(part.units) WITH ORDINALITY AS u (units, place)
                ORDER BY u.place),
            array_fill(actor, ARRAY[part.number]), array_fill(why, ARRAY[part.number]),
            array_fill(NULL::text, ARRAY[part.number]),
            array_fill(NULL::bigint, ARRAY[part.number]),
            array_fill(NULL::bigint, ARRAY[part.number]),
            array_fill(NULL::uuid, ARRAY[part.number]), part.accounts,
            ARRAY(SELECT -r.cents
                FROM unnest(part.reserves) WITH ORDINALITY AS r (cents, place)
                ORDER BY r.place));
        UPDATE issuers_subscription s SET status = 'SETTLED', ledger_seq = d.seq,
            cash_transaction = d.payment, updated_at = greatest(s.updated_at, moment)
        FROM unnest(part.ids, entered, paid) AS d (id, seq, payment)
        WHERE s.id = d.id;
    END LOOP;
    PERFORM register_post(moment, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        ARRAY[offering.token_id], ARRAY[offering.price], ARRAY['ISSUE'], ARRAY[actor],
        '{}', '{}', '{}');
    IF net + vat > 0 THEN
        paid := cash_post(moment, ARRAY['FEE'], ARRAY[takes], ARRAY[fees],
            ARRAY[net + vat], ARRAY[actor], ARRAY[why], ARRAY[NULL]::text[],
            ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[], ARRAY[NULL]::uuid[], '{}',
            '{}');
    END IF;
    UPDATE issuers_offering o SET status = 'SETTLED', settling_until = NULL,
        fee_net = net, fee_vat = vat, updated_at = moment,
        fee_transaction = CASE WHEN net + vat > 0 THEN paid[1] END
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    PERFORM offerings_tell_each(offering.token_id, done);
    PERFORM cash_tell(array_agg(s.cash_account_id)) FROM issuers_subscription s
        WHERE s.id = ANY (done) AND s.status = 'RELEASED'
        HAVING count(*) > 0;
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_settle(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_settling(cash_accounts bigint[])
RETURNS integer LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    until timestamptz;
BEGIN
    -- Most of the time no offering settles.
    IF NOT EXISTS (SELECT FROM issuers_offering o
            WHERE o.settling_until > clock_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT max(o.settling_until) INTO until
    FROM unnest(cash_accounts) AS c (id)
    JOIN issuers_subscription s ON s.cash_account_id = c.id AND s.status = 'ACTIVE'
    JOIN issuers_offering o ON o.id = s.offering_id
        AND o.settling_until > clock_timestamp();
    RETURN CASE WHEN until IS NOT NULL THEN greatest(1,
        ceil(extract(epoch FROM until - clock_timestamp())))::integer END;
END $$;
REVOKE ALL ON FUNCTION public.offerings_settling(bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_subscribe(asker text, subscription uuid, of_offering uuid, of_account uuid, units bigint, cents bigint, at timestamp with time zone)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    ledger bigint;
    cash bigint;
    written issuers_subscription;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = of_offering FOR SHARE;
    SELECT * INTO account FROM accounts_account a WHERE a.id = of_account FOR SHARE;
    SELECT l.id INTO STRICT ledger FROM issuers_ledgeraccount l
        WHERE l.user_id = account.user_id;
    SELECT c.id INTO STRICT cash FROM accounts_cashaccount c
        WHERE c.account_id = of_account;
    PERFORM offerings_judge(asker, offering, account, ledger, units, cents, at);
    UPDATE accounts_cashhead h SET reserved = h.reserved + units * cents
        WHERE h.cash_account_id = cash;
    INSERT INTO issuers_subscription (id, offering_id, account_id, user_id,
        ledger_account_id, cash_account_id, partner_id, quantity, limit_price, status,
        version, ranked_at, reflects_until, refusal, created_at, updated_at)
    VALUES (subscription, of_offering, of_account, account.user_id, ledger, cash,
        account.partner_id, units, cents, 'ACTIVE', 1, at,
        offerings_reflects_until(offering, account.user_id, at), '', at, at)
    RETURNING * INTO written;
    PERFORM cash_tell(ARRAY[cash]);
    PERFORM offerings_tell_each(offering.token_id, ARRAY[subscription]);
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_subscribe(text, uuid, uuid, uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_tell(offering issuers_offering)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['OFFERING_CHANGED'],
        ARRAY[offering.id], NULL, ARRAY[offering.token_id], NULL,
        reasons => ARRAY[offering.status::text]);
END $$;
REVOKE ALL ON FUNCTION public.offerings_tell(issuers_offering) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_tell_each(of_token uuid, subscriptions uuid[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(s.partner_id ORDER BY s.ranked_at, s.id),
        array_agg('SUBSCRIPTION_CHANGED'::text), array_agg(s.id
            ORDER BY s.ranked_at, s.id), NULL, array_agg(of_token),
        array_agg(s.account_id ORDER BY s.ranked_at, s.id),
        reasons => array_agg(s.status::text ORDER BY s.ranked_at, s.id))
    FROM issuers_subscription s WHERE s.id = ANY (subscriptions)
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.offerings_tell_each(uuid, uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_terms(offering issuers_offering)
RETURNS jsonb LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT jsonb_build_object('rule', offering.rule, 'source', offering.source,
        'price', offering.price, 'floor', offering.price_floor,
        'cap', offering.price_cap, 'maximum', offering.maximum_units,
        'minimum', offering.minimum_units, 'smallest', offering.smallest_ticket,
        'largest', offering.largest_ticket,
        'opens', floor(extract(epoch FROM offering.opens_at)),
        'closes', floor(extract(epoch FROM offering.closes_at)),
        'reflection', offering.reflection_seconds, 'fee', offering.fee_bps,
        'vat', offering.vat_bps, 'documents', to_jsonb(offering.documents));
$$;
REVOKE ALL ON FUNCTION public.offerings_terms(issuers_offering) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_broken_entries(of_token uuid, since bigint, until bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT b.seq FROM (
        SELECT t.seq FROM issuers_ledgertransaction t
        LEFT JOIN issuers_ledgertransaction before
            ON before.token_id = t.token_id AND before.seq = t.seq - 1
        LEFT JOIN issuers_ledgerposting s
            ON s.token_id = t.token_id AND s.seq = t.seq AND s.leg = 1
        LEFT JOIN issuers_ledgerposting g
            ON g.token_id = t.token_id AND g.seq = t.seq AND g.leg = 2
        WHERE t.token_id = of_token AND t.seq > since AND t.seq <= until
            AND (EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = of_token)
                OR EXISTS (SELECT FROM issuers_restriction r
                    WHERE r.ledger_account_id IN (t.source_id, t.target_id)))
            AND EXISTS (SELECT FROM register_judge(of_token, t.kind, t.source_id,
                t.target_id, t.amount, t.effective_at, TRUE,
                s.balance_after + t.amount, 0, g.balance_after - t.amount,
                t.supply_after, coalesce(before.holders_after, 0), t.holders_after))
        OFFSET 0
    ) b
    WHERE NOT EXISTS (SELECT FROM trading_execution x WHERE x.token_id = of_token
        AND x.ledger_seq = b.seq AND x.aggressor IS NULL)
    ORDER BY b.seq;
END $$;
REVOKE ALL ON FUNCTION public.register_broken_entries(uuid, bigint, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_chain(digest bytea, line text)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
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
    source_marks bigint[]; target_marks bigint[]; befores bytea[];
    price_numbers bigint[];
    code constant text := nullif(current_setting('partnerapi.reason', TRUE), '');
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
            array_agg(CASE l.leg WHEN 1 THEN l.mark END) FILTER (WHERE l.is_first),
            array_agg(CASE l.leg WHEN 2 THEN l.mark END) FILTER (WHERE l.is_last),
            array_agg(l.digest_before) FILTER (WHERE l.is_first),
            array_agg(l.token), array_agg(l.seq), array_agg(l.leg),
            array_agg(l.account), array_agg(l.delta), array_agg(l.after),
            bool_or(l.holds AND (l.after > 0) <> (l.after - l.delta > 0)),
            min(l.broken || ': token ' || l.token || ', entry ' || l.seq)
                FILTER (WHERE l.broken IS NOT NULL)
        INTO seqs, supplies, helds, holders, source_marks, target_marks, befores,
            leg_tokens, leg_seqs, legs, leg_accounts,
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
                END AS broken,
                CASE WHEN n.version_1_entries IS NULL AND n.seq = n.last_seq + 1
                    THEN n.entry_digest END AS digest_before
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
                        l.leg = 2 OR e.target IS NULL AS is_last,
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
                        -- The account's entry before: its number, or, where it is one
                        -- of these, its place below zero.
                        coalesce(-lag(e.place) OVER by_account, b.last_seq, 0) AS mark,
                        h.last_seq, h.supply, h.held, h.holder_count,
                        h.version_1_entries, h.entry_digest, t.authorized_units,
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
                        SELECT x.balance, x.last_seq FROM issuers_holderbalance x
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
            target_id, amount, effective_at, recorded_at, supply_after, held_after,
            holders_after, actor, reason, reason_code, legacy_shareholder_id, reverses,
            source_before, target_before, previous_digest, salt, private_digest)
        SELECT e.token, e.seq, e.kind, e.source, e.target, e.amount,
            coalesce(e.entered_at, at), statement_timestamp(), e.supply, e.held,
            e.holders, e.actor, e.reason,
            CASE WHEN e.kind NOT IN ('TRADE', 'LEGACY_DELIVERY') THEN code END, e.line,
            e.reverses,
            CASE WHEN e.source_mark < 0 THEN seqs[-e.source_mark]
                ELSE e.source_mark END,
            CASE WHEN e.target_mark < 0 THEN seqs[-e.target_mark]
                ELSE e.target_mark END,
            e.before, e.salt, sha256(e.salt || convert_to(register_entry_detail(
                e.actor, e.line, e.reason, statement_timestamp()), 'UTF8'))
        FROM (
            SELECT u.*, uuid_send(gen_random_uuid()) AS salt
            FROM unnest(entry_tokens, seqs, kinds, sources, targets, amounts,
                entry_times, supplies, helds, holders, actors, reasons, legacy, reverses,
                source_marks, target_marks, befores)
                AS u (token, seq, kind, source, target, amount, entered_at, supply,
                    held, holders, actor, reason, line, reverses, source_mark,
                    target_mark, before)
            OFFSET 0
        ) e;
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
                h.last_price, h.version_1_prices, h.price_digest,
                uuid_send(gen_random_uuid()) AS salt,
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
                (token_id, number, price_cents, source, effective_at, recorded_at,
                recorded_by, previous_digest, salt, private_digest)
            SELECT n.token, n.number, n.cents, n.source, n.priced_at,
                statement_timestamp(), n.actor,
                CASE WHEN n.version_1_prices IS NULL AND n.number = n.last_price + 1
                    THEN n.price_digest END,
                n.salt, sha256(n.salt || convert_to(
                    register_price_detail(n.actor, statement_timestamp()), 'UTF8'))
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
            -- What is written from now on has lines of version 2.
            version_1_entries = CASE WHEN l.seq IS NULL THEN h.version_1_entries
                ELSE coalesce(h.version_1_entries, h.last_seq) END,
            version_1_prices = CASE WHEN l.number IS NULL THEN h.version_1_prices
                ELSE coalesce(h.version_1_prices, h.last_price) END,
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
    IF 'TRADE' <> ANY (kinds) OR 'TRADE' <> ANY (price_sources) THEN
        PERFORM events_write(array_agg(n.audience), NULL, array_agg(n.kind),
            array_agg(n.subject), array_agg(n.issuer), array_agg(n.token), NULL,
            array_agg(n.seq))
        FROM (
            SELECT u.* FROM (
                SELECT 1 AS part, NULL::bigint AS line_seq, 'GRANTED' AS audience,
                    'REGISTER_CHANGED' AS kind, t.id AS subject, t.issuer_id AS issuer,
                    t.id AS token, max(e.seq) AS seq
                FROM unnest(entry_tokens, kinds, seqs) AS e (token, kind, seq)
                JOIN issuers_token t ON t.id = e.token
                WHERE e.kind <> 'TRADE' GROUP BY t.id
                UNION ALL
                SELECT 2, e.seq, 'GRANTED', 'LEGACY_SHARES_DELIVERED', e.line,
                    t.issuer_id, t.id, e.seq
                FROM unnest(entry_tokens, legacy, seqs) AS e (token, line, seq)
                JOIN issuers_token t ON t.id = e.token
                WHERE e.line IS NOT NULL
                UNION ALL
                SELECT 3, NULL, CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
                        ELSE 'GRANTED' END, 'TOKEN_PRICE_CHANGED', t.id, t.issuer_id,
                    t.id, NULL
                FROM issuers_token t
                WHERE t.id IN (SELECT p.token
                    FROM unnest(price_tokens, price_sources) AS p (token, source)
                    WHERE p.source <> 'TRADE')
            ) u
            ORDER BY u.part, u.line_seq, u.token
        ) n;
    END IF;
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.register_keep_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    made numeric;
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM register_mark(ARRAY[NEW.issuer_id]);
        PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
        IF NEW.created_at >= transaction_timestamp() THEN
            NEW.created_at := clock_timestamp();
        ELSIF NOT EXISTS (SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id
                AND i.recorded_in = (SELECT register_transaction(0))) THEN
            RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because '
                'its issuer was there before.', NEW.symbol
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
            RAISE EXCEPTION 'Token % is on the secondary market and cannot go back.',
                OLD.symbol USING ERRCODE = 'restrict_violation';
        END IF;
        IF NEW.market_type <> OLD.market_type AND EXISTS (SELECT FROM issuers_offering o
                WHERE o.token_id = OLD.id AND o.status IN ('OPEN', 'CLOSED', 'ALLOTTED'))
                THEN
            RAISE EXCEPTION 'Token % has an offering under way: it ends before the '
                'secondary market opens.', OLD.symbol
                USING ERRCODE = 'restrict_violation';
        END IF;
        IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
            UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
                RETURNING supply INTO made;
            IF made > NEW.authorized_units THEN
                RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                    'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

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
    PERFORM accounts_read_committed();
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
    -- Nothing binds the holders while they are judged.
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = ANY (sources || targets) AND a.kind = 'HOLDER'
        ORDER BY a.id FOR SHARE;
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
            THEN e.supply_after::text END)
            || CASE WHEN e.reason_code IS NULL THEN '{}'
                ELSE jsonb_build_object('code', e.reason_code) END,
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

CREATE OR REPLACE FUNCTION public.search_fold(said text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.btrim(pg_catalog.regexp_replace(
        pg_catalog.replace(pg_catalog.replace(
        pg_catalog.replace(pg_catalog.replace(
            pg_catalog.translate(
                pg_catalog.lower(pg_catalog.regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;
GRANT EXECUTE ON FUNCTION public.search_fold(text) TO PUBLIC;

CREATE OR REPLACE VIEW public.register_entry_lines AS
SELECT t.token_id, t.seq AS number, CASE WHEN t.private_digest IS NULL THEN COALESCE(( SELECT concat('{"digestAfter":"', encode(d.digest_after, 'hex'::text), '","digestBefore":"', encode(d.digest_before, 'hex'::text), '","number":"', d.number, '","redacted":"', d.erasure_id, '"}') AS concat FROM issuers_redactedline d WHERE d.token_id = t.token_id AND d.number = t.seq), concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":', CASE WHEN t.source_id IS NULL THEN 'null'::text WHEN source.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || source.user_id) || '"'::text END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE(('"'::text || t.legacy_shareholder_id) || '"'::text, 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE(t.reverses::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":', CASE WHEN t.target_id IS NULL THEN 'null'::text WHEN target.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || target.user_id) || '"'::text END, ',"token":"', t.token_id, '"}')) ELSE concat('{"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', register_api_time(t.effective_at), '","heldAfter":"', t.held_after, '","holdersAfter":"', t.holders_after, '","kind":"', t.kind, CASE WHEN t.reason_code IS NULL THEN '","lineVersion":"2","previousDigest":'::text ELSE '","lineVersion":"3","previousDigest":'::text END, COALESCE(('"'::text || encode(t.previous_digest, 'hex'::text)) || '"'::text, 'null'::text), ',"privateDigest":"', encode(t.private_digest, 'hex'::text), '","reason":"'::text || t.reason_code::text, '","reverses":', COALESCE(('"'::text || t.reverses) || '"'::text, 'null'::text), ',"sequence":"', t.seq, '","source":', COALESCE(('"User|'::text || source.user_id) || '"'::text, 'null'::text), ',"sourceBefore":', COALESCE(('"'::text || t.source_before) || '"'::text, 'null'::text), ',"supplyAfter":"', t.supply_after, '","target":', COALESCE(('"User|'::text || target.user_id) || '"'::text, 'null'::text), ',"targetBefore":', COALESCE(('"'::text || t.target_before) || '"'::text, 'null'::text), ',"token":"Token|', t.token_id, '"}') END AS line, CASE WHEN t.salt IS NOT NULL THEN register_entry_detail(t.actor::text, t.legacy_shareholder_id, t.reason::text, t.recorded_at) ELSE NULL::text END AS private, t.salt, t.private_digest FROM issuers_ledgertransaction t LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.delivery_release(job uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    said jsonb;
    issuers uuid[];
    amounts numeric[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM issuers_deliveryjob j
        WHERE j.id = job AND j.released_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT jsonb_build_object('job', j.id, 'source', j.source,
        'lines', coalesce(sum(cardinality(s.shareholder_ids)), 0),
        'shares', coalesce(sum(l.units), 0)::text) INTO said
    FROM issuers_deliveryjob j
    LEFT JOIN issuers_deliverystep s ON s.job_id = j.id
    LEFT JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l ON TRUE
    WHERE j.id = job GROUP BY j.id;
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = job
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', said, issuers, amounts, NULL, NULL);
    UPDATE issuers_deliveryjob SET released_at = clock_timestamp() WHERE id = job;
END $$;
REVOKE ALL ON FUNCTION public.delivery_release(uuid) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    WITH removed AS (
        DELETE FROM issuers_event WHERE partner_id = head.partner_id
            AND sequence > head.pruned_sequence AND sequence <= until
        RETURNING type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END AS issuer_id,
            CASE WHEN type IN ('MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END AS token_id
    ), counted AS (
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT type, issuer_id, token_id, count(*) AS number FROM removed
            GROUP BY 1, 2, 3) g
        WHERE c.partner_id = head.partner_id AND c.type = g.type
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id
    )
    SELECT count(*) INTO deleted FROM removed;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;

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
            CASE WHEN type IN ('MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END, count(*)
        FROM numbered GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    -- A session that hears it notifies those who wait for events, after the commit.
    RAISE INFO 'Partners have new events.' USING ERRCODE = 'PEV01';
END $$;
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_broken_entries(of_token uuid, since bigint, until bigint)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT t.seq FROM issuers_ledgertransaction t
    LEFT JOIN issuers_ledgertransaction before
        ON before.token_id = t.token_id AND before.seq = t.seq - 1
    LEFT JOIN issuers_ledgerposting s
        ON s.token_id = t.token_id AND s.seq = t.seq AND s.leg = 1
    LEFT JOIN issuers_ledgerposting g
        ON g.token_id = t.token_id AND g.seq = t.seq AND g.leg = 2
    WHERE t.token_id = of_token AND t.seq > since AND t.seq <= until
        AND (EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = of_token)
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (t.source_id, t.target_id)))
        AND EXISTS (SELECT FROM register_judge(of_token, t.kind, t.source_id,
            t.target_id, t.amount, t.effective_at, TRUE, s.balance_after + t.amount, 0,
            g.balance_after - t.amount, t.supply_after,
            coalesce(before.holders_after, 0), t.holders_after))
    ORDER BY t.seq;
END $$;
REVOKE ALL ON FUNCTION public.register_broken_entries(uuid, bigint, bigint) FROM PUBLIC;

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
    source_marks bigint[]; target_marks bigint[]; befores bytea[];
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
            array_agg(CASE l.leg WHEN 1 THEN l.mark END) FILTER (WHERE l.is_first),
            array_agg(CASE l.leg WHEN 2 THEN l.mark END) FILTER (WHERE l.is_last),
            array_agg(l.digest_before) FILTER (WHERE l.is_first),
            array_agg(l.token), array_agg(l.seq), array_agg(l.leg),
            array_agg(l.account), array_agg(l.delta), array_agg(l.after),
            bool_or(l.holds AND (l.after > 0) <> (l.after - l.delta > 0)),
            min(l.broken || ': token ' || l.token || ', entry ' || l.seq)
                FILTER (WHERE l.broken IS NOT NULL)
        INTO seqs, supplies, helds, holders, source_marks, target_marks, befores,
            leg_tokens, leg_seqs, legs, leg_accounts,
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
                END AS broken,
                CASE WHEN n.version_1_entries IS NULL AND n.seq = n.last_seq + 1
                    THEN n.entry_digest END AS digest_before
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
                        l.leg = 2 OR e.target IS NULL AS is_last,
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
                        -- The account's entry before: its number, or, where it is one
                        -- of these, its place below zero.
                        coalesce(-lag(e.place) OVER by_account, b.last_seq, 0) AS mark,
                        h.last_seq, h.supply, h.held, h.holder_count,
                        h.version_1_entries, h.entry_digest, t.authorized_units,
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
                        SELECT x.balance, x.last_seq FROM issuers_holderbalance x
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
            target_id, amount, effective_at, recorded_at, supply_after, held_after,
            holders_after, actor, reason, legacy_shareholder_id, reverses,
            source_before, target_before, previous_digest, salt, private_digest)
        SELECT e.token, e.seq, e.kind, e.source, e.target, e.amount,
            coalesce(e.entered_at, at), statement_timestamp(), e.supply, e.held,
            e.holders, e.actor, e.reason, e.line, e.reverses,
            CASE WHEN e.source_mark < 0 THEN seqs[-e.source_mark]
                ELSE e.source_mark END,
            CASE WHEN e.target_mark < 0 THEN seqs[-e.target_mark]
                ELSE e.target_mark END,
            e.before, e.salt, sha256(e.salt || convert_to(register_entry_detail(
                e.actor, e.line, e.reason, statement_timestamp()), 'UTF8'))
        FROM (
            SELECT u.*, uuid_send(gen_random_uuid()) AS salt
            FROM unnest(entry_tokens, seqs, kinds, sources, targets, amounts,
                entry_times, supplies, helds, holders, actors, reasons, legacy, reverses,
                source_marks, target_marks, befores)
                AS u (token, seq, kind, source, target, amount, entered_at, supply,
                    held, holders, actor, reason, line, reverses, source_mark,
                    target_mark, before)
            OFFSET 0
        ) e;
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
                h.last_price, h.version_1_prices, h.price_digest,
                uuid_send(gen_random_uuid()) AS salt,
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
                (token_id, number, price_cents, source, effective_at, recorded_at,
                recorded_by, previous_digest, salt, private_digest)
            SELECT n.token, n.number, n.cents, n.source, n.priced_at,
                statement_timestamp(), n.actor,
                CASE WHEN n.version_1_prices IS NULL AND n.number = n.last_price + 1
                    THEN n.price_digest END,
                n.salt, sha256(n.salt || convert_to(
                    register_price_detail(n.actor, statement_timestamp()), 'UTF8'))
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
            -- What is written from now on has lines of version 2.
            version_1_entries = CASE WHEN l.seq IS NULL THEN h.version_1_entries
                ELSE coalesce(h.version_1_entries, h.last_seq) END,
            version_1_prices = CASE WHEN l.number IS NULL THEN h.version_1_prices
                ELSE coalesce(h.version_1_prices, h.last_price) END,
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
    IF 'TRADE' <> ANY (kinds) OR 'TRADE' <> ANY (price_sources) THEN
        PERFORM events_write(array_agg(n.audience ORDER BY n.place), NULL,
            array_agg(n.kind ORDER BY n.place), array_agg(n.subject ORDER BY n.place),
            array_agg(n.issuer ORDER BY n.place), array_agg(n.token ORDER BY n.place),
            NULL, array_agg(n.seq ORDER BY n.place))
        FROM (
            SELECT u.*, row_number() OVER (ORDER BY u.part, u.line_seq, u.token) AS place
            FROM (
                SELECT 1 AS part, NULL::bigint AS line_seq, 'GRANTED' AS audience,
                    'REGISTER_CHANGED' AS kind, t.id AS subject, t.issuer_id AS issuer,
                    t.id AS token, max(e.seq) AS seq
                FROM unnest(entry_tokens, kinds, seqs) AS e (token, kind, seq)
                JOIN issuers_token t ON t.id = e.token
                WHERE e.kind <> 'TRADE' GROUP BY t.id
                UNION ALL
                SELECT 2, e.seq, 'GRANTED', 'LEGACY_SHARES_DELIVERED', e.line,
                    t.issuer_id, t.id, e.seq
                FROM unnest(entry_tokens, legacy, seqs) AS e (token, line, seq)
                JOIN issuers_token t ON t.id = e.token
                WHERE e.line IS NOT NULL
                UNION ALL
                SELECT 3, NULL, CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
                        ELSE 'GRANTED' END, 'TOKEN_PRICE_CHANGED', t.id, t.issuer_id,
                    t.id, NULL
                FROM issuers_token t
                WHERE t.id IN (SELECT p.token
                    FROM unnest(price_tokens, price_sources) AS p (token, source)
                    WHERE p.source <> 'TRADE')
            ) u
        ) n;
    END IF;
    RETURN QUERY
        SELECT e.token, e.seq, FALSE FROM unnest(entry_tokens, seqs) AS e (token, seq)
        UNION ALL
        SELECT p.token, p.number, TRUE
        FROM unnest(price_tokens, price_numbers) AS p (token, number);
END $$;
REVOKE ALL ON FUNCTION public.register_enter(timestamp with time zone, boolean, uuid[], text[], bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], timestamp with time zone[], uuid[], bigint[], text[], text[], timestamp with time zone[], uuid[], bigint[], numeric[]) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.register_keep_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    made numeric;
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM register_mark(ARRAY[NEW.issuer_id]);
        PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
        IF NEW.created_at >= transaction_timestamp() THEN
            NEW.created_at := clock_timestamp();
        ELSIF NOT EXISTS (SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id
                AND i.recorded_in = (SELECT register_transaction(0))) THEN
            RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because '
                'its issuer was there before.', NEW.symbol
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
            RAISE EXCEPTION 'Token % is on the secondary market and cannot go back.',
                OLD.symbol USING ERRCODE = 'restrict_violation';
        END IF;
        IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
            UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
                RETURNING supply INTO made;
            IF made > NEW.authorized_units THEN
                RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                    'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

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
    PERFORM accounts_read_committed();
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

CREATE OR REPLACE FUNCTION public.search_fold(said text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT btrim(regexp_replace(
        replace(replace(replace(replace(
            translate(
                lower(regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;
GRANT EXECUTE ON FUNCTION public.search_fold(text) TO PUBLIC;

CREATE OR REPLACE VIEW public.register_entry_lines AS
SELECT t.token_id, t.seq AS number, CASE WHEN t.private_digest IS NULL THEN concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":', CASE WHEN t.source_id IS NULL THEN 'null'::text WHEN source.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || source.user_id) || '"'::text END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE(('"'::text || t.legacy_shareholder_id) || '"'::text, 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE(t.reverses::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":', CASE WHEN t.target_id IS NULL THEN 'null'::text WHEN target.user_id IS NULL THEN '"treasury"'::text ELSE ('"'::text || target.user_id) || '"'::text END, ',"token":"', t.token_id, '"}') ELSE concat('{"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', register_api_time(t.effective_at), '","heldAfter":"', t.held_after, '","holdersAfter":"', t.holders_after, '","kind":"', t.kind, '","lineVersion":"2","previousDigest":', COALESCE(('"'::text || encode(t.previous_digest, 'hex'::text)) || '"'::text, 'null'::text), ',"privateDigest":"', encode(t.private_digest, 'hex'::text), '","reverses":', COALESCE(('"'::text || t.reverses) || '"'::text, 'null'::text), ',"sequence":"', t.seq, '","source":', COALESCE(('"User|'::text || source.user_id) || '"'::text, 'null'::text), ',"sourceBefore":', COALESCE(('"'::text || t.source_before) || '"'::text, 'null'::text), ',"supplyAfter":"', t.supply_after, '","target":', COALESCE(('"User|'::text || target.user_id) || '"'::text, 'null'::text), ',"targetBefore":', COALESCE(('"'::text || t.target_before) || '"'::text, 'null'::text), ',"token":"Token|', t.token_id, '"}') END AS line, CASE WHEN t.salt IS NOT NULL THEN register_entry_detail(t.actor::text, t.legacy_shareholder_id, t.reason::text, t.recorded_at) ELSE NULL::text END AS private, t.salt, t.private_digest FROM issuers_ledgertransaction t LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;

DROP FUNCTION public.erasure_erase(text, uuid, jsonb, jsonb);

DROP FUNCTION public.erasure_pattern(uuid);

DROP FUNCTION public.erasure_places();

DROP FUNCTION public.erasure_rows(uuid, jsonb);

DROP FUNCTION public.offerings_allot(text, uuid, uuid[], bigint[], text[]);

DROP FUNCTION public.offerings_amend(text, uuid, integer, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_close(uuid);

DROP FUNCTION public.offerings_digest(uuid[], bigint[], text[]);

DROP FUNCTION public.offerings_draft(text, uuid, uuid, jsonb);

DROP FUNCTION public.offerings_end(text, uuid, text, text);

DROP FUNCTION public.offerings_judge(text, issuers_offering, accounts_account, bigint, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_leave(text, uuid, timestamp with time zone);

DROP FUNCTION public.offerings_mark(text, uuid, integer);

DROP FUNCTION public.offerings_open(text, uuid);

DROP FUNCTION public.offerings_pay_out(text, uuid, uuid, bigint, text, text);

DROP FUNCTION public.offerings_price(text, uuid, bigint);

DROP FUNCTION public.offerings_read(uuid, uuid, bigint, boolean);

DROP FUNCTION public.offerings_read_subscription(uuid, bigint, boolean);

DROP FUNCTION public.offerings_reflects_until(issuers_offering, uuid, timestamp with time zone);

DROP FUNCTION public.offerings_refusals(issuers_offering, bigint, uuid, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_release(issuers_offering);

DROP FUNCTION public.offerings_settle(text, uuid);

DROP FUNCTION public.offerings_settling(bigint[]);

DROP FUNCTION public.offerings_subscribe(text, uuid, uuid, uuid, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_tell(issuers_offering);

DROP FUNCTION public.offerings_tell_each(uuid, uuid[]);

DROP FUNCTION public.offerings_terms(issuers_offering);

DROP FUNCTION public.register_chain(bytea, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0104_prices_of_offerings_are_validated"),
        ("accounts", "0087_fees_offerings_approvals"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
