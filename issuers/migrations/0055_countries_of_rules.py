"""A rule names countries that there are."""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

COUNTRIES = trigger_function(
    "compliance_know_countries",
    "issuers_tokenrule",
    """
    SELECT string_agg(named.code, ', ') INTO unknown
    FROM jsonb_path_query(NEW.parameters, '$.*[*]') AS said (code)
    CROSS JOIN LATERAL (SELECT said.code #>> '{}' AS code) AS named
    WHERE NOT EXISTS (SELECT FROM accounts_country c WHERE c.code = named.code);
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'A rule names countries by ISO 3166-1: %.', unknown
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
    """,
    declare="unknown text;",
) + """
CREATE TRIGGER compliance_know_countries AFTER INSERT ON issuers_tokenrule
    FOR EACH ROW WHEN (NEW.kind = 'COUNTRIES')
    EXECUTE FUNCTION compliance_know_countries();
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0054_deliveries_of_a_day")]

    operations = [
        migrations.RunSQL(
            COUNTRIES,
            drop(
                "compliance_know_countries()",
                triggers={"compliance_know_countries": "issuers_tokenrule"},
            ),
        )
    ]
