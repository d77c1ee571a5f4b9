"""Units that a person or a command moves between accounts need a second person.

Trades need none, nor does SQL that names no author.
"""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

TRANSFERS = trigger_function(
    "approvals_of_transfer",
    "issuers_ledgertransaction",
    """
    IF approvals_person() = 'SQL' THEN
        RETURN NULL;
    END IF;
    """
    + """
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    PERFORM approvals_use('TRANSFER', jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', NULL), NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER approvals_of_transfer
    AFTER INSERT ON issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind IN ('TRANSFER', 'ALLOCATE', 'RETURN') AND NEW.effective_at > transaction_timestamp() - interval '1 day')
    EXECUTE FUNCTION approvals_of_transfer();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0055_countries_of_rules"),
        ("accounts", "0039_approvals_of_transfers"),
    ]

    operations = [
        migrations.RunSQL(
            TRANSFERS,
            drop(
                "approvals_of_transfer()",
                triggers={"approvals_of_transfer": "issuers_ledgertransaction"},
            ),
        ),
    ]
