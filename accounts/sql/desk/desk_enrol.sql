-- Keeps the passkey of an invited member, which rests for 24 hours; e-mails go to every
-- member of the partner's desk and to the two members of staff that approved the
-- address.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.desk_enrol(
    member uuid, credential bytea, point bytea, bound_to text
)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    partner uuid;
BEGIN
    PERFORM accounts_read_committed();
    IF length(point) <> 65 OR get_byte(point, 0) <> 4 THEN
        RAISE EXCEPTION 'A passkey is of the curve P-256.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_deskmember m SET credential = desk_enrol.credential,
        public_key = point, domain = bound_to, enrolled_at = moment,
        usable_from = moment + interval '24 hours'
    WHERE m.id = member AND m.enrolled_at IS NULL AND m.ended_at IS NULL
        AND m.expires_at > moment AND NOT EXISTS (
            SELECT FROM accounts_user u WHERE u.is_staff
                AND desk_mailbox(u.email) = desk_mailbox(m.email))
    RETURNING m.partner_id INTO partner;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The invitation was used, has expired, or was withdrawn.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT member, 'ENROLLED', told.email, 0, moment, '' FROM (
        SELECT m.email FROM accounts_deskmember m
            WHERE m.partner_id = partner AND m.ended_at IS NULL
        UNION SELECT u.email FROM accounts_deskmember m
            JOIN accounts_approvalrequest r ON r.id = m.request_id
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            JOIN accounts_user u ON u.id IN (r.filed_by_id, d.decided_by_id)
            WHERE m.id = member
    ) AS told WHERE told.email <> '';
    RETURN moment + interval '24 hours';
END $$;
REVOKE ALL ON FUNCTION public.desk_enrol(uuid, bytea, bytea, text) FROM PUBLIC;
