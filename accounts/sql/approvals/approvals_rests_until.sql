-- Until when a person's access rests after someone else changed it; NULL where it does
-- not.
-- called by: application, approvals_check_rest, approvals_over, delivery_note_makers
CREATE OR REPLACE FUNCTION public.approvals_rests_until(
    whom uuid, moment timestamp with time zone
)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT max(c.at) + interval '24 hours' FROM accounts_staffchange c
        WHERE c.person_id = whom AND c.what <> 'APPOINTED'
            AND c.at > moment - interval '24 hours' AND c.at <= moment
            AND c.id > (SELECT coalesce(max(a.id), 0) FROM accounts_staffchange a
                WHERE a.person_id = whom AND a.what = 'APPOINTED'));
END $$;
REVOKE ALL ON FUNCTION public.approvals_rests_until(uuid, timestamp with time zone) FROM
    PUBLIC;
