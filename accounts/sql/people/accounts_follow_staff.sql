-- Derives changes of staff access from the history of users, groups, rights and second
-- factors; what people change for themselves does not count.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_follow_staff()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    whom uuid; is_own boolean;
BEGIN
    IF TG_RELID <> 'accounts_rowchange'::regclass THEN
        RAISE EXCEPTION 'accounts_follow_staff guards accounts_rowchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    CASE NEW.table_name
    WHEN 'accounts_user' THEN
        whom := NEW.row_id;
        SELECT NEW.who = CASE WHEN NEW.before ? 'email' THEN NEW.before ->> 'email'
            ELSE u.email END INTO is_own
            FROM accounts_user u WHERE u.id = whom;
        PERFORM accounts_note_staff(whom, t.happened, t.more, NEW.id,
            NEW.before ->> 'email')
        FROM (VALUES
            ('MADE', '', (NEW.after ->> 'is_staff')::boolean),
            ('SUPERUSER', '', (NEW.after ->> 'is_superuser')::boolean),
            ('REACTIVATED', '', NEW.operation = 'UPDATE'
                AND (NEW.after ->> 'is_active')::boolean),
            ('PASSWORD', '', NEW.operation = 'UPDATE' AND NEW.after ? 'password'
                AND is_own IS NOT TRUE),
            ('LOGIN', concat_ws(' → ', NEW.before ->> 'email', NEW.after ->> 'email'),
                NEW.operation = 'UPDATE' AND NEW.after ? 'email'
                AND is_own IS NOT TRUE),
            ('IDENTITY', NEW.before ->> 'id',
                NEW.operation = 'UPDATE' AND NEW.after ? 'id')
        ) AS t (happened, more, is_so) WHERE t.is_so;
    WHEN 'accounts_user_groups' THEN
        IF NEW.row_id = coalesce(NEW.after ->> 'user_id', NEW.row_id) THEN
            PERFORM accounts_note_staff(NEW.row_id::uuid, 'GROUP', (
                SELECT g.name FROM auth_group g
                WHERE g.id = (NEW.after ->> 'group_id')::integer), NEW.id, NULL);
        END IF;
    WHEN 'accounts_user_user_permissions' THEN
        IF NEW.row_id = coalesce(NEW.after ->> 'user_id', NEW.row_id) THEN
            PERFORM accounts_note_staff(NEW.row_id::uuid, 'RIGHT', (
                SELECT p.codename FROM auth_permission p
                WHERE p.id = (NEW.after ->> 'permission_id')::integer), NEW.id, NULL);
        END IF;
    WHEN 'auth_group_permissions' THEN
        -- A release gives the roles their rights; only the owner migrates.
        IF NEW.row_id = coalesce(NEW.after ->> 'group_id', NEW.row_id) AND NOT (
            NEW.source = 'migrate' AND pg_has_role(session_user, (
                SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')) THEN
            PERFORM accounts_note_staff(m.user_id, 'GROUP_RIGHT', (
                SELECT g.name || ': ' || p.codename FROM auth_group g, auth_permission p
                WHERE g.id = m.group_id
                    AND p.id = (NEW.after ->> 'permission_id')::integer), NEW.id, NULL)
            FROM accounts_user_groups m WHERE m.group_id = NEW.row_id::integer;
        END IF;
    WHEN 'otp_totp_totpdevice' THEN
        whom := NEW.row_id;
        PERFORM FROM accounts_user u WHERE u.id = whom AND u.email = NEW.who;
        IF NOT FOUND THEN
            PERFORM accounts_note_staff(whom, 'DEVICE', CASE NEW.operation
                WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE 'changed' END, NEW.id, NULL);
        END IF;
    END CASE;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_follow_staff() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_follow_staff AFTER INSERT
    ON public.accounts_rowchange FOR EACH ROW
    WHEN (new.table_name = 'otp_totp_totpdevice' OR new.after IS NOT NULL AND
        ((new.table_name = ANY (ARRAY['accounts_user_groups',
        'accounts_user_user_permissions', 'auth_group_permissions'])) OR new.table_name
        = 'accounts_user' AND new.after ?| ARRAY['is_staff', 'is_superuser',
        'is_active', 'password', 'email', 'id']))
    EXECUTE FUNCTION public.accounts_follow_staff();
