-- Refuses an approval while the person who files or decides has access that someone
-- else changed less than 24 hours earlier.
-- called by: approvals_decide_each, approvals_rested, approvals_use_each
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_check_rest(
    request uuid, decider uuid, approves boolean, moment timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person text; what_for text; until timestamptz;
BEGIN
    FOR person, what_for, until IN
        SELECT u.email, p.what_for, approvals_rests_until(u.id, moment)
        FROM accounts_approvalrequest r
        CROSS JOIN LATERAL (VALUES
            (CASE WHEN approves OR decider <> r.filed_by_id THEN decider END, 'decides'),
            (CASE WHEN approves THEN r.filed_by_id END, 'filed')) AS p (id, what_for)
        JOIN accounts_user u ON u.id = p.id
        WHERE r.id = request
    LOOP
        IF until IS NOT NULL AND what_for = 'decides' THEN
            RAISE EXCEPTION '% cannot decide a request before % UTC: someone else '
                'changed their access less than 24 hours earlier. See Changes of staff.',
                person, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
                USING ERRCODE = 'restrict_violation',
                    CONSTRAINT = 'second_person_approves';
        ELSIF until IS NOT NULL THEN
            RAISE EXCEPTION 'This request cannot be approved before % UTC: someone else '
                'changed the access of %, who filed it, less than 24 hours earlier. '
                'See Changes of staff.',
                to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), person
                USING ERRCODE = 'restrict_violation',
                    CONSTRAINT = 'second_person_approves';
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.approvals_check_rest(uuid, uuid, boolean, timestamp with
    time zone) FROM PUBLIC;
