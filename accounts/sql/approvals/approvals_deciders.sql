-- Returns the active members of staff that may decide any kind of request.
-- called by: accounts_note_staff, passkeys_revoke, passkeys_vouch
CREATE OR REPLACE FUNCTION public.approvals_deciders()
RETURNS SETOF accounts_user LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT u.* FROM accounts_user u
        WHERE u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts' AND c.model = 'approvalrequest'
            WHERE p.codename LIKE 'decide\_%' AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = u.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = u.id AND given.permission_id = p.id))));
END $$;
REVOKE ALL ON FUNCTION public.approvals_deciders() FROM PUBLIC;
