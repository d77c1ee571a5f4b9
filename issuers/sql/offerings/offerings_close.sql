-- Closes an offering whose time is over; one that then misses its minimum fails, and its
-- subscriptions' cash is free. Withdrawals may make it miss it later. Returns whether
-- something changed.
-- called by: application
-- locks: issuers_offering (FOR NO KEY UPDATE)
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
