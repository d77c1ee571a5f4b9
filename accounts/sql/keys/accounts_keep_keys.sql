-- A new API key has scopes that are rows of accounts_keyscope. Refuses what would
-- widen, revive or move a key; only a function of the owner gives it another digest or
-- pepper. Runs as the session, so that it knows who writes.
-- called by: triggers
-- raises: check_violation, restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_keep_keys()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        IF NOT NEW.scopes <@ ARRAY(SELECT s.name FROM accounts_keyscope s) THEN
            RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
                'manage.py migrate writes the scopes of a new release.', NEW.scopes
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.id <> OLD.id OR NEW.partner_id <> OLD.partner_id
        OR NOT NEW.scopes <@ OLD.scopes
        OR NEW.secret_digest <> OLD.secret_digest
            AND NEW.pepper_id IS NOT DISTINCT FROM OLD.pepper_id
        OR OLD.revoked_at IS NOT NULL
            AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at
        OR coalesce(NEW.expires_at, 'infinity') > OLD.expires_at THEN
        RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
            'end, no other partner and, but for another pepper, no other secret, and is '
            'not revived. Issue another.',
            OLD.last_four, OLD.partner_id USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.secret_digest <> OLD.secret_digest
            OR NEW.pepper_id IS DISTINCT FROM OLD.pepper_id)
        AND current_user <> (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
            WHERE c.oid = TG_RELID) THEN
        RAISE EXCEPTION 'Key % keeps its digest: accounts_move_keys gives it another '
            'for what opens the one that it has.', OLD.last_four
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_keys() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE INSERT OR UPDATE
    ON public.accounts_apikey FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_keep_keys();
