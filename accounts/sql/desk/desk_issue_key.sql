-- Issues an API key to a member of a partner's desk, within the scopes that two members
-- of staff approved for the member, for at most 366 days; a signature of the passkey
-- pays for it. A partner has at most 20 active keys that were issued so.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_partner (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.desk_issue_key(
    member uuid, counted bigint, asked_at timestamp with time zone, key uuid,
    digest bytea, pepper bigint, ending text, wanted text[],
    until timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    m accounts_deskmember;
    moment timestamptz := clock_timestamp();
BEGIN
    PERFORM accounts_read_committed();
    PERFORM desk_use(member, counted, asked_at);
    SELECT * INTO m FROM accounts_deskmember WHERE id = member;
    PERFORM FROM accounts_partner p WHERE p.id = m.partner_id FOR NO KEY UPDATE;
    IF cardinality(wanted) = 0 OR NOT wanted <@ m.scopes::text[] THEN
        RAISE EXCEPTION 'A key has scopes, and only those that were approved for the '
            'member that issues it: %.', wanted USING ERRCODE = 'restrict_violation';
    END IF;
    IF until IS NULL OR until <= moment OR until > moment + interval '366 days' THEN
        RAISE EXCEPTION 'A key expires within 366 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (SELECT count(*) FROM accounts_deskkey d
            JOIN accounts_deskmember o ON o.id = d.member_id
            JOIN accounts_apikey k ON k.id = d.key_id
            WHERE o.partner_id = m.partner_id AND k.revoked_at IS NULL
                AND k.expires_at > moment) >= 20 THEN
        RAISE EXCEPTION 'The desk has issued 20 active keys; revoke one first.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM keys_enter(key, m.partner_id, digest, pepper, ending, wanted, until);
    INSERT INTO accounts_deskkey (key_id, member_id) VALUES (key, member);
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT member, 'KEY', o.email, 0, moment, '' FROM accounts_deskmember o
        WHERE o.partner_id = m.partner_id AND o.ended_at IS NULL
            AND o.enrolled_at IS NOT NULL;
END $$;
REVOKE ALL ON FUNCTION public.desk_issue_key(uuid, bigint, timestamp with time zone, uuid,
    bytea, bigint, text, text[], timestamp with time zone) FROM PUBLIC;
