from django.db import migrations

KEEP_HOLDER = """
CREATE FUNCTION register_keep_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE holder_id = OLD.id) THEN
        RAISE EXCEPTION 'Holder profile % has an account in the register and stays its '
            'user''s. Units that are another user''s are transferred to that user.',
            OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER register_keep_holder BEFORE UPDATE ON accounts_userholder
    FOR EACH ROW WHEN (NEW.user_id <> OLD.user_id)
    EXECUTE FUNCTION register_keep_holder();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_account_accountstatuschange_and_more"),
        ("issuers", "0008_delivery_steps"),
    ]

    operations = [
        migrations.RunSQL(
            KEEP_HOLDER,
            "DROP TRIGGER register_keep_holder ON accounts_userholder;"
            "DROP FUNCTION register_keep_holder()",
        ),
    ]
