"""Sign ins sql."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.otp_totp_totpdevice IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_enrol_device()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    is_theirs boolean := TRUE;
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.user_id, NEW.key, NEW.confirmed, NEW.digits, NEW.step, NEW.t0,
                NEW.tolerance) IS NOT DISTINCT FROM (OLD.user_id, OLD.key,
                OLD.confirmed, OLD.digits, OLD.step, OLD.t0, OLD.tolerance) THEN
            RETURN NEW;
        END IF;
        is_theirs := NEW.user_id = OLD.user_id;
    ELSIF TG_OP = 'INSERT' AND author IS NULL AND NOT NEW.confirmed THEN
        RETURN NEW;
    END IF;
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_user u WHERE u.id = coalesce(NEW.user_id, OLD.user_id)
        AND u.email = author ->> 'who' AND is_theirs;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A second factor is enrolled by its owner only: two people reset '
            'a sign-in, and then the owner enrols another.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
REVOKE ALL ON FUNCTION public.accounts_enrol_device() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sign_in_check_owner(person uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    PERFORM FROM accounts_user u
        WHERE u.id = person AND u.is_staff AND u.email = author ->> 'who';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Only their owner makes and uses recovery codes.'
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_check_owner(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sign_in_make_codes(person uuid, digests text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM accounts_read_committed();
    PERFORM sign_in_check_owner(person);
    DELETE FROM accounts_recoverycode c WHERE c.person_id = person;
    INSERT INTO accounts_recoverycode (person_id, digest, made_at)
    SELECT person, d, clock_timestamp() FROM unnest(digests) AS d;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_make_codes(uuid, text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sign_in_reset(person uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    used := approvals_use('SIGN_IN', jsonb_build_object('person', person), NULL, NULL,
        NULL);
    IF used IS NULL THEN
        RAISE EXCEPTION 'The reset of a sign-in always needs an approval by a second '
            'person.' USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM accounts_recoverycode c WHERE c.person_id = person;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_reset(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.sign_in_use_code(person uuid, digest text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM accounts_read_committed();
    PERFORM sign_in_check_owner(person);
    UPDATE accounts_recoverycode c SET used_at = clock_timestamp()
        WHERE c.person_id = person AND c.digest = digest AND c.used_at IS NULL;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    DELETE FROM otp_totp_totpdevice d WHERE d.user_id = person;
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.sign_in_use_code(uuid, text) FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_device BEFORE DELETE ON public.otp_totp_totpdevice FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_enrol_device();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.otp_totp_totpdevice IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_enrol_device()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    is_theirs boolean := TRUE;
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.user_id, NEW.key, NEW.confirmed, NEW.digits, NEW.step, NEW.t0,
                NEW.tolerance) IS NOT DISTINCT FROM (OLD.user_id, OLD.key,
                OLD.confirmed, OLD.digits, OLD.step, OLD.t0, OLD.tolerance) THEN
            RETURN NEW;
        END IF;
        is_theirs := NEW.user_id = OLD.user_id;
    ELSIF author IS NULL AND NOT NEW.confirmed THEN
        RETURN NEW;
    END IF;
    PERFORM FROM accounts_user u
        WHERE u.id = NEW.user_id AND u.email = author ->> 'who' AND is_theirs;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A second factor is enrolled by its owner only: remove it, and '
            'they enrol another when they sign in.' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_enrol_device() FROM PUBLIC;

DROP TRIGGER accounts_keep_device ON public.otp_totp_totpdevice;

DROP FUNCTION public.sign_in_check_owner(uuid);

DROP FUNCTION public.sign_in_make_codes(uuid, text[]);

DROP FUNCTION public.sign_in_reset(uuid);

DROP FUNCTION public.sign_in_use_code(uuid, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0071_sign_ins"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
