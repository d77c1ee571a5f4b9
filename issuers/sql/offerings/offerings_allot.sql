-- Writes how many units each active subscription of a closed offering gets, and by which
-- code it gets fewer than its share; two people agreed on exactly these. No reflection
-- period runs, none gets more than subscribed or pays more than its limit, and the sum
-- is between the offering's minimum and maximum. An allotment that is not settled is
-- replaced.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_offering (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.offerings_allot(
    actor text, of_offering uuid, subscriptions uuid[], units bigint[], codes text[]
)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    moment timestamptz;
    total numeric;
    wrong text;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    moment := clock_timestamp();
    IF (offering.status IN ('CLOSED', 'ALLOTTED') AND offering.price IS NOT NULL)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Units are allotted of an offering that has closed and has a '
            'price.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_subscription s WHERE s.offering_id = of_offering
            AND s.status = 'ACTIVE' AND s.reflects_until > moment) THEN
        RAISE EXCEPTION 'Units are allotted once the last reflection period has ended.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT sum(g.units) INTO total FROM unnest(units) AS g (units);
    IF (total BETWEEN offering.minimum_units AND offering.maximum_units)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'An allotment is between the minimum and the maximum of its '
            'offering: %.', coalesce(total, 0) USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(s.id, g.id)::text INTO wrong
    FROM unnest(subscriptions, units, codes) AS g (id, units, code)
    FULL JOIN (SELECT * FROM issuers_subscription x
        WHERE x.offering_id = of_offering AND x.status = 'ACTIVE') s ON s.id = g.id
    WHERE (g.units BETWEEN 0 AND s.quantity AND g.code IS NOT NULL
        AND (g.units = 0 OR s.limit_price >= offering.price)) IS NOT TRUE
    LIMIT 1;
    IF FOUND OR cardinality(subscriptions) <> (SELECT count(DISTINCT g.id)
            FROM unnest(subscriptions) AS g (id)) THEN
        RAISE EXCEPTION 'An allotment names each active subscription once, with at most '
            'its units, within its limit: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'ALLOT',
        'offering', of_offering, 'price', offering.price, 'units', total,
        'digest', offerings_digest(subscriptions, units, codes)));
    UPDATE issuers_subscription s SET allotted = g.units, refusal = g.code,
        updated_at = greatest(s.updated_at, moment)
    FROM unnest(subscriptions, units, codes) AS g (id, units, code)
    WHERE s.id = g.id;
    UPDATE issuers_offering o SET status = 'ALLOTTED', updated_at = moment
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    PERFORM offerings_tell_each(offering.token_id, subscriptions);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_allot(text, uuid, uuid[], bigint[], text[])
    FROM PUBLIC;
