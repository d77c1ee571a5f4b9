"""Erasures refuse by name."""

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
"""

BACKWARD = r"""
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
            USING ERRCODE = 'restrict_violation';
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
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0104_reason_codes_sql"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
