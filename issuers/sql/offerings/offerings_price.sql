-- Sets the price of a closed offering with a book, within its band, as two people
-- decided.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_offering (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.offerings_price(
    actor text, of_offering uuid, cents bigint
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
