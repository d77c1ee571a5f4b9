"""What is known of users as investors: attestations, profiles and their history."""

import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

from partnerapi.core.guards import drop, history_of, trigger_function

RESTRICTED = "USING ERRCODE = 'restrict_violation'"
VERIFICATIONS = {
    "NONE": "None",
    "PENDING": "Pending",
    "VERIFIED": "Verified",
    "REFUSED": "Refused",
}
CLASSES = {
    "RETAIL": "Retail",
    "INFORMED": "Informed",
    "PROFESSIONAL": "Professional",
    "ELIGIBLE_COUNTERPARTY": "Eligible counterparty",
}

REFUSE_CHANGE = "".join(
    f"""
CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_{table} FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""
    for table in ("investorattestation", "investorchange")
)

ATTEST = trigger_function(
    "accounts_attest",
    "accounts_investorattestation",
    f"""
    IF NOT EXISTS (SELECT FROM accounts_account a WHERE a.id = NEW.account_id
            AND a.user_id = NEW.user_id AND a.partner_id = NEW.partner_id) THEN
        RAISE EXCEPTION 'A partner attests of the user of an account of its own.'
            {RESTRICTED};
    END IF;
    NEW.created_at := clock_timestamp();
    RETURN NEW;
    """,
) + """
CREATE TRIGGER accounts_attest BEFORE INSERT ON accounts_investorattestation
    FOR EACH ROW EXECUTE FUNCTION accounts_attest();
"""

# A partner that may attest raises or renews a profile, and lowers what it attested
# itself. Everything else is staff's.
FOLLOW = trigger_function(
    "accounts_follow_investor",
    "accounts_investorchange",
    f"""
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    SELECT * INTO before FROM accounts_investorprofile p WHERE p.user_id = NEW.user_id;
    IF NEW.number <> coalesce(before.changes, 0) + 1 THEN
        RAISE EXCEPTION 'The next change of a profile has the next number: % of %.',
            NEW.number, NEW.user_id {RESTRICTED};
    END IF;
    IF NEW.attestation_id IS NOT NULL THEN
        SELECT * INTO STRICT attested FROM accounts_investorattestation
            WHERE id = NEW.attestation_id;
        IF attested.user_id <> NEW.user_id
            OR attested.partner_id IS DISTINCT FROM NEW.partner_id THEN
            RAISE EXCEPTION 'Attestation % is of another user, or partner.',
                attested.id {RESTRICTED};
        END IF;
    END IF;
    NEW.created_at := greatest(clock_timestamp(), before.updated_at);
    IF NOT coalesce(CASE WHEN NEW.is_staff THEN EXISTS (SELECT FROM accounts_user u
                WHERE u.email = NEW.actor AND u.is_staff AND u.is_active)
            ELSE NEW.actor = (
                SELECT login FROM accounts_partner WHERE id = NEW.partner_id) AND
            (SELECT may_attest FROM accounts_partner WHERE id = NEW.partner_id)
            AND ROW (attested.verification, attested.verified_until,
                attested.tax_country_id, attested.investor_class)
                IS NOT DISTINCT FROM ROW (NEW.verification, NEW.verified_until,
                    NEW.tax_country_id, NEW.investor_class)
            AND (before.partner_id IS NOT DISTINCT FROM NEW.partner_id
                OR accounts_raises(before.verification, before.verified_until,
                    before.tax_country_id, before.investor_class, NEW.verification,
                    NEW.verified_until, NEW.tax_country_id, NEW.investor_class))
            END, FALSE) THEN
        RAISE EXCEPTION 'Staff change a profile, or a partner that may attest raises or '
            'renews it: attestation %.', NEW.attestation_id {RESTRICTED};
    END IF;
    INSERT INTO accounts_investorprofile (user_id, verification, verified_until,
        tax_country_id, investor_class, evidence, partner_id, changes, updated_at)
    VALUES (NEW.user_id, NEW.verification, NEW.verified_until, NEW.tax_country_id,
        NEW.investor_class, NEW.evidence, NEW.partner_id, NEW.number, NEW.created_at)
    ON CONFLICT (user_id) DO UPDATE SET verification = excluded.verification,
        verified_until = excluded.verified_until,
        tax_country_id = excluded.tax_country_id,
        investor_class = excluded.investor_class, evidence = excluded.evidence,
        partner_id = excluded.partner_id, changes = excluded.changes,
        updated_at = excluded.updated_at;
    RETURN NEW;
    """,
    declare="before accounts_investorprofile;\n"
    "    attested accounts_investorattestation;",
) + """
CREATE TRIGGER accounts_follow_investor BEFORE INSERT ON accounts_investorchange
    FOR EACH ROW EXECUTE FUNCTION accounts_follow_investor();
"""

# No fact is weaker than it was: also what Python asks before it writes.
RAISES = """
CREATE FUNCTION accounts_raises(was text, was_until timestamptz, was_country text,
    was_class text, verification text, verified_until timestamptz, country text,
    class text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public AS $$
    SELECT verification = 'VERIFIED' AND coalesce(was, 'NONE') <> 'REFUSED'
        AND (was_country IS NULL OR was_country = country)
        AND array_position(classes, class) >= array_position(classes,
            coalesce(was_class, 'RETAIL'))
        AND (coalesce(was, 'NONE') <> 'VERIFIED' OR coalesce(verified_until, 'infinity')
            >= coalesce(was_until, 'infinity'))
    FROM (VALUES (ARRAY['RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY']
        )) AS v (classes)
$$;
"""


def facts():
    return (
        (
            "verification",
            models.CharField(choices=[*VERIFICATIONS.items()], max_length=8),
        ),
        (
            "verified_until",
            models.DateTimeField(
                blank=True,
                null=True,
                help_text="Empty: the verification does not end.",
            ),
        ),
        (
            "tax_country",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.country",
            ),
        ),
        (
            "investor_class",
            models.CharField(
                choices=[*CLASSES.items()], default="RETAIL", max_length=21
            ),
        ),
        (
            "evidence",
            models.CharField(
                blank=True,
                help_text="Where the evidence is kept; never the evidence itself.",
                max_length=200,
            ),
        ),
    )


def known(model):
    return models.CheckConstraint(
        condition=models.Q(verification__in=[*VERIFICATIONS])
        & models.Q(investor_class__in=[*CLASSES]),
        name=f"{model}_facts_are_known",
    )


def key(to, **options):
    options = {"db_index": False, "related_name": "+"} | options
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT, to=to, **options
    )


ID = models.UUIDField(
    default=uuid_utils.compat.uuid7,
    editable=False,
    primary_key=True,
    serialize=False,
)
CREATED_AT = models.DateTimeField(db_default=Now(), editable=False)
KINDS = {
    "MINT": "Mint",
    "BURN": "Burn",
    "FORCED_TRANSFER": "Forced transfer",
    "REVERSAL": "Reversal",
    "PRICE": "Price",
    "DELIVERY": "Delivery of legacy shares",
    "KEY": "API key",
    "CLOSING": "Closing of an account",
    "WITHDRAWAL": "Withdrawal of cash",
    "ASSIGNMENT": "Assignment of unknown money",
    "RULE": "Rule of a token",
    "LIFTING": "Lifting of a restriction",
}


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_cash_accounts")]

    operations = [
        migrations.CreateModel(
            "InvestorAttestation",
            [
                *facts(),
                ("id", ID),
                ("account", key("accounts.account")),
                ("user", key(settings.AUTH_USER_MODEL, related_name="attestations")),
                ("partner", key("accounts.partner")),
                ("created_at", CREATED_AT),
            ],
            options={
                "abstract": False,
                "indexes": [
                    models.Index(fields=["user", "created_at"], name="attested_of_user")
                ],
                "constraints": [known("investorattestation")],
            },
        ),
        migrations.CreateModel(
            "InvestorProfile",
            [
                *facts(),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="investor",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("partner", key("accounts.partner", null=True)),
                (
                    "changes",
                    models.PositiveIntegerField(help_text="Entries of its history."),
                ),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "abstract": False,
                "constraints": [known("investorprofile")],
            },
        ),
        migrations.CreateModel(
            "InvestorChange",
            [
                *facts(),
                ("id", ID),
                (
                    "user",
                    key(settings.AUTH_USER_MODEL, related_name="investor_changes"),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "attestation",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="change",
                        to="accounts.investorattestation",
                    ),
                ),
                ("partner", key("accounts.partner", null=True)),
                (
                    "actor",
                    models.CharField(
                        help_text="A partner's login, or a member of staff's e-mail.",
                        max_length=254,
                    ),
                ),
                ("is_staff", models.BooleanField()),
                ("created_at", CREATED_AT),
            ],
            options={
                "ordering": ["user", "number"],
                "abstract": False,
                "constraints": [
                    known("investorchange"),
                    models.UniqueConstraint(
                        fields=["user", "number"], name="investor_changes_are_numbered"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(partner__isnull=True)
                        | models.Q(attestation__isnull=False),
                        name="partner_changes_by_attestation",
                    ),
                ],
            },
        ),
        *(
            migrations.AlterField(
                model,
                "kind",
                models.CharField(choices=[*KINDS.items()], max_length=20, **options),
            )
            for model, options in (
                ("approvalpolicy", {"primary_key": True, "serialize": False}),
                ("approvalrequest", {"editable": False}),
            )
        ),
        migrations.AlterModelOptions(
            "approvalrequest",
            {
                "permissions": [
                    *((f"file_{k.lower()}", f"Can ask for: {v}") for k, v in KINDS.items()),
                    *((f"decide_{k.lower()}", f"Can decide: {v}") for k, v in KINDS.items()),
                ]
            },
        ),
        migrations.RunSQL(
            REFUSE_CHANGE + ATTEST + RAISES + FOLLOW,
            drop(
                "accounts_attest()",
                "accounts_follow_investor()",
                "accounts_raises(text, timestamptz, text, text, text, timestamptz,"
                " text, text)",
                triggers={
                    "accounts_attest": "accounts_investorattestation",
                    "accounts_follow_investor": "accounts_investorchange",
                },
            )
            + "DROP TRIGGER accounts_refuse_change ON accounts_investorattestation;"
            "DROP TRIGGER accounts_refuse_change ON accounts_investorchange",
        ),
        history_of("accounts_investorchange", "INSERT"),
    ]
