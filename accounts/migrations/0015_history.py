"""Keeps what people edit as it was before, and who changed it."""

from django.db import migrations

from partnerapi.core.guards import history_of

# Functions of any table call it; the rights of its own table guard it. The columns
# named first are left out, of those named second it is only said that they changed.
RECORD = """
CREATE FUNCTION history_record() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    became jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    row_key text := coalesce(became, was) ->> 'id';
    left_out text[] := string_to_array(TG_ARGV[0], ' ');
    secret text[] := string_to_array(TG_ARGV[1], ' ');
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
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
    INSERT INTO accounts_rowchange
        (at, table_name, row_id, operation, before, after, who, source, request_id)
    VALUES (clock_timestamp(), TG_TABLE_NAME, row_key, TG_OP, was, became,
        left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200),
        left(coalesce(author ->> 'request', ''), 100));
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION history_record() FROM PUBLIC;

CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_rowchange FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_rowchange")]

    operations = [
        migrations.RunSQL(
            RECORD,
            "DROP TRIGGER accounts_refuse_change ON accounts_rowchange;"
            "DROP FUNCTION history_record()",
        ),
        # Imports make users and their profiles, and keep their files' digests.
        history_of(
            "accounts_user",
            "UPDATE OR DELETE",
            left_out="last_login updated_at settled_at",
            secret="password",
        ),
        history_of("accounts_userholder", "UPDATE OR DELETE"),
        history_of("accounts_partner"),
        history_of(
            "accounts_apikey",
            "INSERT OR UPDATE OF partner_id, scopes, expires_at, revoked_at OR DELETE",
            left_out="last_used_at pepper_id",
            secret="secret_digest",
        ),
    ]
