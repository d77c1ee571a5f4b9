-- Records each change of a row: what it was and became, by whom, from where. Arguments:
-- columns left out, columns whose values are secret, the key column. Follows changes of
-- the access that staff have.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.history_record()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    became jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    key_column text := coalesce(TG_ARGV[2], 'id');
    left_out text[] := string_to_array(TG_ARGV[0], ' ');
    secret text[] := string_to_array(TG_ARGV[1], ' ');
    row_keys text[] := ARRAY(SELECT DISTINCT CASE WHEN key_column = ANY (secret)
            THEN left(encode(sha256(convert_to(k, 'UTF8')), 'hex'), 40) ELSE k END
        FROM unnest(ARRAY[was ->> key_column, became ->> key_column]) k
        WHERE k IS NOT NULL);
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
    row_key text;
    line accounts_rowchange;
BEGIN
    IF TG_TABLE_SCHEMA <> 'public' THEN
        RAISE EXCEPTION 'history_record keeps tables of the schema public.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    was := was - left_out;
    became := became - left_out;
    IF TG_OP = 'UPDATE' THEN
        SELECT jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value)
            INTO was, became
        FROM jsonb_each(was) o JOIN jsonb_each(became) n USING (key)
        WHERE o.value <> n.value;
        IF was IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    SELECT jsonb_object_agg(e.key, CASE WHEN e.key = ANY (secret) THEN '"…"' ELSE e.value
        END) INTO was FROM jsonb_each(was) e;
    SELECT jsonb_object_agg(e.key, CASE WHEN e.key = ANY (secret) THEN '"…"' ELSE e.value
        END) INTO became FROM jsonb_each(became) e;
    FOREACH row_key IN ARRAY row_keys LOOP
        INSERT INTO accounts_rowchange
            (at, table_name, row_id, operation, before, after, who, source, request_id)
        VALUES (clock_timestamp(), TG_TABLE_NAME, row_key, TG_OP, was, became,
            left(coalesce(author ->> 'who', session_user), 254),
            left(coalesce(author ->> 'from', 'SQL'), 200),
            left(coalesce(author ->> 'request', ''), 100))
        RETURNING * INTO line;
        IF TG_TABLE_NAME = 'otp_totp_totpdevice' OR became IS NOT NULL
            AND TG_TABLE_NAME IN ('accounts_user_groups',
                'accounts_user_user_permissions', 'auth_group_permissions')
            OR TG_TABLE_NAME = 'accounts_user' AND became ?| ARRAY['is_staff',
                'is_superuser', 'is_active', 'password', 'email', 'id'] THEN
            PERFORM accounts_follow_staff(line);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.history_record() FROM PUBLIC;

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE OF partner_id,
        scopes, expires_at, revoked_at, secret_digest, pepper_id
    ON public.accounts_apikey FOR EACH ROW
    EXECUTE FUNCTION public.history_record('last_used_at', 'secret_digest');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT ON public.accounts_bankstatement
    FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT ON public.accounts_holderimport
    FOR EACH ROW EXECUTE FUNCTION public.history_record('created_at', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT ON public.accounts_investorchange
    FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.accounts_partner FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.accounts_pepper FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', 'digest');

CREATE OR REPLACE TRIGGER history_record AFTER DELETE OR UPDATE ON public.accounts_user
    FOR EACH ROW
    EXECUTE FUNCTION public.history_record('last_login updated_at settled_at',
        'password');

CREATE OR REPLACE TRIGGER history_record_staff AFTER INSERT ON public.accounts_user
    FOR EACH ROW WHEN (new.is_staff OR new.is_superuser)
    EXECUTE FUNCTION public.history_record('last_login updated_at settled_at',
        'password');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.accounts_user_groups FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '', 'user_id');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.accounts_user_user_permissions FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '', 'user_id');

CREATE OR REPLACE TRIGGER history_record AFTER DELETE OR UPDATE
    ON public.accounts_userholder FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR UPDATE
    ON public.accounts_withdrawal FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.auth_group FOR EACH ROW EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.auth_group_permissions FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '', 'group_id');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.django_session FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', 'session_key session_data',
        'session_key');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.otp_totp_totpdevice FOR EACH ROW
    EXECUTE FUNCTION
        public.history_record('drift last_t last_used_at throttling_failure_count throttling_failure_timestamp',
        'key', 'user_id');
