-- Enters a new API key, whose scopes are rows of accounts_keyscope, with an event of its
-- partner.
-- called by: desk_issue_key, keys_issue
-- raises: check_violation
CREATE OR REPLACE FUNCTION public.keys_enter(
    key uuid, partner uuid, digest bytea, pepper bigint, ending text, wanted text[],
    until timestamp with time zone
)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF NOT wanted <@ ARRAY(SELECT s.name::text FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
            'manage.py migrate writes the scopes of a new release.', wanted
            USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO accounts_apikey (id, partner_id, secret_digest, pepper_id, last_four,
        scopes, created_at, expires_at)
    VALUES (key, partner, digest, pepper, ending, wanted, clock_timestamp(), until);
    PERFORM events_write(NULL, ARRAY[partner], ARRAY['KEY_CHANGED'], NULL, NULL, NULL,
        NULL);
END $$;
REVOKE ALL ON FUNCTION public.keys_enter(uuid, uuid, bytea, bigint, text, text[],
    timestamp with time zone) FROM PUBLIC;
