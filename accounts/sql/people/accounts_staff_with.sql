-- The id of the active member of staff with this e-mail address, who holds a right now,
-- directly or by a group. `wanted` is as Django names it: issuers.add_restriction.
-- called by: accounts_write, binds_approve_holder, binds_decide, binds_end_approval,
--     binds_end_grant, binds_restrict, desk_end, trading_block, trading_change_phase,
--     trading_judge_endings, trading_open
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_staff_with(actor text, wanted text)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person uuid;
BEGIN
    SELECT u.id INTO person FROM accounts_user u
    WHERE u.email = actor AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
        SELECT FROM auth_permission p
        JOIN django_content_type c ON c.id = p.content_type_id
            AND c.app_label = split_part(wanted, '.', 1)
        WHERE p.codename = split_part(wanted, '.', 2) AND (
            EXISTS (SELECT FROM accounts_user_user_permissions own
                WHERE own.user_id = u.id AND own.permission_id = p.id)
            OR EXISTS (SELECT FROM accounts_user_groups member
                JOIN auth_group_permissions given ON given.group_id = member.group_id
                WHERE member.user_id = u.id AND given.permission_id = p.id))));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs an active member of staff with the right %: %.',
            wanted, coalesce(nullif(actor, ''), 'none is named')
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN person;
END $$;
REVOKE ALL ON FUNCTION public.accounts_staff_with(text, text) FROM PUBLIC;
