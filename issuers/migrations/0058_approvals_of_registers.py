"""A register that comes with its issuer, by an import, needs two people."""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

# Its entries need none each: an issuer of this transaction has no holders yet. SQL
# that names no author needs none either, as for transfers.
REGISTER = trigger_function(
    "approvals_of_register",
    "issuers_issuer",
    """
    SELECT jsonb_object_agg(t.symbol, h.supply::text) INTO supplies
        FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        WHERE t.issuer_id = NEW.id AND h.last_seq > 0;
    IF supplies IS NOT NULL AND approvals_person() <> 'SQL' THEN
        PERFORM approvals_use('REGISTER', jsonb_build_object('issuer', NEW.id,
            'owner', NEW.owner_id, 'name', NEW.trading_name, 'supplies', supplies),
            NULL, NULL, NULL);
    END IF;
    RETURN NULL;
    """,
    declare="supplies jsonb;",
) + """
CREATE CONSTRAINT TRIGGER approvals_of_register
    AFTER INSERT ON issuers_issuer DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION approvals_of_register();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0057_approvals_of_grants"),
        ("accounts", "0040_approvals_of_registers"),
    ]

    operations = [
        migrations.RunSQL(
            REGISTER,
            drop(
                "approvals_of_register()",
                triggers={"approvals_of_register": "issuers_issuer"},
            ),
        )
    ]
