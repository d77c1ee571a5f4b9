"""Contract: functions alone write what the release before wrote itself."""

from django.db import migrations

FORWARD = r"""
DROP FUNCTION public.accounts_attest();

DROP FUNCTION public.accounts_follow_investor();

DROP FUNCTION public.accounts_reserve_cash(bigint[], bigint[]);

DROP FUNCTION public.approvals_decide();

DROP FUNCTION public.approvals_file();

DROP FUNCTION public.approvals_of_cash();

DROP FUNCTION public.approvals_of_delivered_line();

DROP FUNCTION public.approvals_of_entry();

DROP FUNCTION public.approvals_of_grant();

DROP FUNCTION public.approvals_of_lifting();

DROP FUNCTION public.approvals_of_price();

DROP FUNCTION public.approvals_of_rule();

DROP FUNCTION public.approvals_of_statement();

DROP FUNCTION public.approvals_of_trade_price();

DROP FUNCTION public.approvals_of_transfer();

DROP FUNCTION public.cash_book_line();

DROP FUNCTION public.cash_follow_transactions();

DROP FUNCTION public.cash_move_withdrawal();

DROP FUNCTION public.cash_receive_lines();

DROP FUNCTION public.cash_receive_statement();

DROP FUNCTION public.cash_request_withdrawal();

DROP FUNCTION public.cash_reserve_withdrawals();

DROP FUNCTION public.compliance_know_countries();

DROP FUNCTION public.issuers_reserve_units(uuid, bigint[], bigint[]);

DROP FUNCTION public.marketdata_follow_changes();

DROP FUNCTION public.marketdata_follow_trades();

DROP FUNCTION public.register_follow_holdings();

DROP FUNCTION public.register_follow_prices();

DROP FUNCTION public.register_follow_transactions();

DROP FUNCTION public.register_hold(uuid[]);

DROP FUNCTION public.register_hold_investor();

DROP FUNCTION public.register_judge_postings();

DROP FUNCTION public.register_keep_approvedholder();

DROP FUNCTION public.register_keep_restriction();

DROP FUNCTION public.register_keep_tokenrule();

DROP FUNCTION public.register_open(uuid[]);

DROP FUNCTION public.trading_book_is_orders();

DROP FUNCTION public.trading_count_orders();

DROP FUNCTION public.trading_follow_changed();

DROP FUNCTION public.trading_follow_events();

DROP FUNCTION public.trading_follow_executions();

DROP FUNCTION public.trading_follow_placed();

DROP FUNCTION public.trading_settles_cash();

DROP FUNCTION public.trading_settles_units();

DROP FUNCTION public.trading_tape_is_executions();

DROP FUNCTION public.trading_tell_orders();

DROP FUNCTION public.trading_told_execution();

DROP FUNCTION public.trading_told_order();
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.accounts_attest()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorattestation'::regclass THEN
        RAISE EXCEPTION 'accounts_attest guards accounts_investorattestation, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_account a WHERE a.id = NEW.account_id
            AND a.user_id = NEW.user_id AND a.partner_id = NEW.partner_id) THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_attest() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_follow_investor()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    before accounts_investorprofile;
    attested accounts_investorattestation;
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'accounts_follow_investor guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    SELECT * INTO before FROM accounts_investorprofile p WHERE p.user_id = NEW.user_id;
    IF NEW.number <> coalesce(before.changes, 0) + 1 THEN
        RAISE EXCEPTION 'The next change of a profile has the next number: % of %.',
            NEW.number, NEW.user_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.attestation_id IS NOT NULL THEN
        SELECT * INTO STRICT attested FROM accounts_investorattestation
            WHERE id = NEW.attestation_id;
        IF attested.user_id <> NEW.user_id
            OR attested.partner_id IS DISTINCT FROM NEW.partner_id THEN
            RAISE EXCEPTION 'Attestation % is of another user, or partner.',
                attested.id USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    NEW.created_at := greatest(clock_timestamp(), before.updated_at);
    IF NOT coalesce(CASE WHEN NEW.is_staff THEN EXISTS (SELECT FROM accounts_user u
                WHERE u.email = NEW.actor AND u.is_staff AND u.is_active)
            ELSE NEW.actor = (
                SELECT login FROM accounts_partner WHERE id = NEW.partner_id) AND
            (SELECT may_attest FROM accounts_partner WHERE id = NEW.partner_id)
            AND ROW (attested.verification, attested.verified_until,
                attested.tax_country_id, attested.investor_class)
                IS NOT DISTINCT FROM ROW (NEW.verification, NEW.verified_until,
                    NEW.tax_country_id, NEW.investor_class)
            AND (before.partner_id IS NOT DISTINCT FROM NEW.partner_id
                OR accounts_raises(before.verification, before.verified_until,
                    before.tax_country_id, before.investor_class, NEW.verification,
                    NEW.verified_until, NEW.tax_country_id, NEW.investor_class))
            END, FALSE) THEN
        RAISE EXCEPTION 'Staff change a profile, or a partner that may attest raises or '
            'renews it: attestation %.', NEW.attestation_id USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_investorprofile (user_id, verification, verified_until,
        tax_country_id, investor_class, evidence, partner_id, changes, updated_at)
    VALUES (NEW.user_id, NEW.verification, NEW.verified_until, NEW.tax_country_id,
        NEW.investor_class, NEW.evidence, NEW.partner_id, NEW.number, NEW.created_at)
    ON CONFLICT (user_id) DO UPDATE SET verification = excluded.verification,
        verified_until = excluded.verified_until,
        tax_country_id = excluded.tax_country_id,
        investor_class = excluded.investor_class, evidence = excluded.evidence,
        partner_id = excluded.partner_id, changes = excluded.changes,
        updated_at = excluded.updated_at;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_investor() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.accounts_reserve_cash(cash_accounts bigint[], deltas bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (cash_accounts)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved + d.delta
    FROM (
        SELECT cash_account, sum(delta)::bigint AS delta
        FROM unnest(cash_accounts, deltas) AS u (cash_account, delta)
        GROUP BY cash_account HAVING sum(delta) <> 0
    ) d
    WHERE h.cash_account_id = d.cash_account;
    IF EXISTS (SELECT FROM unnest(cash_accounts) AS u (cash_account) WHERE NOT EXISTS (
            SELECT FROM accounts_cashhead h WHERE h.cash_account_id = u.cash_account))
    THEN
        RAISE EXCEPTION 'Cash is reserved of cash accounts that exist.' USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.accounts_reserve_cash(bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_decide()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    r accounts_approvalrequest;
BEGIN
    IF TG_RELID <> 'accounts_approvaldecision'::regclass THEN
        RAISE EXCEPTION 'approvals_decide guards accounts_approvaldecision, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT * INTO STRICT r FROM accounts_approvalrequest
        WHERE id = NEW.request_id FOR UPDATE;
    IF NEW.decided_by_id = r.filed_by_id AND NOT NEW.is_approved THEN
        PERFORM FROM accounts_user u
            WHERE u.id = NEW.decided_by_id AND u.is_active AND u.is_staff;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF NEW.decided_by_id = r.filed_by_id
        OR NOT approvals_may(NEW.decided_by_id, 'decide_' || r.kind) THEN
        RAISE EXCEPTION 'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.decided_at := clock_timestamp();
    IF r.expires_at <= NEW.decided_at OR EXISTS (
        SELECT FROM accounts_approvaloutcome WHERE request_id = r.id) THEN
        RAISE EXCEPTION 'Request % has expired or was superseded.', r.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_file()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_approvalrequest'::regclass THEN
        RAISE EXCEPTION 'approvals_file guards accounts_approvalrequest, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.filed_at := clock_timestamp();
    IF NEW.expires_at <= NEW.filed_at
        OR NEW.expires_at > NEW.filed_at + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(NEW.filed_by_id, 'file_' || NEW.kind) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(NEW.kind) USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_cash()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM accounts_cashtransaction
            WHERE id = NEW.reverses_id AND kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('ASSIGNMENT', jsonb_build_object('assigns', NEW.assigns_id,
        'reverses', NEW.reverses_id, 'to', NEW.target_id, 'cents', NEW.amount::text,
        'reason', NEW.reason), NEW.amount, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_cash() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_delivered_line()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_delivered_line guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    PERFORM FROM issuers_deliverystep s
    JOIN issuers_deliveryjob j ON j.id = s.job_id AND j.released_at IS NOT NULL
    JOIN issuers_ledgeraccount a ON a.id = NEW.target_id
    CROSS JOIN LATERAL (
        SELECT array_position(s.shareholder_ids, NEW.legacy_shareholder_id) AS place) l
    WHERE s.id = nullif(current_setting('partnerapi.delivery_step', TRUE), '')::bigint
        AND s.units[l.place] = NEW.amount AND s.token_ids[l.place] = NEW.token_id
        AND s.user_ids[l.place] = a.user_id
        AND (j.source = 'MINT') = (NEW.source_id IS NULL);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Legacy shares are delivered as a released delivery has frozen '
            'them: line %.', NEW.legacy_shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_delivered_line() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_entry()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_entry guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    IF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use(NEW.kind, jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', CASE WHEN NEW.source_id IS NULL OR NEW.target_id IS NULL
            THEN NEW.supply_after::text END),
        NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_entry() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_grant()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'approvals_of_grant guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND (OLD.partner_id, OLD.issuer_id)
        IS NOT DISTINCT FROM (NEW.partner_id, NEW.issuer_id) THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('GRANT', jsonb_strip_nulls(jsonb_build_object(
        'partner', NEW.partner_id, 'issuer', NEW.issuer_id)), NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_grant() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_lifting()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_restriction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_lifting guards issuers_restriction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_use('LIFTING', jsonb_build_object('restriction', NEW.id), NULL,
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_lifting() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_price()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    before bigint;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'approvals_of_price guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    IF EXISTS (
        SELECT FROM trading_bust b
        JOIN trading_execution x ON x.token_id = b.token_id AND x.sequence = b.sequence
        JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
            AND l.seq = x.ledger_seq
        JOIN issuers_ledgertransaction r ON r.token_id = b.token_id
            AND r.seq = b.ledger_seq AND r.effective_at = NEW.effective_at
        JOIN issuers_tokenprice p ON p.token_id = x.token_id
            AND p.number = NEW.number - 1 AND p.source = 'TRADE'
            AND p.effective_at = l.effective_at AND p.price_cents = x.price
        JOIN issuers_tokenprice o ON o.token_id = x.token_id
            AND o.number = NEW.number - 2 AND o.price_cents = NEW.price_cents
        WHERE b.token_id = NEW.token_id AND NEW.source = 'MANUAL') THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(max(p.number), 0) INTO before FROM issuers_tokenprice p
        WHERE p.token_id = NEW.token_id AND p.number < NEW.number AND p.source <> 'TRADE';
    PERFORM approvals_use('PRICE', jsonb_build_object('token', NEW.token_id,
        'cents', NEW.price_cents::text, 'source', NEW.source, 'after', before),
        NEW.price_cents, NEW.token_id, NEW.number);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_price() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_rule()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'approvals_of_rule guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.replaces_id = NEW.id) THEN
            PERFORM approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
                'kind', NEW.kind, 'parameters', NULL, 'replaces', NEW.id), NULL, NULL,
                NULL);
        END IF;
        RETURN NULL;
    END IF;
    used := approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
        'kind', NEW.kind, 'parameters', NEW.parameters, 'replaces', NEW.replaces_id,
        'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'A rule names who approved it.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_rule() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_statement()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    lines jsonb;
    credited numeric;
    last_entry bigint;
    lies bigint;
    used uuid;
    asker text;
BEGIN
    IF TG_RELID <> 'accounts_bankstatement'::regclass THEN
        RAISE EXCEPTION 'approvals_of_statement guards accounts_bankstatement, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT coalesce(jsonb_agg(jsonb_build_array(l.reference, l.text, l.amount::text,
            l.date, CASE WHEN l.amount > 0 THEN t.target_id ELSE t.source_id END)
            ORDER BY t.id), '[]'),
        coalesce(sum(l.amount) FILTER (WHERE l.amount > 0 AND c.kind = 'CLIENT'), 0),
        max(t.id)
        INTO lines, credited, last_entry
    FROM accounts_bankline l
    JOIN accounts_cashtransaction t ON t.reference = l.reference
    JOIN accounts_cashaccount c ON c.id = t.target_id
    WHERE l.statement_id = NEW.id;
    SELECT -coalesce(p.balance_after, h.balance) INTO lies
    FROM accounts_cashhead h LEFT JOIN accounts_cashposting p
        ON p.cash_account_id = h.cash_account_id AND p.transaction_id = last_entry
    WHERE h.kind = 'BANK';
    IF lies IS DISTINCT FROM NEW.closing_balance THEN
        RAISE EXCEPTION 'The bank''s closing balance is % cents, but by the books % '
            'cents lie there after the statement''s last line.', NEW.closing_balance,
            lies USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM accounts_bankline l WHERE l.statement_id = NEW.id
            AND NOT EXISTS (SELECT FROM accounts_cashtransaction t
                WHERE t.reference = l.reference)) THEN
        RAISE EXCEPTION 'The lines of a bank statement are booked before it is judged.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_bankstatement SET made_in = 0 WHERE id = NEW.id;
    IF credited > 0 THEN
        used := approvals_use('STATEMENT', jsonb_build_object('name', NEW.name,
            'digest', NEW.digest, 'closing', NEW.closing_balance::text,
            'lines', lines), credited, NULL, NULL);
    END IF;
    SELECT u.email INTO asker FROM accounts_approvalrequest r
        JOIN accounts_user u ON u.id = r.filed_by_id WHERE r.id = used;
    IF asker IS NULL AND approvals_person() NOT IN ('SQL', 'command') THEN
        asker := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb ->> 'who';
    END IF;
    IF NEW.booked_by <> asker THEN
        RAISE EXCEPTION 'A bank statement is booked by the user that filed its request, or '
            'is signed in: %, not %.', asker, NEW.booked_by USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_statement() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_trade_price()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    price bigint;
    traded_at timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'approvals_of_trade_price guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;
    SELECT t.price_cents, t.at INTO price, traded_at FROM marketdata_trade t
        WHERE t.token_id = NEW.token_id ORDER BY t.sequence DESC LIMIT 1;
    IF price IS DISTINCT FROM NEW.price_cents
        OR traded_at < transaction_timestamp() THEN
        RAISE EXCEPTION 'A price of % cents of token % is of no trade of this '
            'transaction; one that staff record has another source, and needs an '
            'approval.', NEW.price_cents, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_trade_price() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_transfer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_transfer guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF approvals_person() = 'SQL' THEN
        RETURN NULL;
    END IF;
    
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    PERFORM approvals_use('TRANSFER', jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', NULL), NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_transfer() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_book_line()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_bankline'::regclass THEN
        RAISE EXCEPTION 'cash_book_line guards accounts_bankline, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE reference = NEW.reference) THEN
        RAISE EXCEPTION 'A bank line is booked as it is recorded: %.', NEW.reference
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_book_line() FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.cash_move_withdrawal()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_move_withdrawal guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.cash_account_id, NEW.amount, NEW.reference, NEW.payment_reference,
            NEW.requested_by, NEW.created_at)
        <> (OLD.id, OLD.cash_account_id, OLD.amount, OLD.reference,
            OLD.payment_reference, OLD.requested_by, OLD.created_at)
        OR NOT coalesce(CASE OLD.status
            WHEN 'REQUESTED' THEN NEW.status IN ('APPROVED', 'REFUSED')
            WHEN 'APPROVED' THEN NEW.status IN ('PAID', 'CANCELLED') END, FALSE) THEN
        RAISE EXCEPTION 'Of a withdrawal only the status changes: REQUESTED becomes '
            'APPROVED or REFUSED, APPROVED becomes PAID or CANCELLED; not % %.',
            OLD.status, NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status IN ('REFUSED', 'CANCELLED') AND NEW.status_reason = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status = 'PAID' AND NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE withdrawal_id = NEW.id) THEN
        RAISE EXCEPTION 'A withdrawal is paid by the bank line that names it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status = 'APPROVED' THEN
        PERFORM FROM accounts_cashaccount c JOIN accounts_account a
            ON a.id = c.account_id AND a.status = 'ACTIVE'
            WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF NEW.status IN ('APPROVED', 'CANCELLED') THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', NEW.id,
            'status', NEW.status, 'cents', NEW.amount::text,
            'reason', NEW.status_reason), NEW.amount, NULL, NULL);
        NEW.request_id := used;
    ELSIF NEW.request_id IS DISTINCT FROM OLD.request_id THEN
        RAISE EXCEPTION 'A withdrawal names the request that was used.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.updated_at := greatest(OLD.updated_at, clock_timestamp());
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_move_withdrawal() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_receive_lines()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'accounts_bankline'::regclass THEN
        RAISE EXCEPTION 'cash_receive_lines guards accounts_bankline, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT l.reference INTO wrong
    FROM entered l JOIN accounts_bankstatement s ON s.id = l.statement_id
    WHERE s.made_in IS DISTINCT FROM register_transaction(2) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A bank statement gets its lines when it is booked, and no '
            'further ones: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_receive_lines() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_receive_statement()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_bankstatement'::regclass THEN
        RAISE EXCEPTION 'cash_receive_statement guards accounts_bankstatement, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_cashhead h WHERE h.kind = 'BANK' FOR NO KEY UPDATE;
    NEW.booked_at := clock_timestamp();
    NEW.made_in := register_transaction(2);
    IF NEW.closing_balance IS DISTINCT FROM NEW.booked_balance THEN
        RAISE EXCEPTION 'The closing balance of a bank statement, % cents, must equal '
            'the balance of the bank in the books, % cents.', NEW.closing_balance,
            NEW.booked_balance USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_receive_statement() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_request_withdrawal()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    standing text;
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_request_withdrawal guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT a.status INTO standing
    FROM accounts_cashaccount c JOIN accounts_account a ON a.id = c.account_id
    WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
    IF standing IS DISTINCT FROM 'ACTIVE' THEN
        RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status <> 'REQUESTED' OR NEW.request_id IS NOT NULL
        OR NEW.status_reason <> '' THEN
        RAISE EXCEPTION 'A withdrawal begins as REQUESTED.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.payment_reference := cash_reference('2',
        ('x' || right(NEW.id::text, 12))::bit(48)::bigint);
    NEW.created_at := clock_timestamp();
    NEW.updated_at := NEW.created_at;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_request_withdrawal() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_reserve_withdrawals()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_reserve_withdrawals guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_reserve_cash(array_agg(cash_account_id), array_agg(amount))
            FROM became HAVING count(*) > 0;
        RETURN NULL;
    END IF;
    PERFORM accounts_reserve_cash(array_agg(w.cash_account_id), array_agg(w.delta))
    FROM (
        SELECT cash_account_id, amount AS delta FROM became WHERE status IN ('REQUESTED', 'APPROVED')
        UNION ALL
        SELECT cash_account_id, -amount FROM was WHERE status IN ('REQUESTED', 'APPROVED')
    ) w HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.cash_reserve_withdrawals() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.compliance_know_countries()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    unknown text;
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'compliance_know_countries guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT string_agg(named.code, ', ') INTO unknown
    FROM jsonb_path_query(NEW.parameters, '$.*[*]') AS said (code)
    CROSS JOIN LATERAL (SELECT said.code #>> '{}' AS code) AS named
    WHERE NOT EXISTS (SELECT FROM accounts_country c WHERE c.code = named.code);
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'A rule names countries by ISO 3166-1: %.', unknown
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.compliance_know_countries() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_reserve_units(of_token uuid, accounts bigint[], deltas bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    changed bigint;
BEGIN
    UPDATE issuers_holderbalance b SET reserved = b.reserved + d.delta
        FROM (SELECT w.account, sum(w.delta) AS delta
              FROM unnest(accounts, deltas) AS w (account, delta)
              GROUP BY w.account) d
        WHERE b.token_id = of_token AND b.account_id = d.account;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> (SELECT count(DISTINCT w.account) FROM unnest(accounts) AS w (account))
    THEN
        RAISE EXCEPTION 'Units are reserved of a holder who has some: token %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.issuers_reserve_units(uuid, bigint[], bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.marketdata_follow_changes()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, change %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            max(sequence) FILTER (WHERE ends_message) AS last_end,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_sequence = e.last AND e.many = 1 + e.last - e.first
        AND e.last_end = e.last AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_bookchange b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next change must have the next number, as its head '
            'says, a time not before the last one''s, and a message must end: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_follow_changes() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.marketdata_follow_trades()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, trade %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_trade = e.last AND e.many = 1 + e.last - e.first
        AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_trade b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ) OR EXISTS (
            SELECT FROM marketdata_booksnapshot b
            WHERE b.token_id = e.token_id AND b.trade_sequence = e.first - 1
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next trade must have the next number, as its head '
            'says, and a time not before the last one''s: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_follow_trades() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_holdings()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgerposting'::regclass THEN
        RAISE EXCEPTION 'register_follow_holdings guards issuers_ledgerposting, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    WITH changed AS (
    SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
        lag(p.seq) OVER changes AS before, lead(p.seq) OVER changes AS next
    FROM entered p JOIN issuers_ledgeraccount a ON a.id = p.account_id
    WHERE a.user_id IS NOT NULL AND (p.balance_after > 0) <> (p.balance_after > p.delta)
    WINDOW changes AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
), ended AS (
        UPDATE issuers_holdingperiod h SET until = c.seq
        FROM (
            SELECT seq, (SELECT ctid FROM issuers_holdingperiod p
                WHERE p.token_id = changed.token_id AND p.user_id = changed.user_id
                    AND p.until IS NULL) AS place
            FROM changed WHERE NOT holds AND before IS NULL OFFSET 0
        ) c
        WHERE h.ctid = c.place RETURNING 1
    )
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
        SELECT token_id, user_id, seq, next FROM changed, (SELECT count(*) FROM ended) AS at_first WHERE holds;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_holdings() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_prices()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'register_follow_prices guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    SELECT format('token %s, price %s', token_id, number) INTO wrong
    FROM (
        SELECT e.token_id, e.number,
            e.number = h.last_price + row_number() OVER by_number
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_price_at, t.created_at)) OVER by_number
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND i.recorded_in = (SELECT register_transaction(0)) OR e.effective_at = h.hold_at
                AND h.hold_transaction = (SELECT register_transaction(0)))
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number)
    ) AS checked
    WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The next price must have the next number, and the time that '
            'its writer took under the lock: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_price = l.number, last_price_at = l.effective_at,
            price_cents = l.price_cents,
            price_digest = register_chain_prices(
                h.token_id, h.last_price, h.price_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, number DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_prices() FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.register_hold(tokens uuid[])
RETURNS TABLE(token_id uuid, symbol text, issuer_id uuid, created_at timestamp with time zone, authorized_units numeric, last_seq bigint, last_price bigint, supply numeric, held numeric, holder_count bigint, price_cents bigint, is_open boolean, last_at timestamp with time zone, clock timestamp with time zone) LANGUAGE plpgsql SECURITY DEFINER
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
BEGIN
    PERFORM register_mark(tokens);
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (tokens);
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    taken := clock_timestamp();
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = (SELECT register_transaction(0)),
            hold_at = CASE WHEN greatest(h.last_effective_at, h.last_price_at) > taken
                THEN NULL ELSE taken END
        WHERE h.token_id = ANY (tokens);
    RETURN QUERY
        SELECT h.token_id, t.symbol::text, t.issuer_id, t.created_at,
            t.authorized_units, h.last_seq, h.last_price, h.supply, h.held,
            h.holder_count, h.price_cents, h.is_open,
            greatest(h.last_effective_at, h.last_price_at), taken
        FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;
REVOKE ALL ON FUNCTION public.register_hold(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_hold_investor()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'register_hold_investor guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = NEW.user_id FOR NO KEY UPDATE;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_hold_investor() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_judge_postings()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'issuers_ledgerposting'::regclass THEN
        RAISE EXCEPTION 'register_judge_postings guards issuers_ledgerposting, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- A writer took its time in this transaction: what has ended since then binds it.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.ended_at IS NULL AND r.token_id IN (SELECT token_id FROM entered))
        AND NOT EXISTS (
            SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.effective_at, x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                p.source_after, p.target_after
            FROM (SELECT token_id, seq,
                    max(balance_after) FILTER (WHERE leg = 1) AS source_after,
                    max(balance_after) FILTER (WHERE leg = 2) AS target_after
                  FROM entered GROUP BY token_id, seq) p
            JOIN issuers_ledgertransaction x
                ON x.token_id = p.token_id AND x.seq = p.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token_id
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id AND r.ended_at IS NULL)
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at >= x.effective_at))
        OFFSET 0
    ) x
    CROSS JOIN LATERAL (
        -- Against most entries nothing stands at all.
        SELECT x.* FROM register_standing(
            x.token_id, ARRAY[x.source_id, x.target_id], x.effective_at) s
        HAVING bool_or(s.is_paused OR s.sending <> '[]' OR s.receiving <> '[]'
            OR s.locked > 0 OR x.holders_after > s.most_holders OR x.target_after
                > least(s.most_units, floor(x.supply_after * s.most_bps / 10000)))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
        AND i.recorded_in IS DISTINCT FROM (SELECT register_transaction(0))
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            e.effective_at, FALSE, e.source_after + e.amount, 0,
            e.target_after - e.amount, e.supply_after, e.holders_before,
            e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, s.at, b.balance, b.reserved
        FROM (
            SELECT s.token_id, s.account_id, max(x.effective_at) AS at
            FROM entered s
            JOIN issuers_ledgertransaction x
                ON x.token_id = s.token_id AND x.seq = s.seq
            WHERE s.leg = 1
            GROUP BY s.token_id, s.account_id
            HAVING bool_and(x.kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN'))
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], b.at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_judge_postings() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_approvedholder()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_approvedholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_approvedholder guards issuers_approvedholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id AND a.kind = 'HOLDER') THEN
        RAISE EXCEPTION 'Account % is no holder''s.', NEW.ledger_account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'An approved holder begins now, and names who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'An approved holder is ended once, by a named person, and does not change: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_approvedholder() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_restriction()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_restriction'::regclass THEN
        RAISE EXCEPTION 'register_keep_restriction guards issuers_restriction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id AND a.kind = 'HOLDER') THEN
        RAISE EXCEPTION 'Account % is no holder''s.', NEW.ledger_account_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'A restriction begins now, and names who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'A restriction is ended once, by a named person, and does not change: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_restriction() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_tokenrule()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'register_keep_tokenrule guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = NEW.token_id FOR UPDATE;
    IF TG_OP = 'INSERT' AND NEW.replaces_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM issuers_tokenrule r WHERE r.id = NEW.replaces_id
            AND r.token_id = NEW.token_id AND r.kind = NEW.kind
            AND r.ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'A rule replaces one of its token and kind, which has ended.'
    USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'A rule begins now, and names who began it.' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'A rule is ended once, by a named person, and does not change: %.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_tokenrule() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_open(tokens uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE issuers_tokenledgerhead SET is_open = TRUE
        WHERE token_id = ANY (tokens) AND NOT is_open;
END $$;
REVOKE ALL ON FUNCTION public.register_open(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_book_is_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'marketdata_bookchange'::regclass THEN
        RAISE EXCEPTION 'trading_book_is_orders guards marketdata_bookchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('token %s, side %s, %s cents', c.token_id, c.side, c.price_cents)
    INTO wrong
    FROM (
        SELECT DISTINCT ON (e.token_id, e.side, e.price_cents) e.token_id, e.side,
            e.price_cents, e.quantity
        FROM entered e JOIN marketdata_orderbookhead h
            ON h.token_id = e.token_id AND h.source = 'OWN'
        ORDER BY e.token_id, e.side, e.price_cents, e.sequence DESC
    ) c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = c.token_id AND o.side = c.side
            AND o.limit_price = c.price_cents AND o.status = 'OPEN'
    ) s
    WHERE c.quantity <> s.units
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; nothing else feeds an internal '
            'market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_book_is_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_count_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_count_orders guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg(list), array_agg(key), array_agg(number))
        FROM (SELECT 'orders'::text AS list, partner_id AS key, count(*) AS number
            FROM changed GROUP BY partner_id
            UNION ALL
            SELECT 'accountOrders', account_id, count(*) FROM changed
            GROUP BY account_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg(list), array_agg(key), array_agg(-number))
        FROM (SELECT 'orders'::text AS list, partner_id AS key, count(*) AS number
            FROM changed GROUP BY partner_id
            UNION ALL
            SELECT 'accountOrders', account_id, count(*) FROM changed
            GROUP BY account_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_count_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_follow_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    done bigint;
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_follow_changed guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('order %s', coalesce(n.id, o.id)) INTO wrong
    FROM was o FULL JOIN became n ON n.id = o.id
    WHERE (ROW (n.token_id, n.account_id, n.user_id, n.ledger_account_id, n.cash_account_id, n.partner_id, n.side, n.time_in_force, n.expires_at, n.client_order_id, n.created_at) IS NOT DISTINCT FROM ROW (o.token_id, o.account_id, o.user_id, o.ledger_account_id, o.cash_account_id, o.partner_id, o.side, o.time_in_force, o.expires_at, o.client_order_id, o.created_at)
        AND o.status = 'OPEN' AND n.last_event > o.last_event
        AND n.updated_at >= o.updated_at AND n.filled >= o.filled
        AND n.filled_value >= o.filled_value
        AND (n.version = o.version + 1 OR n.version = o.version
            AND ROW (n.limit_price, n.quantity, n.priority)
                = ROW (o.limit_price, o.quantity, o.priority))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order changes while it is OPEN, with an event; who, what '
            'and how long stay, and an amendment has a version of its own: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    
    WITH held AS (SELECT token_id, side, ledger_account_id, cash_account_id,
        (quantity - filled) AS units, (quantity - filled) * limit_price AS cents
        FROM became WHERE status = 'OPEN' UNION ALL SELECT token_id, side, ledger_account_id, cash_account_id,
        -(quantity - filled) AS units, -(quantity - filled) * limit_price AS cents
        FROM was WHERE status = 'OPEN'), per_account AS (
        SELECT token_id, side,
            CASE side WHEN 1 THEN ledger_account_id ELSE cash_account_id END AS account,
            sum(CASE side WHEN 1 THEN units ELSE cents END) AS delta
        FROM held GROUP BY 1, 2, 3
        HAVING sum(CASE side WHEN 1 THEN units ELSE cents END) <> 0
    ), units AS (
        SELECT issuers_reserve_units(token_id, array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 1 GROUP BY token_id
    ), cash AS (
        SELECT accounts_reserve_cash(array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 0 HAVING count(*) > 0
    )
    SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM cash) INTO done;
    
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_follow_events()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_follow_events guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR NO KEY UPDATE;
    IF (SELECT bool_and(kind = 'PHASE_CHANGED') FROM entered) THEN
        IF EXISTS (SELECT FROM entered e
            LEFT JOIN trading_market m ON m.token_id = e.token_id
            WHERE (e.number = m.last_event AND e.phase = m.phase
                AND e.at = m.phase_since) IS NOT TRUE) THEN
            RAISE EXCEPTION 'A market''s phase changes by trading_change_phase.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NULL;
    END IF;
    WITH linked AS (
        SELECT e.*, m.token_id IS NOT NULL
                AND e.number = m.last_event + row_number() OVER by_number
                AND e.at = lag(e.at, 1, e.at) OVER by_number AND e.at >= m.last_at
                AND e.at <= greatest(m.last_at, clock_timestamp()) AS follows,
            m.phase = 'CONTINUOUS' AND (m.next_phase_at > e.at) IS NOT FALSE
                AND r.hold_transaction = (SELECT register_transaction(0))
                AND (r.hold_at > e.at) IS NOT TRUE AS is_taken,
            lag(e.kind) OVER by_order AS kind_before,
            lag(e.filled) OVER by_order AS filled_before,
            lag(e.value) OVER by_order AS value_before,
            lag(e.remaining) OVER by_order AS remaining_before,
            lead(e.number) OVER by_order IS NULL AS is_last
        FROM entered e LEFT JOIN trading_market m ON m.token_id = e.token_id
        LEFT JOIN issuers_tokenledgerhead r ON r.token_id = e.token_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number),
            by_order AS (PARTITION BY e.order_id, e.kind = 'TRADE_BUSTED'
                ORDER BY e.number)
    ), judged AS (
        SELECT e.number, e.token_id, e.follows
            AND o.token_id = e.token_id
            AND CASE e.kind
            WHEN 'ORDER_ACCEPTED' THEN e.is_taken AND p.kind IS NULL AND e.filled = 0 AND e.value = 0
                AND e.remaining = e.quantity AND e.priority = e.number
                AND o.quantity = e.quantity AND o.limit_price = e.price
                AND o.priority = e.number AND o.created_at = e.at
            WHEN 'ORDER_AMENDED' THEN e.is_taken AND p.remaining > 0 AND e.filled = p.filled
                AND e.value = p.value AND e.remaining = e.quantity - e.filled
                AND e.remaining > 0 AND o.quantity = e.quantity
                AND o.limit_price = e.price AND o.priority = e.priority
                AND e.priority = (
                    SELECT CASE WHEN e.price = a.price AND e.quantity <= a.quantity
                        THEN a.priority ELSE e.number END
                    FROM trading_orderevent a
                    WHERE a.order_id = e.order_id AND a.number < e.number
                        AND a.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
                    ORDER BY a.number DESC LIMIT 1)
            WHEN 'ORDER_TRADED' THEN e.filled = p.filled + e.quantity
                AND e.value = p.value + e.price * e.quantity
                AND e.remaining = p.remaining - e.quantity AND e.remaining >= 0
                AND x.price = e.price AND x.quantity = e.quantity AND x.at = e.at
                AND e.order_id = CASE
                    WHEN e.number = x.event THEN
                        CASE x.aggressor WHEN 0 THEN x.buy_order_id ELSE x.sell_order_id
                        END
                    WHEN e.number = x.event - 1 THEN
                        CASE x.aggressor WHEN 0 THEN x.sell_order_id ELSE x.buy_order_id
                        END END
            WHEN 'TRADE_BUSTED' THEN b.sequence IS NOT NULL AND e.price = x.price
                AND e.quantity = x.quantity
                AND e.order_id = CASE e.number WHEN b.event THEN x.buy_order_id
                    WHEN b.event + 1 THEN x.sell_order_id END
            WHEN 'PHASE_CHANGED' THEN FALSE
            ELSE e.filled = p.filled AND e.value = p.value
                AND e.remaining = p.remaining AND p.remaining > 0
                AND p.kind NOT IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') END
            AND (NOT e.is_last OR e.kind = 'TRADE_BUSTED' OR o.last_event = e.number
                AND o.updated_at = e.at AND o.filled = e.filled
                AND o.filled_value = e.value AND o.quantity = e.filled + e.remaining
                AND o.status = CASE e.kind WHEN 'ORDER_CANCELLED' THEN 'CANCELLED'
                    WHEN 'ORDER_EXPIRED' THEN 'EXPIRED' ELSE
                    CASE e.remaining WHEN 0 THEN 'FILLED' ELSE 'OPEN' END END
                AND coalesce(o.status_reason, '') = e.reason) AS follows
        FROM linked e
        LEFT JOIN trading_order o ON o.id = e.order_id
        LEFT JOIN LATERAL (
            SELECT e.kind_before AS kind, e.filled_before AS filled,
                e.value_before AS value, e.remaining_before AS remaining
            WHERE e.kind_before IS NOT NULL
            UNION ALL
            (SELECT a.kind, a.filled, a.value, a.remaining FROM trading_orderevent a
            WHERE a.order_id = e.order_id AND a.number < e.number
                AND e.kind_before IS NULL AND e.kind <> 'ORDER_ACCEPTED'
                AND a.kind <> 'TRADE_BUSTED'
            ORDER BY a.number DESC LIMIT 1)
        ) p ON TRUE
        LEFT JOIN trading_execution x
            ON x.token_id = e.token_id AND x.sequence = e.trade
        LEFT JOIN trading_bust b ON b.token_id = e.token_id AND b.sequence = e.trade
            AND e.kind = 'TRADE_BUSTED'
    )
    SELECT format('event %s of token %s', number, token_id) INTO wrong
    FROM judged WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The market''s next event has the next number, follows on the '
            'order''s last one and on its trade, and is what the order says: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('token %s, side %s, %s cents', l.token_id, l.side, l.limit_price)
    INTO wrong
    FROM (
        SELECT DISTINCT o.token_id, o.side, o.limit_price
        FROM entered e JOIN trading_order o ON o.id = e.order_id
        WHERE e.kind <> 'TRADE_BUSTED'
    ) l
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = l.token_id AND o.side = l.side
            AND o.limit_price = l.limit_price AND o.status = 'OPEN'
    ) s
    WHERE s.units <> coalesce((
        SELECT b.quantity FROM marketdata_booklevel b WHERE b.token_id = l.token_id
            AND b.side = l.side AND b.price_cents = l.limit_price), 0)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE trading_market m SET last_event = e.number, last_at = e.at
        FROM (SELECT token_id, max(number) AS number, max(at) AS at
              FROM entered GROUP BY token_id) e
        WHERE m.token_id = e.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_events() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_follow_executions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'trading_execution'::regclass THEN
        RAISE EXCEPTION 'trading_follow_executions guards trading_execution, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('trade %s of token %s', x.sequence, x.token_id) INTO wrong
    FROM entered x
    LEFT JOIN trading_order b ON b.id = x.buy_order_id
    LEFT JOIN trading_order s ON s.id = x.sell_order_id
    LEFT JOIN trading_market m ON m.token_id = x.token_id
    LEFT JOIN issuers_ledgertransaction l
        ON l.token_id = x.token_id AND l.seq = x.ledger_seq
    LEFT JOIN accounts_cashtransaction c ON c.id = x.cash_transaction
    WHERE (b.token_id = x.token_id AND s.token_id = x.token_id
        AND b.side = 0 AND s.side = 1 AND b.user_id <> s.user_id
        AND x.buyer_account_id = b.account_id AND x.seller_account_id = s.account_id
        AND x.price <= b.limit_price AND x.price >= s.limit_price
        AND x.price = CASE x.aggressor
            WHEN 0 THEN s.limit_price WHEN 1 THEN b.limit_price END
        AND CASE x.aggressor WHEN 0 THEN b.priority > s.priority
            WHEN 1 THEN s.priority > b.priority END
        AND m.phase = 'CONTINUOUS' AND (m.next_phase_at > x.at) IS NOT FALSE
        AND x.at >= l.effective_at AND x.event > m.last_event + 1
        AND x.at >= m.last_at AND x.at <= greatest(m.last_at, clock_timestamp())
        AND (b.expires_at > x.at) IS NOT FALSE AND (s.expires_at > x.at) IS NOT FALSE
        AND l.kind = 'TRADE' AND l.amount = x.quantity
        AND l.source_id = s.ledger_account_id AND l.target_id = b.ledger_account_id
        AND c.kind = 'TRADE' AND c.amount = x.price * x.quantity
        AND c.source_id = b.cash_account_id AND c.target_id = s.cash_account_id)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A trade is of a buy and a sell order of two users, at the '
            'resting one''s price and within the other''s limit, while the market is '
            'CONTINUOUS and before either expires, with an entry of its units and a '
            'payment of its price, and names their accounts: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_executions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_follow_placed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
    done bigint;
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_follow_placed guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('order %s', o.id) INTO wrong
    FROM came o
    LEFT JOIN accounts_account a ON a.id = o.account_id
    LEFT JOIN issuers_ledgeraccount l ON l.id = o.ledger_account_id
    LEFT JOIN accounts_cashaccount c ON c.id = o.cash_account_id
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = o.token_id
    WHERE (a.user_id = o.user_id AND a.partner_id = o.partner_id
        AND a.status = 'ACTIVE' AND l.user_id = o.user_id
        AND c.account_id = o.account_id AND h.source = 'OWN' AND o.version = 1)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order belongs to an ACTIVE account, to its user, partner and '
            'accounts, on an internal market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    
    WITH held AS (SELECT token_id, side, ledger_account_id, cash_account_id,
        (quantity - filled) AS units, (quantity - filled) * limit_price AS cents
        FROM came WHERE status = 'OPEN'), per_account AS (
        SELECT token_id, side,
            CASE side WHEN 1 THEN ledger_account_id ELSE cash_account_id END AS account,
            sum(CASE side WHEN 1 THEN units ELSE cents END) AS delta
        FROM held GROUP BY 1, 2, 3
        HAVING sum(CASE side WHEN 1 THEN units ELSE cents END) <> 0
    ), units AS (
        SELECT issuers_reserve_units(token_id, array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 1 GROUP BY token_id
    ), cash AS (
        SELECT accounts_reserve_cash(array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 0 HAVING count(*) > 0
    )
    SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM cash) INTO done;
    
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_placed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_settles_cash()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.cash_transaction = NEW.id) THEN
            RAISE EXCEPTION 'Payment % is of no trade: cash of a TRADE moves with an '
                'execution and an entry.', NEW.id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM accounts_cashtransaction t
            WHERE t.id = NEW.reverses_id AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.cash_transaction = NEW.id) THEN
        RAISE EXCEPTION 'Payment % is a trade''s: only market bust undoes it, with its '
            'units.', NEW.reverses_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_cash() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_settles_units()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_units guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.token_id = NEW.token_id AND x.ledger_seq = NEW.seq) THEN
            RAISE EXCEPTION 'Entry % of token % is of no trade: units of a TRADE move '
                'with an execution and a payment.', NEW.seq, NEW.token_id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = NEW.token_id AND b.ledger_seq = NEW.seq) THEN
        RAISE EXCEPTION 'Entry % of token % is a trade''s: only market bust undoes it, '
            'with its payment.', NEW.reverses, NEW.token_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_units() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_tape_is_executions()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'marketdata_trade'::regclass THEN
        RAISE EXCEPTION 'trading_tape_is_executions guards marketdata_trade, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT format('trade %s of token %s', e.sequence, e.token_id) INTO wrong
    FROM entered e JOIN marketdata_orderbookhead h
        ON h.token_id = e.token_id AND h.source = 'OWN'
    LEFT JOIN trading_execution x
        ON x.token_id = e.token_id AND x.sequence = e.sequence
    WHERE (x.price = e.price_cents AND x.quantity = e.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of an internal market holds its executions and nothing '
            'else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tape_is_executions() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_tell_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_tell_orders guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(o.partner_id ORDER BY e.token_id, e.number),
        array_agg(e.kind::text ORDER BY e.token_id, e.number),
        array_agg(o.id ORDER BY e.token_id, e.number), NULL,
        array_agg(e.token_id ORDER BY e.token_id, e.number),
        array_agg(o.account_id ORDER BY e.token_id, e.number), NULL,
        array_agg(e.number ORDER BY e.token_id, e.number),
        array_agg(e.price ORDER BY e.token_id, e.number),
        array_agg(e.quantity ORDER BY e.token_id, e.number),
        array_agg(e.remaining ORDER BY e.token_id, e.number),
        array_agg(e.trade ORDER BY e.token_id, e.number),
        array_agg(CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
            THEN e.reason END ORDER BY e.token_id, e.number))
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_told_execution()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'trading_execution'::regclass THEN
        RAISE EXCEPTION 'trading_told_execution guards trading_execution, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT FROM marketdata_trade t WHERE t.token_id = NEW.token_id
            AND t.sequence = NEW.sequence AND t.price_cents = NEW.price
            AND t.quantity = NEW.quantity)
        OR 2 <> (SELECT count(*) FROM trading_orderevent e
            WHERE e.token_id = NEW.token_id
                AND e.number BETWEEN NEW.event - 1 AND NEW.event
                AND e.kind = 'ORDER_TRADED' AND e.trade = NEW.sequence) THEN
        RAISE EXCEPTION 'An execution is the tape''s trade of its number, and an event '
            'of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_execution() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_told_order()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_told_order guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (
        SELECT FROM trading_order o JOIN trading_orderevent e
            ON e.token_id = o.token_id AND e.number = o.last_event AND e.order_id = o.id
        WHERE o.id = NEW.id) THEN
        RAISE EXCEPTION 'What becomes of an order is an event of the market''s log: %.',
            NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.version > 1 AND NOT EXISTS (
        SELECT FROM trading_order o CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE e.kind = 'ORDER_AMENDED') AS amended,
                (array_agg(ROW (e.price, e.quantity, e.priority) ORDER BY e.number DESC)
                )[1] = ROW (o.limit_price, o.quantity, o.priority) AS fits
            FROM trading_orderevent e WHERE e.order_id = o.id
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')) p
        WHERE o.id = NEW.id AND p.fits AND p.amended = o.version - 1) THEN
        RAISE EXCEPTION 'An order is amended as an event says: %.', NEW.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_order() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0024_request_counts_by_function"),
        ("accounts", "0053_writers_alone"),
        ("issuers", "0068_writers_alone"),
        ("marketdata", "0022_writers_alone"),
        ("trading", "0016_writers_alone"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
