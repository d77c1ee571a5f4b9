from django.db import migrations

KEEP_DELIVERED = """
CREATE FUNCTION register_keep_delivered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

CREATE TRIGGER register_keep_delivered BEFORE INSERT OR UPDATE OR DELETE
    ON issuers_legacyshareholder
    FOR EACH ROW EXECUTE FUNCTION register_keep_delivered();
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0004_legacy_delivery")]

    operations = [
        migrations.RunSQL(
            KEEP_DELIVERED,
            "DROP TRIGGER register_keep_delivered ON issuers_legacyshareholder;"
            "DROP FUNCTION register_keep_delivered()",
        ),
    ]
