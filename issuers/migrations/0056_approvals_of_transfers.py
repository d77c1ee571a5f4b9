"""Units that a person or a command moves between accounts need a second person.

Trades need none, nor does SQL that names no author.
"""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

before = import_module("issuers.migrations.0025_approvals")

TRANSFERS = trigger_function(
    "approvals_of_transfer",
    "issuers_ledgertransaction",
    """
    IF approvals_person() = 'SQL' THEN
        RETURN NULL;
    END IF;
    """
    + before.OF_ANOTHER_TRANSACTION
    + """
    PERFORM approvals_use('TRANSFER', jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', NULL), NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
    """,
) + f"""
CREATE CONSTRAINT TRIGGER approvals_of_transfer
    AFTER INSERT ON issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind IN ('TRANSFER', 'ALLOCATE', 'RETURN') AND {before.NOT_HISTORY})
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
