-- Marks the investors of an allotted offering as settling for some seconds, 0: no more,
-- in a transaction of its own before the settlement: their orders are then refused at
-- once, instead of waiting for their cash. It waits for the orders under way. A request
-- to settle the offering is approved and not used, unless one person may settle.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_offering (FOR NO KEY UPDATE), orders of partner (advisory)
CREATE OR REPLACE FUNCTION public.offerings_mark(
    actor text, of_offering uuid, seconds integer
)
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
