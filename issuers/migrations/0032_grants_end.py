"""Lets grants end: none is deleted, and one that ended tells its partner nothing."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

from partnerapi.core.guards import drop, trigger_function

events = import_module("issuers.migrations.0016_events")
identities = import_module("issuers.migrations.0013_identities_stay")

NUMBER = identities.functions_of(events.NUMBER)
OF_ALL = "AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)"
OF_LIVE = f"AND g.ended_at IS NULL {OF_ALL}"

KEEP_GRANTS = trigger_function(
    "register_keep_grants",
    "issuers_issuergrant",
    f"""
    RAISE EXCEPTION 'Grant % stays with its partner and its issuer, and is not deleted. '
        'Set ended_at.', OLD.id {identities.RESTRICTED};
    """,
) + """
CREATE TRIGGER register_keep_grants BEFORE UPDATE ON issuers_issuergrant
    FOR EACH ROW WHEN (NEW.id <> OLD.id OR NEW.partner_id <> OLD.partner_id
        OR NEW.issuer_id IS DISTINCT FROM OLD.issuer_id)
    EXECUTE FUNCTION register_keep_grants();
CREATE TRIGGER register_delete_no_grant BEFORE DELETE ON issuers_issuergrant
    FOR EACH ROW EXECUTE FUNCTION register_keep_grants();
"""
REMOVED = drop(
    "register_keep_grants()",
    triggers={
        "register_keep_grants": "issuers_issuergrant",
        "register_delete_no_grant": "issuers_issuergrant",
    },
)


class Migration(migrations.Migration):
    dependencies = [("issuers", "0031_delivery_progress")]

    operations = [
        migrations.AddField(
            "issuergrant", "ended_at", models.DateTimeField(editable=False, null=True)
        ),
        migrations.AlterField(
            "issuergrant",
            "created_at",
            models.DateTimeField(
                db_default=Now(),
                editable=False,
                help_text="When it was given, or given again.",
            ),
        ),
        migrations.AlterField(
            "issuergrant",
            "partner",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="grants",
                to="accounts.partner",
            ),
        ),
        migrations.AlterField(
            "issuergrant",
            "issuer",
            models.ForeignKey(
                blank=True,
                help_text="Empty: every issuer.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="grants",
                to="issuers.issuer",
            ),
        ),
        migrations.RunSQL(
            identities.replaced(NUMBER, (OF_ALL, OF_LIVE)) + KEEP_GRANTS,
            # The release before takes each row for a grant that lives.
            REMOVED
            + "DELETE FROM issuers_issuergrant WHERE ended_at IS NOT NULL;"
            + NUMBER,
        ),
    ]
