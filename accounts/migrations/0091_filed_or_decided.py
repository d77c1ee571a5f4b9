"""Filed or decided."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_judge_staff(asker text, used uuid, rights text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person accounts_user;
    signed_in text;
BEGIN
    SELECT * INTO person FROM accounts_user u WHERE u.email = asker;
    IF used IS NOT NULL THEN
        PERFORM FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            WHERE r.id = used AND person.id IN (r.filed_by_id, d.decided_by_id);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'This is done in the name of the user that filed or decided '
                'its approval, and not of %.', asker
                USING ERRCODE = 'restrict_violation',
                    CONSTRAINT = 'second_person_approves';
        END IF;
        RETURN;
    END IF;
    IF (person.is_active AND person.is_staff AND (person.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts'
            WHERE p.codename = ANY (rights) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = person.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = person.id AND given.permission_id = p.id))))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'This is done by an active member of staff with the right to '
            'do it: %, and not %.', array_to_string(rights, ' or '), asker
            USING ERRCODE = 'restrict_violation';
    END IF;
    signed_in := approvals_person();
    IF signed_in NOT IN ('SQL', 'command', person.id::text) THEN
        RAISE EXCEPTION 'This is done in the name of the user that is signed in, and '
            'not of %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.cash_judge_staff(text, uuid, text[]) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_judge_staff(asker text, used uuid, rights text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    person accounts_user;
    signed_in text;
BEGIN
    SELECT * INTO person FROM accounts_user u WHERE u.email = asker;
    IF used IS NOT NULL THEN
        PERFORM FROM accounts_approvalrequest r
            JOIN accounts_approvaldecision d ON d.request_id = r.id
            WHERE r.id = used AND person.id IN (r.filed_by_id, d.decided_by_id);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'This is done in the name of the user that filed or decided '
                'its approval, and not of %.', asker USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN;
    END IF;
    IF (person.is_active AND person.is_staff AND (person.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts'
            WHERE p.codename = ANY (rights) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = person.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = person.id AND given.permission_id = p.id))))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'This is done by an active member of staff with the right to '
            'do it: %, and not %.', array_to_string(rights, ' or '), asker
            USING ERRCODE = 'restrict_violation';
    END IF;
    signed_in := approvals_person();
    IF signed_in NOT IN ('SQL', 'command', person.id::text) THEN
        RAISE EXCEPTION 'This is done in the name of the user that is signed in, and '
            'not of %.', asker USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.cash_judge_staff(text, uuid, text[]) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0090_approvals_name_their_rule"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
