-- Whether a member may use the desk of the partner now: the passkey has rested, the
-- membership has not ended, the partner is active, and the address is of no staff.
-- called by: application, desk_use
CREATE OR REPLACE FUNCTION public.desk_may(member uuid)
RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM accounts_deskmember m
        JOIN accounts_partner p ON p.id = m.partner_id AND p.is_active
        WHERE m.id = member AND m.ended_at IS NULL AND m.usable_from <= clock_timestamp()
            AND NOT EXISTS (SELECT FROM accounts_user u
                WHERE u.is_staff AND desk_mailbox(u.email) = desk_mailbox(m.email)));
END $$;
REVOKE ALL ON FUNCTION public.desk_may(uuid) FROM PUBLIC;
