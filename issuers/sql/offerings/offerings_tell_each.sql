-- Tells partners that subscriptions of an offering changed.
-- called by: offerings_allot, offerings_amend, offerings_leave, offerings_release,
--     offerings_settle, offerings_subscribe
CREATE OR REPLACE FUNCTION public.offerings_tell_each(
    of_token uuid, subscriptions uuid[]
)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(s.partner_id ORDER BY s.ranked_at, s.id),
        array_agg('SUBSCRIPTION_CHANGED'::text), array_agg(s.id
            ORDER BY s.ranked_at, s.id), NULL, array_agg(of_token),
        array_agg(s.account_id ORDER BY s.ranked_at, s.id),
        reasons => array_agg(s.status::text ORDER BY s.ranked_at, s.id))
    FROM issuers_subscription s WHERE s.id = ANY (subscriptions)
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.offerings_tell_each(uuid, uuid[]) FROM PUBLIC;
