-- The seconds for which a settlement holds the cash of one of these accounts; NULL: none
-- does.
-- called by: offerings_read, offerings_read_subscription, trading_read
CREATE OR REPLACE FUNCTION public.offerings_settling(cash_accounts bigint[])
RETURNS integer LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    until timestamptz;
BEGIN
    -- Most of the time no offering settles.
    IF NOT EXISTS (SELECT FROM issuers_offering o
            WHERE o.settling_until > clock_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT max(o.settling_until) INTO until
    FROM unnest(cash_accounts) AS c (id)
    JOIN issuers_subscription s ON s.cash_account_id = c.id AND s.status = 'ACTIVE'
    JOIN issuers_offering o ON o.id = s.offering_id
        AND o.settling_until > clock_timestamp();
    RETURN CASE WHEN until IS NOT NULL THEN greatest(1,
        ceil(extract(epoch FROM until - clock_timestamp())))::integer END;
END $$;
REVOKE ALL ON FUNCTION public.offerings_settling(bigint[]) FROM PUBLIC;
