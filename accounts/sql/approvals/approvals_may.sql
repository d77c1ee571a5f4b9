-- Whether an active member of staff has a right of approvals, directly or by a group.
-- called by: approvals_decide_each, approvals_file_request, approvals_use_by,
--     approvals_use_each, register_write
CREATE OR REPLACE FUNCTION public.approvals_may(person uuid, wanted text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN EXISTS (
        SELECT FROM accounts_user u
        WHERE u.id = person AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts' AND c.model = 'approvalrequest'
            WHERE p.codename = lower(wanted) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = u.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = u.id AND given.permission_id = p.id)))));
END $$;
REVOKE ALL ON FUNCTION public.approvals_may(uuid, text) FROM PUBLIC;
