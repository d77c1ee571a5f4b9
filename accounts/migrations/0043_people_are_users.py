"""Limits count users, not addresses, which a person may change within a day.

A colleague who is new, or whose access somebody else changed, does nothing alone for 24
hours.
"""

from django.db import migrations

from partnerapi.core.guards import rewritten

# Who changed their address meanwhile is not found by the one that they began with.
PERSON = rewritten(
    "approvals_person()",
    (
        "LIKE 'page %' THEN author ->> 'who'",
        """LIKE 'page %' THEN coalesce((
            SELECT u.id::text FROM accounts_user u WHERE u.email = author ->> 'who'),
            'command')""",
    ),
)
OVER = rewritten(
    "approvals_over(text, text, uuid[], numeric[])",
    (
        "RETURN p.from_amount IS NULL OR EXISTS (",
        """RETURN p.from_amount IS NULL
        OR CASE WHEN who IN ('SQL', 'command') THEN FALSE
            ELSE approvals_rests_until(who::uuid, clock_timestamp()) IS NOT NULL END
        OR EXISTS (""",
    ),
)
BOOKED_BY = rewritten(
    "approvals_of_statement()",
    (
        """
        asker := approvals_person();
""",
        """
        asker := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb ->> 'who';
""",
    ),
)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0042_names_without_accents")]

    operations = [PERSON, OVER, BOOKED_BY]
