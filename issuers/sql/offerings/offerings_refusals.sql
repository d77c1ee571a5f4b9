-- Returns what the rules of the token refuse of units from an offering, for a ledger
-- account or a user without one, once all units that are offered are made.
-- called by: offerings_judge, offerings_read, offerings_read_subscription
CREATE OR REPLACE FUNCTION public.offerings_refusals(
    offering issuers_offering, target bigint, newcomer uuid, units bigint,
    at timestamp with time zone
)
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
REVOKE ALL ON FUNCTION public.offerings_refusals(issuers_offering, bigint, uuid, bigint,
    timestamp with time zone) FROM PUBLIC;
