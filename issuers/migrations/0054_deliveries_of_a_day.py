"""Deliveries count by person, issuer and day; who made a line has a second person."""

from django.db import migrations

from partnerapi.core.guards import drop, function, rewritten, trigger_function

# Who delivers may be who made a line where both are one person, or one of them is a
# command. SQL that names no author is neither.
OWN = function(
    "delivery_is_own(makers text[], who text)",
    "boolean",
    """
    RETURN who <> 'SQL' AND (who = ANY (makers) OR 'command' = ANY (makers)
        OR who = 'command' AND makers <> '{}' AND makers <> '{SQL}');
    """,
)

NOTE = trigger_function(
    "delivery_note_makers",
    "issuers_legacyshareholder",
    """
    IF TG_OP = 'INSERT' THEN
        NEW.makers := ARRAY[approvals_person()];
    ELSIF ROW (NEW.issuer_id, NEW.user_id, NEW.token_id, NEW.number_of_shares)
        IS NOT DISTINCT FROM
        ROW (OLD.issuer_id, OLD.user_id, OLD.token_id, OLD.number_of_shares)
        OR approvals_person() = ANY (OLD.makers) THEN
        NEW.makers := OLD.makers;
    ELSE
        NEW.makers := OLD.makers || approvals_person();
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER delivery_note_makers BEFORE INSERT OR UPDATE OF issuer_id, user_id,
    token_id, number_of_shares, makers ON issuers_legacyshareholder
    FOR EACH ROW EXECUTE FUNCTION delivery_note_makers();
"""

USED = """
    PERFORM approvals_use('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        shares, NULL, NULL);
"""
USED_EACH = """
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = NEW.id
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        issuers, amounts, NULL, NULL);
"""
RELEASE = rewritten(
    "approvals_of_delivery()",
    (USED.rstrip(), USED_EACH.rstrip()),
    ("shares numeric;", "shares numeric;\n    issuers uuid[];\n    amounts numeric[];"),
)


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0053_makers_of_legacy_lines"),
        ("accounts", "0031_sole_amounts"),
    ]

    operations = [
        migrations.RunSQL(
            OWN + NOTE,
            drop(
                "delivery_note_makers()",
                "delivery_is_own(text[], text)",
                triggers={"delivery_note_makers": "issuers_legacyshareholder"},
            ),
        ),
        RELEASE,
    ]
