"""A traded token's symbol and ISIN, and a grant of every issuer, need two people."""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

IDENTITY = trigger_function(
    "approvals_of_identity",
    "issuers_token",
    """
    PERFORM approvals_use('IDENTITY', jsonb_build_object('token', NEW.id,
        'from', jsonb_build_object('symbol', OLD.symbol, 'isin', OLD.isin),
        'symbol', NEW.symbol, 'isin', NEW.isin), NULL, NEW.id, NULL);
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER approvals_of_identity
    AFTER UPDATE OF symbol, isin ON issuers_token DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.market_type = 'SECONDARY_MARKET'
        AND ROW (OLD.symbol, OLD.isin) IS DISTINCT FROM ROW (NEW.symbol, NEW.isin))
    EXECUTE FUNCTION approvals_of_identity();
"""

GRANT = trigger_function(
    "approvals_of_grant",
    "issuers_issuergrant",
    """
    IF TG_OP = 'UPDATE' AND OLD.issuer_id IS NULL AND OLD.ended_at IS NULL
        AND OLD.partner_id = NEW.partner_id THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('GRANT', jsonb_build_object('partner', NEW.partner_id),
        NULL, NULL, NULL);
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER approvals_of_grant
    AFTER INSERT OR UPDATE ON issuers_issuergrant DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.issuer_id IS NULL AND NEW.ended_at IS NULL)
    EXECUTE FUNCTION approvals_of_grant();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0051_writers_of_before_have_ended"),
        ("accounts", "0036_approvals_of_identities_and_grants"),
    ]

    operations = [
        migrations.RunSQL(
            IDENTITY + GRANT,
            drop(
                "approvals_of_identity()",
                "approvals_of_grant()",
                triggers={
                    "approvals_of_identity": "issuers_token",
                    "approvals_of_grant": "issuers_issuergrant",
                },
            ),
        )
    ]
