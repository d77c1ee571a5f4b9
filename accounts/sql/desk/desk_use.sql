-- Notes that a member has signed a challenge of this time, once; the caller has checked
-- the signature. The counter of the passkey grows.
-- called by: application, desk_issue_key
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.desk_use(
    member uuid, counted bigint, asked_at timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE accounts_deskmember m SET sign_count = counted, signed_at = asked_at
    WHERE m.id = member AND asked_at <= clock_timestamp() + interval '5 minutes'
        AND asked_at > coalesce(m.signed_at, '-infinity')
        AND (counted > m.sign_count OR (counted, m.sign_count) = (0, 0));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This signature was used before, or is of a copy of the passkey.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- The row is locked by now: who ended it before is seen.
    IF NOT desk_may(member) THEN
        RAISE EXCEPTION 'This passkey cannot be used now.'
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.desk_use(uuid, bigint, timestamp with time zone)
    FROM PUBLIC;
