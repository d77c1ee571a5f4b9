-- Tells partners that an offering has a new status.
-- called by: offerings_allot, offerings_close, offerings_end, offerings_open,
--     offerings_price, offerings_settle
CREATE OR REPLACE FUNCTION public.offerings_tell(offering issuers_offering)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['OFFERING_CHANGED'],
        ARRAY[offering.id], NULL, ARRAY[offering.token_id], NULL,
        reasons => ARRAY[offering.status::text]);
END $$;
REVOKE ALL ON FUNCTION public.offerings_tell(issuers_offering) FROM PUBLIC;
