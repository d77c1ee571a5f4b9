-- Invites an address to a partner's desk, with the scopes that its keys may have; two
-- members of staff have approved exactly that, whatever policy asks for. An address of
-- staff is refused.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.desk_invite(
    member uuid, partner uuid, mailbox text, granted text[]
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('DESK', jsonb_build_object('partner', partner,
        'email', mailbox,
        'scopes', ARRAY(SELECT s FROM unnest(granted) AS s ORDER BY s COLLATE "C")),
        NULL, NULL, NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'An invitation to a desk always needs an approval by a second '
            'person.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    PERFORM FROM accounts_user u
        WHERE u.is_staff AND desk_mailbox(u.email) = desk_mailbox(mailbox);
    IF FOUND THEN
        RAISE EXCEPTION 'This approval is for an address of a member of staff, who cannot '
            'use the desk of a partner: %.', mailbox
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    IF NOT granted <@ ARRAY(SELECT s.name::text FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'This approval names a scope that is unknown: %.', granted
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    UPDATE accounts_deskmember m SET ended_at = clock_timestamp(), ended_by = 'expiry'
        WHERE m.partner_id = partner AND m.email = mailbox AND m.ended_at IS NULL
            AND m.enrolled_at IS NULL AND m.expires_at <= clock_timestamp();
    INSERT INTO accounts_deskmember (id, partner_id, email, scopes, request_id,
        invited_at, expires_at, ended_by, domain, sign_count)
    VALUES (member, partner, mailbox, granted, used, clock_timestamp(),
        clock_timestamp() + interval '7 days', '', '', 0);
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    VALUES (member, 'INVITED', mailbox, 0, clock_timestamp(), '');
END $$;
REVOKE ALL ON FUNCTION public.desk_invite(uuid, uuid, text, text[]) FROM PUBLIC;
