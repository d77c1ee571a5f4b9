"""Functions write cash, investors, requests, decisions and passkeys."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '45 ms';
LOCK TABLE public.accounts_approvaldecision, public.accounts_approvalrequest, public.accounts_assertion, public.accounts_bankline, public.accounts_bankstatement, public.accounts_cashtransaction, public.accounts_investorattestation, public.accounts_investorchange, public.accounts_passkey, public.accounts_passkeyvoucher, public.accounts_withdrawal IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_count(lists text[], keys uuid[], changes bigint[], last boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
BEGIN
    IF NOT last THEN
        INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
        SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
        FROM unnest(lists, keys, changes) AS x (list, key, change) ORDER BY 2, 3
        ON CONFLICT (transaction, list, key) DO UPDATE
            SET change = c.change + excluded.change;
        RETURN;
    END IF;
    WITH noted AS (
        DELETE FROM accounts_totalchange
        WHERE transaction = pg_current_xact_id()::text::bigint
        RETURNING list, key, change
    ), summed AS MATERIALIZED (
        SELECT list, key, sum(change)::bigint AS change FROM (
            SELECT list, key, change FROM noted
            UNION ALL
            SELECT * FROM unnest(lists, keys, changes)
        ) x GROUP BY list, key HAVING sum(change) <> 0
    )
    -- A total that falls is there already; the number beside its key is never inserted.
    INSERT INTO accounts_total AS t (list, key, number)
    SELECT list, key, greatest(change, 0) FROM summed
    WHERE change > 0 OR EXISTS (SELECT FROM accounts_total o
        WHERE (o.list, o.key) = (summed.list, summed.key))
    ORDER BY list, key
    ON CONFLICT (list, key) DO UPDATE SET number = t.number + (
        SELECT s.change FROM summed s
        WHERE (s.list, s.key) = (excluded.list, excluded.key));
END $$;
REVOKE ALL ON FUNCTION public.accounts_count(text[], uuid[], bigint[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_count_accounts guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
            array_agg(number))
        FROM (SELECT partner_id, count(*) AS number FROM changed
            GROUP BY partner_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
            array_agg(-number))
        FROM (SELECT partner_id, count(*) AS number FROM changed
            GROUP BY partner_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_fold_totals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_totalchange'::regclass THEN
        RAISE EXCEPTION 'accounts_fold_totals guards accounts_totalchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_totalchange WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    PERFORM accounts_count(NULL, NULL, NULL, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_fold_totals() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_staff_with(actor text, wanted text)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person uuid;
BEGIN
    SELECT u.id INTO person FROM accounts_user u
    WHERE u.email = actor AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
        SELECT FROM auth_permission p
        JOIN django_content_type c ON c.id = p.content_type_id
            AND c.app_label = split_part(wanted, '.', 1)
        WHERE p.codename = split_part(wanted, '.', 2) AND (
            EXISTS (SELECT FROM accounts_user_user_permissions own
                WHERE own.user_id = u.id AND own.permission_id = p.id)
            OR EXISTS (SELECT FROM accounts_user_groups member
                JOIN auth_group_permissions given ON given.group_id = member.group_id
                WHERE member.user_id = u.id AND given.permission_id = p.id))));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs an active member of staff with the right %: %.',
            wanted, coalesce(nullif(actor, ''), 'none is named')
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN person;
END $$;
REVOKE ALL ON FUNCTION public.accounts_staff_with(text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_written_directly()
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT NOT pg_catalog.has_table_privilege('public.accounts_cashhead', 'INSERT')
$$;
GRANT EXECUTE ON FUNCTION public.accounts_written_directly() TO PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_decide_each(requests uuid[], decider uuid, approves boolean, why text, signed uuid)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz;
    kinds text[];
    is_own boolean;
    ended uuid;
BEGIN
    SELECT array_agg(DISTINCT kind), bool_or(filed_by_id = decider)
        INTO kinds, is_own
    FROM (SELECT r.kind, r.filed_by_id FROM accounts_approvalrequest r
        WHERE r.id = ANY (requests) ORDER BY r.id FOR UPDATE) AS held;
    IF (SELECT count(*) FROM accounts_approvalrequest r WHERE r.id = ANY (requests))
        IS DISTINCT FROM cardinality(requests) OR kinds IS NULL THEN
        RAISE EXCEPTION 'A decision names requests that exist, each once.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF is_own AND NOT approves THEN
        PERFORM FROM accounts_user u
            WHERE u.id = decider AND u.is_active AND u.is_staff;
        IF NOT FOUND OR EXISTS (SELECT FROM accounts_approvalrequest r
            WHERE r.id = ANY (requests) AND r.filed_by_id <> decider) THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF is_own OR EXISTS (SELECT FROM unnest(kinds) AS k (kind)
        WHERE NOT approvals_may(decider, 'decide_' || k.kind)) THEN
        RAISE EXCEPTION 'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF signed IS NULL AND NOT coalesce(is_own, FALSE)
        AND EXISTS (SELECT FROM accounts_passkey k WHERE k.listed_at IS NOT NULL)
        AND EXISTS (SELECT FROM unnest(kinds) AS k (kind)
            LEFT JOIN accounts_approvalpolicy p ON p.kind = k.kind
            WHERE p.allows_code IS DISTINCT FROM TRUE) THEN
        RAISE EXCEPTION 'A decision of this kind is signed with a passkey.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    moment := clock_timestamp();
    SELECT r.id INTO ended FROM accounts_approvalrequest r
    WHERE r.id = ANY (requests) AND (r.expires_at <= moment OR EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id))
    ORDER BY r.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Request % has expired or was superseded.', ended USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_check_rest(asked, decider, approves, moment)
        FROM unnest(requests) AS u (asked);
    INSERT INTO accounts_approvaldecision
        (request_id, is_approved, reason, decided_by_id, decided_at, assertion_id)
    SELECT asked, approves, why, decider, moment, signed FROM unnest(requests) AS u (asked);
    RETURN moment;
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_each(uuid[], uuid, boolean, text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_decide_requests(requests uuid[], decider uuid, approves boolean, why text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN approvals_decide_each(requests, decider, approves, why, NULL);
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_decide_signed(requests uuid[], decider uuid, approves boolean, why text, key uuid, authenticator_data bytea, client_data bytea, signature bytea)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    digests bytea[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_approvalrequest r WHERE r.id = ANY (requests)
        ORDER BY r.id FOR UPDATE;
    SELECT array_agg(d.digest ORDER BY d.digest) INTO digests
    FROM unnest(requests) AS u (asked)
    CROSS JOIN LATERAL approvals_digest(asked, decider, approves, why) AS d (digest);
    RETURN approvals_decide_each(requests, decider, approves, why,
        passkeys_assert(key, decider, digests, authenticator_data, client_data,
            signature));
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_signed(uuid[], uuid, boolean, text, uuid, bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_digest(request uuid, decider uuid, approves boolean, why text)
RETURNS bytea LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT sha256(convert_to(concat_ws(chr(10), 'decision', r.id, r.kind,
            r.filed_by_id, r.content::text,
            CASE WHEN approves THEN 'APPROVED' ELSE 'REJECTED' END, decider, why), 'UTF8'))
        FROM accounts_approvalrequest r WHERE r.id = request);
END $$;
REVOKE ALL ON FUNCTION public.approvals_digest(uuid, uuid, boolean, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_file_request(request uuid, wanted text, said jsonb, name text, why text, filer uuid, until timestamp with time zone)
RETURNS accounts_approvalrequest LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    filed accounts_approvalrequest;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF until <= moment OR until > moment + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(filer, 'file_' || wanted) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(wanted) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvalrequest
        (id, kind, title, content, reason, filed_by_id, filed_at, expires_at)
    VALUES (request, wanted, name, said, why, filer, moment, until)
    RETURNING * INTO filed;
    RETURN filed;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_use_by(actor text, wanted text, said jsonb)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid := approvals_use(wanted, said, NULL, NULL, NULL);
    decider text := '';
BEGIN
    IF used IS NULL THEN
        PERFORM FROM accounts_user u
            WHERE u.email = actor AND approvals_may(u.id, 'file_' || wanted);
    ELSE
        SELECT coalesce(d.email, '') INTO decider
        FROM accounts_approvalrequest r
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_approvaldecision n ON n.request_id = r.id
        JOIN accounts_user d ON d.id = n.decided_by_id
        WHERE r.id = used AND (actor = d.email
            OR actor = f.email AND approvals_may(f.id, 'file_' || wanted));
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs the member of staff that filed its approval and may '
            'file it now, or that decided it: % %.', wanted, actor
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN decider;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_by(text, text, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_attest(id uuid, change uuid, actor text, account uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
RETURNS SETOF accounts_investorattestation LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    investor uuid;
    attester uuid;
    may_attest boolean;
    before accounts_investorprofile;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.user_id, p.id, p.may_attest INTO investor, attester, may_attest
    FROM accounts_account a JOIN accounts_partner p ON p.id = a.partner_id
    WHERE a.id = account AND p.login = actor;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = investor FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = investor FOR NO KEY UPDATE;
    RETURN QUERY INSERT INTO accounts_investorattestation (id, account_id, user_id,
        partner_id, verification, verified_until, tax_country_id, investor_class,
        evidence, created_at)
    VALUES (id, account, investor, attester, verification, verified_until, country,
        class, evidence, clock_timestamp())
    RETURNING *;
    SELECT * INTO before FROM accounts_investorprofile p WHERE p.user_id = investor;
    IF may_attest AND (before.partner_id = attester OR accounts_raises(
            before.verification, before.verified_until, before.tax_country_id,
            before.investor_class, verification, verified_until, country, class)) THEN
        PERFORM binds_enter(change, actor, FALSE, investor, id, attester, verification,
            verified_until, country, class, evidence);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_attest(uuid, uuid, text, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_decide(id uuid, actor text, investor uuid, attestation uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
RETURNS SETOF accounts_investorchange LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    attester uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM accounts_staff_with(actor, 'accounts.add_investorchange');
    PERFORM FROM accounts_user u WHERE u.id = investor FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = investor FOR NO KEY UPDATE;
    IF attestation IS NOT NULL THEN
        SELECT t.partner_id INTO attester FROM accounts_investorattestation t
            WHERE t.id = attestation AND t.user_id = investor;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Attestation % is of another user.', attestation
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    RETURN QUERY SELECT * FROM binds_enter(id, actor, TRUE, investor, attestation,
        attester, verification, verified_until, country, class, evidence);
END $$;
REVOKE ALL ON FUNCTION public.binds_decide(uuid, text, uuid, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.binds_enter(id uuid, actor text, is_staff boolean, investor uuid, attestation uuid, attester uuid, verification text, verified_until timestamp with time zone, country text, class text, evidence text)
RETURNS SETOF accounts_investorchange LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    following integer := 1;
    at timestamptz := clock_timestamp();
BEGIN
    SELECT p.changes + 1, greatest(at, p.updated_at) INTO following, at
        FROM accounts_investorprofile p WHERE p.user_id = investor;
    IF NOT FOUND THEN
        following := 1;
        at := clock_timestamp();
    END IF;
    INSERT INTO accounts_investorprofile (user_id, verification, verified_until,
        tax_country_id, investor_class, evidence, partner_id, changes, updated_at)
    VALUES (investor, verification, verified_until, country, class, evidence, attester,
        following, at)
    ON CONFLICT (user_id) DO UPDATE SET verification = excluded.verification,
        verified_until = excluded.verified_until,
        tax_country_id = excluded.tax_country_id,
        investor_class = excluded.investor_class, evidence = excluded.evidence,
        partner_id = excluded.partner_id, changes = excluded.changes,
        updated_at = excluded.updated_at;
    RETURN QUERY INSERT INTO accounts_investorchange (id, user_id, number,
        attestation_id, partner_id, actor, is_staff, verification, verified_until,
        tax_country_id, investor_class, evidence, created_at)
    VALUES (id, investor, following, attestation, attester, actor, is_staff, verification,
        verified_until, country, class, evidence, at)
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.binds_enter(uuid, text, boolean, uuid, uuid, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_book_statement(asker text, file_name text, file_digest text, closing bigint, line_references text[], texts text[], amounts bigint[], days date[], moved bigint[], withdrawals uuid[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    lines integer := cardinality(line_references);
    part integer;
    bank bigint;
    booked bigint;
    lies bigint;
    credited numeric;
    used uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (lines = ALL (ARRAY[cardinality(texts), cardinality(amounts), cardinality(days),
            cardinality(moved), cardinality(withdrawals)])) IS NOT TRUE THEN
        RAISE EXCEPTION 'A line of a bank statement has a reference, a text, an amount, '
            'a date and an account.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id INTO STRICT bank FROM accounts_cashaccount c WHERE c.kind = 'BANK';
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
            WHERE c.id = ANY (moved))
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = bank OR h.cash_account_id = ANY (moved)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    INSERT INTO accounts_bankstatement
        (name, digest, closing_balance, booked_balance, booked_by, booked_at, made_in)
    VALUES (file_name, file_digest, closing, closing, asker, clock_timestamp(), 0)
    RETURNING id INTO booked;
    INSERT INTO accounts_bankline (reference, statement_id, text, amount, date)
    SELECT l.reference, booked, l.text, l.amount, l.day
    FROM unnest(line_references, texts, amounts, days)
        AS l (reference, text, amount, day);
    -- A statement is judged whole; its payments are written in parts.
    FOR begun IN 1..lines BY 5000 LOOP
        part := least(5000, lines - begun + 1);
        PERFORM cash_post(clock_timestamp(), array_agg(CASE WHEN l.amount > 0
                THEN 'DEPOSIT' ELSE 'WITHDRAWAL' END ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN bank ELSE l.moved END
                ORDER BY l.place),
            array_agg(CASE WHEN l.amount > 0 THEN l.moved ELSE bank END
                ORDER BY l.place),
            array_agg(abs(l.amount) ORDER BY l.place),
            array_fill(asker, ARRAY[part]), array_fill(''::text, ARRAY[part]),
            line_references[begun:begun + 4999],
            array_fill(NULL::bigint, ARRAY[part]),
            array_fill(NULL::bigint, ARRAY[part]),
            withdrawals[begun:begun + 4999], '{}', '{}')
        FROM unnest(amounts[begun:begun + 4999], moved[begun:begun + 4999])
            WITH ORDINALITY AS l (amount, moved, place);
    END LOOP;
    SELECT -h.balance INTO lies FROM accounts_cashhead h
        WHERE h.cash_account_id = bank;
    IF lies IS DISTINCT FROM closing THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', closing, lies
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(l.amount), 0) INTO credited
    FROM unnest(amounts, moved) AS l (amount, moved)
    JOIN accounts_cashhead h ON h.cash_account_id = l.moved AND h.kind = 'CLIENT'
    WHERE l.amount > 0;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', file_name,
            'digest', file_digest, 'closing', closing::text, 'lines', (
                SELECT jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
                    l.day, l.moved) ORDER BY l.place)
                FROM unnest(line_references, texts, amounts, days, moved)
                    WITH ORDINALITY AS l (reference, text, amount, day, moved, place))),
            credited, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used,
        ARRAY['add_bankstatement', 'file_statement']);
    RETURN booked;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_decide_withdrawal(asker text, withdrawal uuid, becomes text, why text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    standing text;
    used uuid;
    decided accounts_withdrawal;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status INTO standing
    FROM accounts_account a
    JOIN accounts_cashaccount c ON c.account_id = a.id
    JOIN accounts_withdrawal w ON w.cash_account_id = c.id AND w.id = withdrawal
    FOR SHARE OF a;
    IF becomes = 'APPROVED' AND standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF becomes IN ('REFUSED', 'CANCELLED') AND coalesce(why, '') = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', becomes
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = (SELECT w.cash_account_id FROM accounts_withdrawal w
            WHERE w.id = withdrawal)
        FOR NO KEY UPDATE;
    SELECT * INTO decided FROM accounts_withdrawal w WHERE w.id = withdrawal;
    IF (decided.status = CASE becomes WHEN 'APPROVED' THEN 'REQUESTED'
            WHEN 'REFUSED' THEN 'REQUESTED' WHEN 'CANCELLED' THEN 'APPROVED' END)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A withdrawal that is REQUESTED becomes APPROVED or REFUSED, '
            'one that is APPROVED becomes CANCELLED; not % %.', decided.status, becomes
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF becomes <> 'REFUSED' THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', withdrawal,
            'status', becomes, 'cents', decided.amount::text, 'reason', why),
            decided.amount, NULL, NULL);
    END IF;
    PERFORM cash_judge_staff(asker, used, CASE becomes WHEN 'REFUSED'
        THEN ARRAY['change_withdrawal', 'decide_withdrawal']
        ELSE ARRAY['file_withdrawal'] END);
    IF becomes <> 'APPROVED' THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved - decided.amount
            WHERE h.cash_account_id = decided.cash_account_id;
    END IF;
    UPDATE accounts_withdrawal w SET status = becomes, status_reason = why,
        request_id = CASE becomes WHEN 'REFUSED' THEN w.request_id ELSE used END,
        updated_at = greatest(w.updated_at, clock_timestamp())
    WHERE w.id = withdrawal
    RETURNING * INTO decided;
    RETURN decided;
END $$;
REVOKE ALL ON FUNCTION public.cash_decide_withdrawal(text, uuid, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_digest(cash_account bigint, number bigint, transaction bigint, kind text, delta bigint, balance_after bigint, at timestamp with time zone, reference text, reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT ('x' OPERATOR(pg_catalog.||) pg_catalog.left(pg_catalog.encode(
        pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat_ws('|', cash_account,
            number, transaction, kind, delta, balance_after, extract(epoch FROM at),
            coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
            coalesce(withdrawal::pg_catalog.text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;
GRANT EXECUTE ON FUNCTION public.cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamp with time zone, text, bigint, bigint, uuid, text, text) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    paid bigint;
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'cash_follow_transactions guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead WHERE cash_account_id IN (
            SELECT source_id FROM entered UNION SELECT target_id FROM entered)
        ORDER BY cash_account_id FOR NO KEY UPDATE;
    -- Paid withdrawals free what they have reserved, before it leaves.
    IF EXISTS (SELECT FROM entered WHERE withdrawal_id IS NOT NULL) THEN
        UPDATE accounts_withdrawal w SET status = 'PAID',
                updated_at = greatest(w.updated_at, clock_timestamp())
            FROM entered e
            WHERE w.id = e.withdrawal_id AND w.status = 'APPROVED'
                AND w.cash_account_id = e.source_id AND w.amount = e.amount;
        GET DIAGNOSTICS paid = ROW_COUNT;
        IF paid <> (SELECT count(withdrawal_id) FROM entered) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
        PERFORM accounts_reserve_cash(array_agg(source_id), array_agg(-amount))
            FROM entered WHERE withdrawal_id IS NOT NULL;
    END IF;
    WITH judged AS (
        SELECT e.*, e.at BETWEEN
                greatest(transaction_timestamp(), source.last_at, target.last_at)
                AND greatest(clock_timestamp(), source.last_at, target.last_at)
            AND CASE e.kind
                WHEN 'DEPOSIT' THEN CASE
                    WHEN e.assigns_id IS NULL THEN source.kind = 'BANK'
                        AND line.amount = e.amount AND (target.kind = 'SUSPENSE'
                            OR target.kind = 'CLIENT'
                            AND cash_names(line.text, owned.deposit_reference))
                    ELSE source.kind = 'SUSPENSE' AND target.kind = 'CLIENT'
                        AND assigned.kind = 'DEPOSIT' AND assigned.assigns_id IS NULL
                        AND assigned.target_id = e.source_id
                        AND assigned.amount = e.amount
                        AND 1 = (
                            SELECT count(*) FROM accounts_cashtransaction o
                            WHERE o.assigns_id = e.assigns_id AND NOT EXISTS (
                                SELECT FROM accounts_cashtransaction r
                                WHERE r.reverses_id = o.id))
                    END
                WHEN 'WITHDRAWAL' THEN target.kind = 'BANK' AND line.amount = -e.amount
                    AND CASE WHEN e.withdrawal_id IS NULL THEN source.kind = 'SUSPENSE'
                        ELSE cash_names(line.text, paid_out.payment_reference) END
                WHEN 'TRADE' THEN source.kind = 'CLIENT' AND target.kind = 'CLIENT'
                WHEN 'REVERSAL' THEN (undone.kind = 'TRADE'
                        OR undone.assigns_id IS NOT NULL)
                    AND undone.id < e.id AND undone.amount = e.amount
                    AND undone.source_id = e.target_id
                    AND undone.target_id = e.source_id
                -- There is no tariff.
                ELSE FALSE END
            AND (target.kind <> 'CLIENT' OR client.status IN ('ACTIVE', 'SUSPENDED'))
            AS follows
        FROM entered e
        LEFT JOIN accounts_cashhead source ON source.cash_account_id = e.source_id
        LEFT JOIN accounts_cashhead target ON target.cash_account_id = e.target_id
        LEFT JOIN accounts_bankline line ON line.reference = e.reference
        LEFT JOIN accounts_cashtransaction assigned ON assigned.id = e.assigns_id
        LEFT JOIN accounts_cashtransaction undone ON undone.id = e.reverses_id
        LEFT JOIN accounts_withdrawal paid_out ON paid_out.id = e.withdrawal_id
        LEFT JOIN accounts_cashaccount owned ON owned.id = e.target_id
        LEFT JOIN accounts_account client ON client.id = owned.account_id
    ), legs AS MATERIALIZED (
        SELECT j.*, l.cash_account_id, l.delta,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after,
            j.follows AND CASE h.kind
                WHEN 'CLIENT' THEN h.balance + sum(l.delta) OVER by_account >= 0
                WHEN 'BANK' THEN h.balance + sum(l.delta) OVER by_account <= 0
                ELSE TRUE END AS allowed
        FROM judged j
        CROSS JOIN LATERAL (VALUES (j.source_id, -j.amount), (j.target_id, j.amount))
            AS l (cash_account_id, delta)
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account_id
        WINDOW by_account AS (PARTITION BY l.cash_account_id ORDER BY j.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account_id, number, id, delta, balance_after FROM legs
    ), moved AS (
        UPDATE accounts_cashhead h
            SET balance = l.balance, last_number = l.last_number, last_at = l.last_at,
                fingerprint = h.fingerprint + l.digests
        FROM (
            SELECT cash_account_id, max(number) AS last_number, max(at) AS last_at,
                (array_agg(balance_after ORDER BY number DESC))[1] AS balance,
                sum(cash_digest(cash_account_id, number, id, kind, delta, balance_after,
                    at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                    reason)) AS digests
            FROM legs WHERE allowed GROUP BY cash_account_id
        ) l
        WHERE h.cash_account_id = l.cash_account_id
    )
    SELECT format('%s of %s cents from cash account %s to %s', kind, amount, source_id,
        target_id) INTO wrong
    FROM legs WHERE allowed IS NOT TRUE ORDER BY id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind, with the bank line, '
            'the withdrawal or the transaction that it names and their amount, to whom '
            'the bank line''s text names, at a time that its writer took under the '
            'lock, to an account that is ACTIVE or SUSPENDED, and none has less than '
            'nothing: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_judge_staff(asker text, used uuid, rights text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person accounts_user;
    signed_in text;
BEGIN
    SELECT * INTO person FROM accounts_user u WHERE u.email = asker;
    IF used IS NOT NULL THEN
        PERFORM FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            WHERE r.id = used AND person.id IN (r.filed_by_id, d.decided_by_id);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'This is done in the name of the user that filed or decided '
                'its approval, and not of %.', asker USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN;
    END IF;
    IF (person.is_active AND person.is_staff AND (person.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts'
            WHERE p.codename = ANY (rights) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = person.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = person.id AND given.permission_id = p.id))))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'This is done by an active member of staff with the right to '
            'do it: %, and not %.', array_to_string(rights, ' or '), asker
            USING ERRCODE = 'restrict_violation';
    END IF;
    signed_in := approvals_person();
    IF signed_in NOT IN ('SQL', 'command', person.id::text) THEN
        RAISE EXCEPTION 'This is done in the name of the user that is signed in, and '
            'not of %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.cash_judge_staff(text, uuid, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_move_receipt(asker text, assigned bigint, undone bigint, target bigint, why text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    receipt accounts_cashtransaction;
    used uuid;
    entered bigint[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO receipt FROM accounts_cashtransaction t
        WHERE t.id = coalesce(assigned, undone);
    IF NOT FOUND OR receipt.kind <> 'DEPOSIT' OR num_nonnulls(assigned, undone) <> 1
        OR undone IS NOT NULL AND receipt.assigns_id IS NULL THEN
        RAISE EXCEPTION 'One receipt in suspense is assigned, or one assignment is '
            'undone.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (receipt.target_id, target)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    entered := cash_post(clock_timestamp(),
        ARRAY[CASE WHEN undone IS NULL THEN 'DEPOSIT' ELSE 'REVERSAL' END],
        ARRAY[receipt.target_id], ARRAY[target], ARRAY[receipt.amount], ARRAY[asker],
        ARRAY[why], ARRAY[NULL]::text[], ARRAY[undone], ARRAY[assigned],
        ARRAY[NULL]::uuid[], '{}', '{}');
    used := approvals_use('ASSIGNMENT', jsonb_build_object('assigns', assigned,
        'reverses', undone, 'to', target, 'cents', receipt.amount::text, 'reason', why),
        receipt.amount, NULL, NULL);
    PERFORM cash_judge_staff(asker, used, ARRAY['file_assignment']);
    RETURN entered[1];
END $$;
REVOKE ALL ON FUNCTION public.cash_move_receipt(text, bigint, bigint, bigint, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_names(said text, reference text)
RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$
    SELECT pg_catalog.strpos(pg_catalog.regexp_replace(pg_catalog.upper(said),
        '[^A-Z0-9]', '', 'g'), reference) OPERATOR(pg_catalog.>) 0
$$;
REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_post(at timestamp with time zone, kinds text[], sources bigint[], targets bigint[], amounts bigint[], actors text[], reasons text[], line_references text[], reverses bigint[], assigns bigint[], withdrawals uuid[], held_accounts bigint[], held_deltas bigint[])
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    payments integer := cardinality(kinds);
    wrong text;
    ids bigint[];
    held bigint;
    moved bigint;
BEGIN
    IF (payments <= 5000 AND cardinality(held_accounts) <= 5000) IS NOT TRUE THEN
        RAISE EXCEPTION 'Payments are written 5,000 at a time, and not %.',
            greatest(payments, cardinality(held_accounts))
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF payments = 0 THEN
        UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
        FROM (
            SELECT account, sum(delta)::bigint AS delta
            FROM unnest(held_accounts, held_deltas) AS u (account, delta)
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> (SELECT count(DISTINCT account)
                FROM unnest(held_accounts) AS u (account)) THEN
            RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN ARRAY[]::bigint[];
    END IF;
    IF (cash_post.at BETWEEN transaction_timestamp() AND clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Cash moves at a time that its writer took under the lock, and '
            'not at %.', cash_post.at USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('%s from cash account %s to %s', p.kind, p.source, p.target)
        INTO wrong
    FROM unnest(kinds, sources, targets, amounts, actors, reasons, line_references,
        reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind, source, target,
        amount, actor, reason, line, undone, assigned, withdrawal, place)
    LEFT JOIN accounts_cashhead s ON s.cash_account_id = p.source
    LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
    WHERE CASE p.kind
        WHEN 'TRADE' THEN s.kind = 'CLIENT' AND t.kind = 'CLIENT'
        WHEN 'DEPOSIT' THEN t.kind IN ('CLIENT', 'SUSPENSE')
            AND s.kind = CASE WHEN p.assigned IS NULL THEN 'BANK' ELSE 'SUSPENSE' END
        WHEN 'WITHDRAWAL' THEN t.kind = 'BANK'
            AND s.kind = CASE WHEN p.withdrawal IS NULL THEN 'SUSPENSE'
                ELSE 'CLIENT' END
        WHEN 'REVERSAL' THEN s.kind = 'CLIENT' AND t.kind IN ('CLIENT', 'SUSPENSE')
        -- There is no tariff.
        ELSE FALSE END IS NOT TRUE
    ORDER BY p.place LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status INTO wrong
    FROM unnest(targets) AS p (target)
    JOIN accounts_cashaccount c ON c.id = p.target
    JOIN accounts_account a ON a.id = c.account_id
    WHERE a.status NOT IN ('ACTIVE', 'SUSPENDED') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves to an account that is ACTIVE or SUSPENDED, and not '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'DEPOSIT' = ANY (kinds) OR 'WITHDRAWAL' = ANY (kinds) THEN
        SELECT coalesce(p.line, '') INTO wrong
        FROM unnest(kinds, sources, targets, amounts, line_references, assigns,
            withdrawals) WITH ORDINALITY AS p (kind, source, target, amount, line,
            assigned, withdrawal, place)
        LEFT JOIN accounts_bankline l ON l.reference = p.line
        LEFT JOIN accounts_cashaccount c ON c.id = p.target
        LEFT JOIN accounts_withdrawal w ON w.id = p.withdrawal
        WHERE (p.kind = 'WITHDRAWAL' OR p.kind = 'DEPOSIT' AND p.assigned IS NULL)
            AND (l.amount = CASE p.kind WHEN 'DEPOSIT' THEN p.amount
                    ELSE -p.amount END
                AND CASE
                    WHEN p.withdrawal IS NOT NULL
                        THEN cash_names(l.text, w.payment_reference)
                    WHEN c.kind = 'CLIENT' THEN cash_names(l.text, c.deposit_reference)
                    ELSE TRUE END) IS NOT TRUE
        ORDER BY p.place LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A bank line is booked with its amount, to or from whom '
                'its text names: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(withdrawals, NULL) <> '{}' THEN
        UPDATE accounts_withdrawal w SET status = 'PAID',
            updated_at = greatest(w.updated_at, clock_timestamp())
        FROM unnest(withdrawals, sources, amounts) AS p (withdrawal, source, amount)
        WHERE w.id = p.withdrawal AND w.status = 'APPROVED'
            AND w.cash_account_id = p.source AND w.amount = p.amount;
        GET DIAGNOSTICS moved = ROW_COUNT;
        IF moved <> cardinality(array_remove(withdrawals, NULL)) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF array_remove(assigns, NULL) <> '{}' THEN
        SELECT p.assigned::text INTO wrong
        FROM (
            SELECT u.*, count(*) OVER (PARTITION BY u.assigned) AS times
            FROM unnest(kinds, sources, targets, amounts, assigns) AS u (kind, source,
                target, amount, assigned)
            WHERE u.assigned IS NOT NULL
        ) p
        LEFT JOIN accounts_cashtransaction d ON d.id = p.assigned
        LEFT JOIN accounts_cashhead t ON t.cash_account_id = p.target
        WHERE (p.times = 1 AND t.kind = 'CLIENT' AND d.kind = 'DEPOSIT'
            AND d.assigns_id IS NULL AND d.target_id = p.source
            AND d.amount = p.amount AND NOT EXISTS (
                SELECT FROM accounts_cashtransaction o
                WHERE o.assigns_id = p.assigned AND NOT EXISTS (
                    SELECT FROM accounts_cashtransaction r WHERE r.reverses_id = o.id))
            ) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A receipt is assigned once, whole, from suspense to a '
                'client: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF 'REVERSAL' = ANY (kinds) THEN
        SELECT p.undone::text INTO wrong
        FROM unnest(kinds, sources, targets, amounts, reverses) AS p (kind, source,
            target, amount, undone)
        LEFT JOIN accounts_cashtransaction u ON u.id = p.undone
        WHERE p.kind = 'REVERSAL' AND ((u.kind = 'TRADE' OR u.assigns_id IS NOT NULL)
            AND u.amount = p.amount AND u.source_id = p.target
            AND u.target_id = p.source) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A reversal gives back what a trade or an assignment '
                'moved: transaction %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH entered AS (
        INSERT INTO accounts_cashtransaction (kind, amount, source_id, target_id, at,
            actor, reason, reference, reverses_id, assigns_id, withdrawal_id)
        SELECT p.kind, p.amount, p.source, p.target, greatest(cash_post.at, (
                SELECT max(h.last_at) FROM accounts_cashhead h
                WHERE h.cash_account_id = ANY (sources || targets))),
            p.actor, p.reason, p.line, p.undone, p.assigned, p.withdrawal
        FROM unnest(kinds, amounts, sources, targets, actors, reasons,
            line_references, reverses, assigns, withdrawals) WITH ORDINALITY AS p (kind,
            amount, source, target, actor, reason, line, undone, assigned, withdrawal,
            place)
        ORDER BY p.place
        RETURNING *
    ), legs AS (
        SELECT e.*, l.cash_account, l.delta, h.kind AS sort,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after
        FROM entered e
        CROSS JOIN LATERAL (VALUES (e.source_id, -e.amount), (e.target_id, e.amount))
            AS l (cash_account, delta)
        JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account
        WINDOW by_account AS (PARTITION BY l.cash_account ORDER BY e.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account, number, id, delta, balance_after FROM legs
    ), held AS (
        SELECT account, delta FROM unnest(held_accounts, held_deltas)
            AS u (account, delta)
        UNION ALL
        -- A paid withdrawal frees what it has reserved.
        SELECT source_id, -amount FROM entered WHERE withdrawal_id IS NOT NULL
    ), moved AS (
        UPDATE accounts_cashhead h SET balance = h.balance + d.delta,
            reserved = h.reserved + d.held, last_number = h.last_number + d.legs,
            last_at = coalesce(d.at, h.last_at), fingerprint = h.fingerprint + d.digests
        FROM (
            SELECT account, sum(delta)::bigint AS delta, sum(held)::bigint AS held,
                sum(leg) AS legs, max(at) AS at, sum(digest) AS digests
            FROM (
                SELECT cash_account AS account, delta, 0 AS held, 1 AS leg, at,
                    cash_digest(cash_account, number, id, kind, delta, balance_after,
                        at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                        reason) AS digest
                FROM legs
                UNION ALL
                SELECT account, 0, delta, 0, NULL, 0 FROM held
            ) l
            GROUP BY account
        ) d
        WHERE h.cash_account_id = d.account
        RETURNING h.cash_account_id AS account
    )
    SELECT (SELECT array_agg(id ORDER BY id) FROM entered),
        (SELECT format('%s of %s cents from cash account %s to %s', kind, amount,
                source_id, target_id)
            FROM legs
            WHERE sort = 'CLIENT' AND balance_after < 0
                OR sort = 'BANK' AND balance_after > 0
            ORDER BY id LIMIT 1),
        (SELECT count(*) FROM held
            WHERE account NOT IN (SELECT account FROM moved))
        INTO ids, wrong, held;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'No account has less than nothing after a payment: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF held > 0 THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN ids;
END $$;
REVOKE ALL ON FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_read_account(account uuid, partner_reference text)
RETURNS TABLE(status text, available bigint, withdrawal_id uuid) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cash bigint;
    standing text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status, c.id INTO standing, cash
    FROM accounts_account a JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = account FOR SHARE OF a;
    PERFORM FROM accounts_cashhead h WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT standing, h.balance - h.reserved, w.id
        FROM accounts_cashhead h
        LEFT JOIN accounts_withdrawal w ON w.cash_account_id = h.cash_account_id
            AND w.reference = partner_reference
        WHERE h.cash_account_id = cash;
END $$;
REVOKE ALL ON FUNCTION public.cash_read_account(uuid, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_withdraw(asker text, withdrawal uuid, account uuid, cents bigint, partner_reference text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cash bigint;
    standing text;
    moment timestamptz;
    requested accounts_withdrawal;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT c.id, a.status INTO cash, standing
    FROM accounts_account a
    JOIN accounts_partner p ON p.id = a.partner_id AND p.login = asker AND p.is_active
    JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = account FOR SHARE OF a;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A withdrawal is requested by the partner of its account, and '
            'not by %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    IF standing <> 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_cashhead h SET reserved = h.reserved + cents
        WHERE h.cash_account_id = cash;
    moment := clock_timestamp();
    INSERT INTO accounts_withdrawal (id, cash_account_id, amount, reference,
        payment_reference, status, status_reason, requested_by, created_at, updated_at)
    VALUES (withdrawal, cash, cents, partner_reference,
        cash_reference('2', ('x' || right(withdrawal::text, 12))::bit(48)::bigint),
        'REQUESTED', '', asker, moment, moment)
    RETURNING * INTO requested;
    RETURN requested;
END $$;
REVOKE ALL ON FUNCTION public.cash_withdraw(text, uuid, uuid, bigint, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_assert(key uuid, signer uuid, digests bytea[], authenticator_data bytea, client_data bytea, signature bytea)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
    told jsonb := convert_from(client_data, 'UTF8')::jsonb;
    counted bigint;
    made uuid := gen_random_uuid();
BEGIN
    SELECT * INTO k FROM accounts_passkey WHERE id = key FOR UPDATE;
    IF NOT FOUND OR k.person_id <> signer OR k.listed_at IS NULL
        OR k.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'Only a passkey of this person that counts may sign.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF told ->> 'type' IS DISTINCT FROM 'webauthn.get'
        OR told ->> 'challenge' IS DISTINCT FROM translate(rtrim(encode(sha256((
            SELECT string_agg(d, ''::bytea ORDER BY d) FROM unnest(digests) AS u (d))),
            'base64'), '='), '+/', '-_') THEN
        RAISE EXCEPTION 'The passkey has signed something else.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF length(authenticator_data) < 37 OR get_byte(authenticator_data, 32) & 5 <> 5 THEN
        RAISE EXCEPTION 'The device has not verified the person.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    counted := ('x' || encode(substr(authenticator_data, 34, 4), 'hex'))::bit(32)::bigint;
    IF counted <= k.sign_count AND (counted, k.sign_count) <> (0, 0) THEN
        RAISE EXCEPTION 'The counter of the passkey has not grown: there may be a copy.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey SET sign_count = counted WHERE id = key;
    INSERT INTO accounts_assertion (id, passkey_id, digests, authenticator_data,
        client_data, signature, made_at)
    VALUES (made, key, digests, authenticator_data, client_data, signature,
        clock_timestamp());
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_assert(uuid, uuid, bytea[], bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_digest(key uuid)
RETURNS bytea LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT sha256(convert_to(concat_ws(chr(10), 'passkey', k.id, k.person_id,
            encode(k.credential, 'hex'), encode(k.public_key, 'hex'), k.domain), 'UTF8'))
        FROM accounts_passkey k WHERE k.id = key);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_digest(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_enrol(key uuid, whose uuid, label text, credential bytea, point bytea, bound_to text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = whose AND u.is_active AND u.is_staff
        FOR NO KEY UPDATE;
    IF NOT FOUND OR length(point) <> 65 OR get_byte(point, 0) <> 4 OR (
        SELECT count(*) FROM accounts_passkey k
        WHERE k.person_id = whose AND k.revoked_at IS NULL) >= 10 THEN
        RAISE EXCEPTION 'An active member of staff has up to ten passkeys, of the curve '
            'P-256.' USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_passkey (id, person_id, name, credential, public_key, domain)
    VALUES (key, whose, label, credential, point, bound_to);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_enrol(uuid, uuid, text, bytea, bytea, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_list(keys uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey SET listed_at = clock_timestamp() WHERE id IN (
        SELECT k.id FROM accounts_passkey k
        WHERE k.id = ANY (keys) AND k.vouched_at IS NOT NULL AND k.listed_at IS NULL
        ORDER BY k.id FOR UPDATE);
END $$;
REVOKE ALL ON FUNCTION public.passkeys_list(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_revoke(key uuid, revoker uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_passkey k SET revoked_at = clock_timestamp()
    WHERE k.id = key AND k.revoked_at IS NULL AND (k.person_id = revoker
        OR EXISTS (SELECT FROM approvals_deciders() d WHERE d.id = revoker));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Its person, or someone that decides requests, ends a passkey.'
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.passkeys_revoke(uuid, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.passkeys_vouch(newer uuid, key uuid, signer uuid, authenticator_data bytea, client_data bytea, signature bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    k accounts_passkey;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_passkey p WHERE p.id IN (newer, key) ORDER BY p.id FOR UPDATE;
    SELECT * INTO k FROM accounts_passkey WHERE id = newer;
    IF NOT FOUND OR k.vouched_at IS NOT NULL OR k.revoked_at IS NOT NULL THEN
        RAISE EXCEPTION 'This passkey waits for no signature.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF signer <> k.person_id AND (NOT EXISTS (SELECT FROM approvals_deciders() d
            WHERE d.id = signer) OR EXISTS (SELECT FROM accounts_passkeyvoucher v
            JOIN accounts_assertion a ON a.id = v.assertion_id
            JOIN accounts_passkey p ON p.id = a.passkey_id
            WHERE v.passkey_id = newer AND p.person_id = signer)) THEN
        RAISE EXCEPTION 'A passkey of someone else is signed by two that decide requests.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_passkeyvoucher (passkey_id, assertion_id)
    VALUES (newer, passkeys_assert(key, signer, ARRAY[passkeys_digest(newer)],
        authenticator_data, client_data, signature));
    UPDATE accounts_passkey SET vouched_at = clock_timestamp() WHERE id = newer
        AND (signer = k.person_id OR 2 <= (
            SELECT count(DISTINCT p.person_id) FROM accounts_passkeyvoucher v
            JOIN accounts_assertion a ON a.id = v.assertion_id
            JOIN accounts_passkey p ON p.id = a.passkey_id
            WHERE v.passkey_id = newer));
END $$;
REVOKE ALL ON FUNCTION public.passkeys_vouch(uuid, uuid, uuid, bytea, bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_attest BEFORE INSERT ON public.accounts_investorattestation FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_attest();

CREATE OR REPLACE TRIGGER accounts_follow_investor BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_follow_investor();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_assertion FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OF id, person_id, credential, public_key, domain, created_at OR TRUNCATE ON public.accounts_passkey FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_passkeyvoucher FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER approvals_decide BEFORE INSERT ON public.accounts_approvaldecision FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_decide();

CREATE OR REPLACE TRIGGER approvals_file BEFORE INSERT ON public.accounts_approvalrequest FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_file();

DROP TRIGGER IF EXISTS approvals_of_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.assigns_id IS NOT NULL OR new.reverses_id IS NOT NULL) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_cash();

DROP TRIGGER IF EXISTS approvals_of_statement ON public.accounts_bankstatement;
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT ON public.accounts_bankstatement DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_statement();

CREATE OR REPLACE TRIGGER approvals_rested AFTER INSERT ON public.accounts_approvaldecision FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_rested();

DROP TRIGGER IF EXISTS approvals_rested_at_the_commit ON public.accounts_approvaldecision;
CREATE CONSTRAINT TRIGGER approvals_rested_at_the_commit AFTER INSERT ON public.accounts_approvaldecision DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_rested();

DROP TRIGGER IF EXISTS cash_book_line ON public.accounts_bankline;
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_book_line();

CREATE OR REPLACE TRIGGER cash_follow_transactions AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_follow_transactions();

CREATE OR REPLACE TRIGGER cash_move_withdrawal BEFORE UPDATE ON public.accounts_withdrawal FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_move_withdrawal();

CREATE OR REPLACE TRIGGER cash_receive_lines AFTER INSERT ON public.accounts_bankline REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_receive_lines();

CREATE OR REPLACE TRIGGER cash_receive_statement BEFORE INSERT ON public.accounts_bankstatement FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_receive_statement();

CREATE OR REPLACE TRIGGER cash_request_withdrawal BEFORE INSERT ON public.accounts_withdrawal FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_request_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE OR REPLACE TRIGGER cash_reserve_requested AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_reserve_withdrawals();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '45 ms';
LOCK TABLE public.accounts_approvaldecision, public.accounts_approvalrequest, public.accounts_assertion, public.accounts_bankline, public.accounts_bankstatement, public.accounts_cashtransaction, public.accounts_investorattestation, public.accounts_investorchange, public.accounts_passkey, public.accounts_passkeyvoucher, public.accounts_withdrawal IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_count_accounts guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'accounts', partner_id, count(*) FROM changed GROUP BY partner_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'accounts', partner_id, -count(*) FROM changed GROUP BY partner_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_fold_totals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
DECLARE
    noted record;
BEGIN
    IF TG_RELID <> 'accounts_totalchange'::regclass THEN
        RAISE EXCEPTION 'accounts_fold_totals guards accounts_totalchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_totalchange WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    FOR noted IN SELECT list, key, change FROM accounts_totalchange
        WHERE transaction = pg_current_xact_id()::text::bigint ORDER BY list, key
    LOOP
        IF noted.change > 0 THEN
            INSERT INTO accounts_total AS t (list, key, number)
            VALUES (noted.list, noted.key, noted.change)
            ON CONFLICT (list, key) DO UPDATE SET number = t.number + noted.change;
        ELSE
            UPDATE accounts_total SET number = number + noted.change
            WHERE list = noted.list AND key = noted.key AND noted.change < 0;
        END IF;
    END LOOP;
    DELETE FROM accounts_totalchange WHERE transaction = pg_current_xact_id()::text::bigint;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_fold_totals() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_digest(cash_account bigint, number bigint, transaction bigint, kind text, delta bigint, balance_after bigint, at timestamp with time zone, reference text, reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT ('x' || left(encode(sha256(convert_to(concat_ws('|', cash_account, number,
        transaction, kind, delta, balance_after, extract(epoch FROM at),
        coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
        coalesce(withdrawal::text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;
GRANT EXECUTE ON FUNCTION public.cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamp with time zone, text, bigint, bigint, uuid, text, text) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_follow_transactions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    paid bigint;
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'cash_follow_transactions guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead WHERE cash_account_id IN (
            SELECT source_id FROM entered UNION SELECT target_id FROM entered)
        ORDER BY cash_account_id FOR NO KEY UPDATE;
    -- Paid withdrawals free what they have reserved, before it leaves.
    IF EXISTS (SELECT FROM entered WHERE withdrawal_id IS NOT NULL) THEN
        UPDATE accounts_withdrawal w SET status = 'PAID'
            FROM entered e
            WHERE w.id = e.withdrawal_id AND w.status = 'APPROVED'
                AND w.cash_account_id = e.source_id AND w.amount = e.amount;
        GET DIAGNOSTICS paid = ROW_COUNT;
        IF paid <> (SELECT count(withdrawal_id) FROM entered) THEN
            RAISE EXCEPTION 'Only a withdrawal that is APPROVED is paid: its amount, '
                'from its account.' USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    WITH judged AS (
        SELECT e.*, e.at BETWEEN
                greatest(transaction_timestamp(), source.last_at, target.last_at)
                AND greatest(clock_timestamp(), source.last_at, target.last_at)
            AND CASE e.kind
                WHEN 'DEPOSIT' THEN CASE
                    WHEN e.assigns_id IS NULL THEN source.kind = 'BANK'
                        AND line.amount = e.amount AND (target.kind = 'SUSPENSE'
                            OR target.kind = 'CLIENT'
                            AND cash_names(line.text, owned.deposit_reference))
                    ELSE source.kind = 'SUSPENSE' AND target.kind = 'CLIENT'
                        AND assigned.kind = 'DEPOSIT' AND assigned.assigns_id IS NULL
                        AND assigned.target_id = e.source_id
                        AND assigned.amount = e.amount
                        AND 1 = (
                            SELECT count(*) FROM accounts_cashtransaction o
                            WHERE o.assigns_id = e.assigns_id AND NOT EXISTS (
                                SELECT FROM accounts_cashtransaction r
                                WHERE r.reverses_id = o.id))
                    END
                WHEN 'WITHDRAWAL' THEN target.kind = 'BANK' AND line.amount = -e.amount
                    AND CASE WHEN e.withdrawal_id IS NULL THEN source.kind = 'SUSPENSE'
                        ELSE cash_names(line.text, paid_out.payment_reference) END
                WHEN 'TRADE' THEN source.kind = 'CLIENT' AND target.kind = 'CLIENT'
                WHEN 'REVERSAL' THEN (undone.kind = 'TRADE'
                        OR undone.assigns_id IS NOT NULL)
                    AND undone.id < e.id AND undone.amount = e.amount
                    AND undone.source_id = e.target_id
                    AND undone.target_id = e.source_id
                -- There is no tariff.
                ELSE FALSE END
            AND (target.kind <> 'CLIENT' OR client.status IN ('ACTIVE', 'SUSPENDED'))
            AS follows
        FROM entered e
        LEFT JOIN accounts_cashhead source ON source.cash_account_id = e.source_id
        LEFT JOIN accounts_cashhead target ON target.cash_account_id = e.target_id
        LEFT JOIN accounts_bankline line ON line.reference = e.reference
        LEFT JOIN accounts_cashtransaction assigned ON assigned.id = e.assigns_id
        LEFT JOIN accounts_cashtransaction undone ON undone.id = e.reverses_id
        LEFT JOIN accounts_withdrawal paid_out ON paid_out.id = e.withdrawal_id
        LEFT JOIN accounts_cashaccount owned ON owned.id = e.target_id
        LEFT JOIN accounts_account client ON client.id = owned.account_id
    ), legs AS MATERIALIZED (
        SELECT j.*, l.cash_account_id, l.delta,
            h.last_number + row_number() OVER by_account AS number,
            (h.balance + sum(l.delta) OVER by_account)::bigint AS balance_after,
            j.follows AND CASE h.kind
                WHEN 'CLIENT' THEN h.balance + sum(l.delta) OVER by_account >= 0
                WHEN 'BANK' THEN h.balance + sum(l.delta) OVER by_account <= 0
                ELSE TRUE END AS allowed
        FROM judged j
        CROSS JOIN LATERAL (VALUES (j.source_id, -j.amount), (j.target_id, j.amount))
            AS l (cash_account_id, delta)
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = l.cash_account_id
        WINDOW by_account AS (PARTITION BY l.cash_account_id ORDER BY j.id)
    ), posted AS (
        INSERT INTO accounts_cashposting
            (cash_account_id, number, transaction_id, delta, balance_after)
        SELECT cash_account_id, number, id, delta, balance_after FROM legs
    ), moved AS (
        UPDATE accounts_cashhead h
            SET balance = l.balance, last_number = l.last_number, last_at = l.last_at,
                fingerprint = h.fingerprint + l.digests
        FROM (
            SELECT cash_account_id, max(number) AS last_number, max(at) AS last_at,
                (array_agg(balance_after ORDER BY number DESC))[1] AS balance,
                sum(cash_digest(cash_account_id, number, id, kind, delta, balance_after,
                    at, reference, reverses_id, assigns_id, withdrawal_id, actor,
                    reason)) AS digests
            FROM legs WHERE allowed GROUP BY cash_account_id
        ) l
        WHERE h.cash_account_id = l.cash_account_id
    )
    SELECT format('%s of %s cents from cash account %s to %s', kind, amount, source_id,
        target_id) INTO wrong
    FROM legs WHERE allowed IS NOT TRUE ORDER BY id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Cash moves between accounts of its kind, with the bank line, '
            'the withdrawal or the transaction that it names and their amount, to whom '
            'the bank line''s text names, at a time that its writer took under the '
            'lock, to an account that is ACTIVE or SUSPENDED, and none has less than '
            'nothing: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_follow_transactions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_names(said text, reference text)
RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT position(reference IN regexp_replace(upper(said), '[^A-Z0-9]', '', 'g')) > 0
$$;
REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_attest BEFORE INSERT ON public.accounts_investorattestation FOR EACH ROW EXECUTE FUNCTION public.accounts_attest();

CREATE OR REPLACE TRIGGER accounts_follow_investor BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW EXECUTE FUNCTION public.accounts_follow_investor();

CREATE OR REPLACE TRIGGER approvals_decide BEFORE INSERT ON public.accounts_approvaldecision FOR EACH ROW EXECUTE FUNCTION public.approvals_decide();

CREATE OR REPLACE TRIGGER approvals_file BEFORE INSERT ON public.accounts_approvalrequest FOR EACH ROW EXECUTE FUNCTION public.approvals_file();

DROP TRIGGER IF EXISTS approvals_of_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.assigns_id IS NOT NULL OR new.reverses_id IS NOT NULL) EXECUTE FUNCTION public.approvals_of_cash();

DROP TRIGGER IF EXISTS approvals_of_statement ON public.accounts_bankstatement;
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT ON public.accounts_bankstatement DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_statement();

CREATE OR REPLACE TRIGGER approvals_rested AFTER INSERT ON public.accounts_approvaldecision FOR EACH ROW EXECUTE FUNCTION public.approvals_rested();

DROP TRIGGER IF EXISTS cash_book_line ON public.accounts_bankline;
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.cash_book_line();

CREATE OR REPLACE TRIGGER cash_follow_transactions AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.cash_follow_transactions();

CREATE OR REPLACE TRIGGER cash_move_withdrawal BEFORE UPDATE ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.cash_move_withdrawal();

CREATE OR REPLACE TRIGGER cash_receive_lines AFTER INSERT ON public.accounts_bankline REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.cash_receive_lines();

CREATE OR REPLACE TRIGGER cash_receive_statement BEFORE INSERT ON public.accounts_bankstatement FOR EACH ROW EXECUTE FUNCTION public.cash_receive_statement();

CREATE OR REPLACE TRIGGER cash_request_withdrawal BEFORE INSERT ON public.accounts_withdrawal FOR EACH ROW EXECUTE FUNCTION public.cash_request_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE OR REPLACE TRIGGER cash_reserve_requested AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT EXECUTE FUNCTION public.cash_reserve_withdrawals();

DROP TRIGGER accounts_refuse_change ON public.accounts_assertion;

DROP TRIGGER accounts_refuse_change ON public.accounts_passkey;

DROP TRIGGER accounts_refuse_change ON public.accounts_passkeyvoucher;

DROP TRIGGER approvals_rested_at_the_commit ON public.accounts_approvaldecision;

DROP FUNCTION public.accounts_count(text[], uuid[], bigint[], boolean);

DROP FUNCTION public.accounts_staff_with(text, text);

DROP FUNCTION public.accounts_written_directly();

DROP FUNCTION public.approvals_decide_each(uuid[], uuid, boolean, text, uuid);

DROP FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text);

DROP FUNCTION public.approvals_decide_signed(uuid[], uuid, boolean, text, uuid, bytea, bytea, bytea);

DROP FUNCTION public.approvals_digest(uuid, uuid, boolean, text);

DROP FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone);

DROP FUNCTION public.approvals_use_by(text, text, jsonb);

DROP FUNCTION public.binds_attest(uuid, uuid, text, uuid, text, timestamp with time zone, text, text, text);

DROP FUNCTION public.binds_decide(uuid, text, uuid, uuid, text, timestamp with time zone, text, text, text);

DROP FUNCTION public.binds_enter(uuid, text, boolean, uuid, uuid, uuid, text, timestamp with time zone, text, text, text);

DROP FUNCTION public.cash_book_statement(text, text, text, bigint, text[], text[], bigint[], date[], bigint[], uuid[]);

DROP FUNCTION public.cash_decide_withdrawal(text, uuid, text, text);

DROP FUNCTION public.cash_judge_staff(text, uuid, text[]);

DROP FUNCTION public.cash_move_receipt(text, bigint, bigint, bigint, text);

DROP FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]);

DROP FUNCTION public.cash_read_account(uuid, text);

DROP FUNCTION public.cash_withdraw(text, uuid, uuid, bigint, text);

DROP FUNCTION public.passkeys_assert(uuid, uuid, bytea[], bytea, bytea, bytea);

DROP FUNCTION public.passkeys_digest(uuid);

DROP FUNCTION public.passkeys_enrol(uuid, uuid, text, bytea, bytea, text);

DROP FUNCTION public.passkeys_list(uuid[]);

DROP FUNCTION public.passkeys_revoke(uuid, uuid);

DROP FUNCTION public.passkeys_vouch(uuid, uuid, uuid, bytea, bytea, bytea);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0051_unread_indexes"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
