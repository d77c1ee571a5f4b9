"""Contract: each grant needs two people, not only one of every issuer.

One person who gives a partner one issuer after the other has opened every register.
"""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

GRANT_BEFORE = trigger_function(
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
GRANT = trigger_function(
    "approvals_of_grant",
    "issuers_issuergrant",
    """
    IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND (OLD.partner_id, OLD.issuer_id)
        IS NOT DISTINCT FROM (NEW.partner_id, NEW.issuer_id) THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('GRANT', jsonb_strip_nulls(jsonb_build_object(
        'partner', NEW.partner_id, 'issuer', NEW.issuer_id)), NULL, NULL, NULL);
    RETURN NULL;
    """,
)
TRIGGER = """
DROP TRIGGER approvals_of_grant ON issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant
    AFTER INSERT OR UPDATE ON issuers_issuergrant DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.ended_at IS NULL)
    EXECUTE FUNCTION approvals_of_grant();
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0056_approvals_of_transfers")]

    operations = [
        migrations.RunSQL(
            GRANT + TRIGGER,
            drop(triggers={"approvals_of_grant": "issuers_issuergrant"})
            + GRANT_BEFORE,
        )
    ]
