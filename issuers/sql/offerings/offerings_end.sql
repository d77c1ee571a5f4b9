-- Withdraws an offering before it settles, or fails one whose allotment misses its
-- minimum; the cash of its subscriptions is free. Two people decide it; one withdraws
-- a draft.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_offering (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.offerings_end(
    actor text, of_offering uuid, becomes text, why text
)
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
