-- Refuses what would widen, revive or move an API key.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_keep_keys()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'accounts_keep_keys guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
        'end, no other partner and, but for another pepper, no other secret, and is '
        'not revived. Issue another.',
        OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE UPDATE ON public.accounts_apikey
    FOR EACH ROW
    WHEN (new.id <> old.id OR new.partner_id <> old.partner_id OR NOT new.scopes <@ old.scopes OR
        new.secret_digest <> old.secret_digest AND NOT new.pepper_id IS DISTINCT FROM
        old.pepper_id OR old.revoked_at IS NOT NULL AND new.revoked_at IS DISTINCT FROM
        old.revoked_at OR old.expires_at IS NOT NULL AND COALESCE(new.expires_at,
        'infinity'::timestamp with time zone) > old.expires_at)
    EXECUTE FUNCTION public.accounts_keep_keys();
