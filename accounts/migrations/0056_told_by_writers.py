"""Writers tell partners and judge what triggers told and judged."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_count_accounts guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
        array_agg(number))
    FROM (SELECT partner_id, count(*) AS number FROM changed GROUP BY partner_id) c
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_keys()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'accounts_keep_keys guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
        'end, no other partner and, but for another pepper, no other secret, and is '
        'not revived. Issue another.',
        OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_superusers()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NEW.is_superuser AND OLD.is_superuser IS NOT TRUE AND NOT pg_has_role(
            (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_use_each(wanted text, said jsonb, issuers uuid[], amounts numeric[], entry_token uuid, entry_number bigint)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    SELECT r.id INTO used
    FROM accounts_approvalrequest r
    JOIN accounts_approvaldecision d ON d.request_id = r.id AND d.is_approved
    WHERE r.id = ANY (string_to_array(
            nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[])
        AND r.kind = wanted AND r.content - 'with' = said
        AND r.expires_at > clock_timestamp()
        AND NOT EXISTS (
            SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id)
        AND d.decided_by_id <> r.filed_by_id
        AND approvals_may(d.decided_by_id, 'decide_' || r.kind)
    ORDER BY r.id LIMIT 1;
    IF NOT FOUND THEN
        IF approvals_alone(wanted, issuers, amounts) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted, left(said::text, 400) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    PERFORM approvals_check_rest(d.request_id, d.decided_by_id, TRUE, d.decided_at)
        FROM accounts_approvaldecision d WHERE d.request_id = used;
    RETURN used;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_each(text, jsonb, uuid[], numeric[], uuid, bigint) FROM PUBLIC;

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
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('INVESTOR_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a
    WHERE a.user_id = investor AND a.status NOT IN ('CLOSED', 'REJECTED')
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.binds_enter(uuid, text, boolean, uuid, uuid, uuid, text, timestamp with time zone, text, text, text) FROM PUBLIC;

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
    PERFORM cash_tell(ARRAY[decided.cash_account_id]);
    RETURN decided;
END $$;
REVOKE ALL ON FUNCTION public.cash_decide_withdrawal(text, uuid, text, text) FROM PUBLIC;

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
    IF 'TRADE' <> ANY (kinds) THEN
        PERFORM cash_tell(array_agg(c.id))
        FROM unnest(kinds, sources, targets) AS p (kind, source, target)
        CROSS JOIN LATERAL (VALUES (p.source), (p.target)) AS c (id)
        WHERE p.kind <> 'TRADE';
    END IF;
    RETURN ids;
END $$;
REVOKE ALL ON FUNCTION public.cash_post(timestamp with time zone, text[], bigint[], bigint[], bigint[], text[], text[], text[], bigint[], bigint[], uuid[], bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_tell(cash_accounts bigint[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM accounts_account a
    WHERE a.id IN (SELECT c.account_id FROM accounts_cashaccount c
        WHERE c.id = ANY (cash_accounts))
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.cash_tell(bigint[]) FROM PUBLIC;

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
    PERFORM cash_tell(ARRAY[cash]);
    RETURN requested;
END $$;
REVOKE ALL ON FUNCTION public.cash_withdraw(text, uuid, uuid, bigint, text) FROM PUBLIC;
"""

BACKWARD = r"""
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

CREATE OR REPLACE FUNCTION public.accounts_keep_keys()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'accounts_keep_keys guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
        'end, no other partner and, but for another pepper, no other secret, is not '
        'revived, and is not deleted. Issue another.',
        OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_keep_superusers()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
    THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_use_each(wanted text, said jsonb, issuers uuid[], amounts numeric[], entry_token uuid, entry_number bigint)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    SELECT r.id INTO used
    FROM accounts_approvalrequest r
    JOIN accounts_approvaldecision d ON d.request_id = r.id AND d.is_approved
    WHERE r.id = ANY (string_to_array(
            nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[])
        AND r.kind = wanted AND r.content - 'with' = said
        AND r.expires_at > clock_timestamp()
        AND NOT EXISTS (
            SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id)
        AND d.decided_by_id <> r.filed_by_id
        AND approvals_may(d.decided_by_id, 'decide_' || r.kind)
    ORDER BY r.id LIMIT 1;
    IF NOT FOUND THEN
        IF approvals_alone(wanted, issuers, amounts) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted, left(said::text, 400) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    RETURN used;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_each(text, jsonb, uuid[], numeric[], uuid, bigint) FROM PUBLIC;

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

DROP FUNCTION public.cash_tell(bigint[]);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0055_desks_by_function"),
        ("issuers", "0068_writers_alone"),
        ("marketdata", "0022_writers_alone"),
        ("trading", "0016_writers_alone"),
        ("partnerapi", "0025_writers_alone"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
