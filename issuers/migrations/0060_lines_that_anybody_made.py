"""A line needs two people where its maker may be anybody.

Lines from before have no makers. Nor is a person who rests a second one: the colleague that
changed their access may have made the line.
"""

from django.db import migrations

from partnerapi.core.guards import rewritten, trigger_function

NOTE_BEFORE = trigger_function(
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
)
NOTE = trigger_function(
    "delivery_note_makers",
    "issuers_legacyshareholder",
    """
    IF TG_OP = 'UPDATE'
        AND ROW (NEW.issuer_id, NEW.user_id, NEW.token_id, NEW.number_of_shares)
        IS NOT DISTINCT FROM
        ROW (OLD.issuer_id, OLD.user_id, OLD.token_id, OLD.number_of_shares) THEN
        NEW.makers := OLD.makers;
        RETURN NEW;
    END IF;
    IF maker NOT IN ('SQL', 'command') THEN
        IF approvals_rests_until(maker::uuid, clock_timestamp()) IS NOT NULL THEN
            maker := 'command';
        END IF;
    END IF;
    NEW.makers := CASE WHEN TG_OP = 'INSERT' THEN ARRAY[maker]
        WHEN maker = ANY (OLD.makers) THEN OLD.makers ELSE OLD.makers || maker END;
    RETURN NEW;
    """,
    declare="maker text := approvals_person();",
)


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0059_imports_are_kept"),
        ("accounts", "0043_people_are_users"),
    ]

    operations = [
        rewritten(
            "delivery_is_own(text[], text)",
            ("who <> 'SQL' AND (who", "who <> 'SQL' AND (makers = '{}' OR who"),
        ),
        migrations.RunSQL(NOTE, NOTE_BEFORE),
    ]
