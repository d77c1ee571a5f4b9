"""Offerings under their approval."""

from django.db import migrations

FORWARD = r"""
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
"""

BACKWARD = r"""
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
    UPDATE accounts_cashhead h
        SET reserved = h.reserved + units * cents - s.quantity * s.limit_price
    FROM issuers_subscription s
    WHERE s.id = subscription AND h.cash_account_id = s.cash_account_id;
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
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
            OR becomes = 'FAILED' AND offering.status = 'CLOSED') IS NOT TRUE THEN
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
    PERFORM pg_advisory_xact_lock(hashtextextended('orders of partner' || p.id, 0))
        FROM (SELECT x.id FROM accounts_partner x ORDER BY x.id) p;
    UPDATE issuers_offering o
        SET settling_until = clock_timestamp() + make_interval(secs => seconds)
        WHERE o.id = of_offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_mark(text, uuid, integer) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0106_prices_of_offerings_are_validated"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
