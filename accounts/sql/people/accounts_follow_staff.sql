-- Derives changes of staff access from the history of users, groups, rights and second
-- factors; what people change for themselves does not count.
-- called by: history_record
CREATE OR REPLACE FUNCTION public.accounts_follow_staff(line accounts_rowchange)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    whom uuid; is_own boolean;
BEGIN
    PERFORM accounts_read_committed();
    CASE line.table_name
    WHEN 'accounts_user' THEN
        whom := line.row_id;
        SELECT line.who = CASE WHEN line.before ? 'email' THEN line.before ->> 'email'
            ELSE u.email END INTO is_own
            FROM accounts_user u WHERE u.id = whom;
        PERFORM accounts_note_staff(whom, t.happened, t.more, line.id,
            line.before ->> 'email')
        FROM (VALUES
            ('MADE', '', (line.after ->> 'is_staff')::boolean),
            ('SUPERUSER', '', (line.after ->> 'is_superuser')::boolean),
            ('REACTIVATED', '', line.operation = 'UPDATE'
                AND (line.after ->> 'is_active')::boolean),
            ('PASSWORD', '', line.operation = 'UPDATE' AND line.after ? 'password'
                AND is_own IS NOT TRUE),
            ('LOGIN', concat_ws(' → ', line.before ->> 'email', line.after ->> 'email'),
                line.operation = 'UPDATE' AND line.after ? 'email'
                AND is_own IS NOT TRUE),
            ('IDENTITY', line.before ->> 'id',
                line.operation = 'UPDATE' AND line.after ? 'id')
        ) AS t (happened, more, is_so) WHERE t.is_so;
    WHEN 'accounts_user_groups' THEN
        IF line.row_id = coalesce(line.after ->> 'user_id', line.row_id) THEN
            PERFORM accounts_note_staff(line.row_id::uuid, 'GROUP', (
                SELECT g.name FROM auth_group g
                WHERE g.id = (line.after ->> 'group_id')::integer), line.id, NULL);
        END IF;
    WHEN 'accounts_user_user_permissions' THEN
        IF line.row_id = coalesce(line.after ->> 'user_id', line.row_id) THEN
            PERFORM accounts_note_staff(line.row_id::uuid, 'RIGHT', (
                SELECT p.codename FROM auth_permission p
                WHERE p.id = (line.after ->> 'permission_id')::integer), line.id, NULL);
        END IF;
    WHEN 'auth_group_permissions' THEN
        -- A release gives the roles their rights; only the owner migrates.
        IF line.row_id = coalesce(line.after ->> 'group_id', line.row_id) AND NOT (
            line.source = 'migrate' AND pg_has_role(session_user, (
                SELECT relowner FROM pg_class WHERE oid = 'accounts_rowchange'::regclass), 'MEMBER')) THEN
            PERFORM accounts_note_staff(m.user_id, 'GROUP_RIGHT', (
                SELECT g.name || ': ' || p.codename FROM auth_group g, auth_permission p
                WHERE g.id = m.group_id
                    AND p.id = (line.after ->> 'permission_id')::integer), line.id, NULL)
            FROM accounts_user_groups m WHERE m.group_id = line.row_id::integer;
        END IF;
    WHEN 'otp_totp_totpdevice' THEN
        whom := line.row_id;
        PERFORM FROM accounts_user u WHERE u.id = whom AND u.email = line.who;
        IF NOT FOUND THEN
            PERFORM accounts_note_staff(whom, 'DEVICE', CASE line.operation
                WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE 'changed' END, line.id, NULL);
        END IF;
    END CASE;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_staff(accounts_rowchange) FROM PUBLIC;
