-- The instant until which an investor may withdraw a subscription made at an instant:
-- the instant itself for a professional client or an eligible counterparty, whom
-- Regulation (EU) 2020/1503, article 22, does not protect.
-- called by: offerings_amend, offerings_subscribe
CREATE OR REPLACE FUNCTION public.offerings_reflects_until(
    offering issuers_offering, investor uuid, at timestamp with time zone
)
RETURNS timestamp with time zone LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN CASE WHEN EXISTS (SELECT FROM accounts_investorprofile i
            WHERE i.user_id = investor
                AND i.investor_class IN ('PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'))
        THEN at ELSE at + make_interval(secs => offering.reflection_seconds) END;
END $$;
REVOKE ALL ON FUNCTION public.offerings_reflects_until(issuers_offering, uuid, timestamp
    with time zone) FROM PUBLIC;
