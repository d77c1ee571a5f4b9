"""Makes the events of partners, and the triggers that write and number them."""

from importlib import import_module

import django.db.models.deletion
import uuid_utils.compat
from django.db import migrations, models

from partnerapi.core.guards import drop, function, trigger_function

guards = import_module("issuers.migrations.0003_register_guards")

THIS = "pg_current_xact_id()::text::bigint"
# Who is told of a row of what happened; every partner has a head.
TOLD = """(
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    )"""
NUMBER = (
    trigger_function(
        "events_open_head",
        "accounts_partner",
        """
    INSERT INTO issuers_eventhead (partner_id, last_sequence, pruned_sequence)
        VALUES (NEW.id, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
        """,
    )
    # Deferred triggers that wait already do their work first. Some of them take locks,
    # and none may be waited for by who holds the heads: so this one only puts the
    # numbering behind them.
    + trigger_function(
        "events_announce",
        "issuers_unnumberedevent",
        """
    UPDATE issuers_unnumberedevent SET leads = TRUE WHERE id = NEW.id;
    RETURN NULL;
        """,
        settings="SET enable_seqscan = off",
    )
    # The first one called numbers all that the transaction did, the others find their
    # row gone. Who gives or takes a grant waits for all who number by grants, and they
    # for it: so a partner is told of whatever is committed after its grant, and can
    # read whatever was before it.
    + trigger_function(
        "events_number",
        "issuers_unnumberedevent",
        f"""
    SELECT bool_or(type = 'GRANT_CHANGED'), bool_or(audience = 'GRANTED')
    INTO gives, asks FROM issuers_unnumberedevent
    WHERE transaction = {THIS}
        AND EXISTS (SELECT FROM issuers_unnumberedevent WHERE id = NEW.id);
    IF gives IS NULL THEN
        RETURN NULL;
    ELSIF gives THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF asks THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    PERFORM FROM issuers_eventhead WHERE partner_id IN (
            SELECT p.id FROM issuers_unnumberedevent u CROSS JOIN LATERAL {TOLD} p
            WHERE u.transaction = {THIS})
        ORDER BY partner_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM issuers_unnumberedevent WHERE transaction = {THIS};
        RETURN NULL;
    END IF;
    taken := clock_timestamp();
    WITH happened AS (
        DELETE FROM issuers_unnumberedevent WHERE transaction = {THIS} RETURNING *
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence)
        SELECT gen_random_uuid(), h.partner_id, h.last_sequence + row_number() OVER (
                PARTITION BY h.partner_id ORDER BY u.id),
            u.type, greatest(h.last_at, taken), u.subject_id, u.issuer_id, u.token_id,
            u.account_id, u.ledger_sequence
        FROM happened u CROSS JOIN LATERAL {TOLD} p
        JOIN issuers_eventhead h ON h.partner_id = p.id
        RETURNING partner_id, sequence, at
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    RETURN NULL;
        """,
        declare="gives boolean;\n    asks boolean;\n    taken timestamptz;",
        settings=guards.BY_INDEX,
    )
    + """
CREATE TRIGGER events_open_head AFTER INSERT ON accounts_partner
    FOR EACH ROW EXECUTE FUNCTION events_open_head();
CREATE CONSTRAINT TRIGGER events_announce AFTER INSERT ON issuers_unnumberedevent
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.leads)
    EXECUTE FUNCTION events_announce();
CREATE CONSTRAINT TRIGGER events_number AFTER UPDATE OF leads
    ON issuers_unnumberedevent
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION events_number();
INSERT INTO issuers_eventhead (partner_id, last_sequence, pruned_sequence)
    SELECT id, 0, 0 FROM accounts_partner;
ALTER TABLE issuers_unnumberedevent SET UNLOGGED;
"""
)

TELL = f"""
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT {THIS}, row_number() OVER () = 1,"""
ONCE = """
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
"""
WRITTEN = (
    trigger_function(
        "events_account_changed",
        "accounts_accountstatuschange",
        f"""{TELL} 'PARTNER', a.partner_id, 'ACCOUNT_STATUS_CHANGED', a.id,
        NULL::uuid, NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id {ONCE}""",
        settings=guards.BY_INDEX,
    )
    + trigger_function(
        "events_key_changed",
        "accounts_apikey",
        f"""{TELL} 'PARTNER', coalesce(NEW.partner_id, OLD.partner_id), 'KEY_CHANGED',
        NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::bigint {ONCE}""",
    )
    + trigger_function(
        "events_grant_changed",
        "issuers_issuergrant",
        f"""{TELL} 'PARTNER', g.partner_id, 'GRANT_CHANGED', g.issuer_id, g.issuer_id,
        NULL::uuid, NULL::uuid, NULL::bigint
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g {ONCE}""",
    )
    # A line that is delivered never changes again.
    + trigger_function(
        "events_legacy_delivered",
        "issuers_legacyshareholder",
        f"""{TELL} 'GRANTED', NULL::uuid, 'LEGACY_SHARES_DELIVERED', e.id, e.issuer_id,
        e.token_id, NULL::uuid, e.ledger_seq
    FROM entered e WHERE e.status = 'DELIVERED' ORDER BY e.ledger_seq {ONCE}""",
    )
    + trigger_function(
        "events_register_changed",
        "issuers_ledgertransaction",
        f"""{TELL} 'GRANTED', NULL::uuid, 'REGISTER_CHANGED', e.token_id, t.issuer_id,
        e.token_id, NULL::uuid, e.seq
    FROM (SELECT token_id, max(seq) AS seq FROM entered GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id {ONCE}""",
        settings=guards.BY_INDEX,
    )
    + trigger_function(
        "events_price_changed",
        "issuers_tokenprice",
        f"""{TELL} CASE t.visibility WHEN 'PUBLIC' THEN 'ALL' ELSE 'GRANTED' END,
        NULL::uuid, 'TOKEN_PRICE_CHANGED', e.token_id, t.issuer_id, e.token_id,
        NULL::uuid, NULL::bigint
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id {ONCE}""",
        settings=guards.BY_INDEX,
    )
    + trigger_function(
        "events_figures_changed",
        "issuers_issuerfinancialdata",
        f"""
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;{TELL} 'ALL', NULL::uuid, 'FINANCIAL_DATA_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint {ONCE}""",
    )
    + trigger_function(
        "events_article_changed",
        "issuers_article",
        f"""
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;{TELL} 'ALL', NULL::uuid, 'ARTICLE_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint {ONCE}""",
    )
    + """
CREATE TRIGGER events_account_changed AFTER INSERT ON accounts_accountstatuschange
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION events_account_changed();
CREATE TRIGGER events_key_changed AFTER INSERT OR DELETE ON accounts_apikey
    FOR EACH ROW EXECUTE FUNCTION events_key_changed();
CREATE TRIGGER events_key_rights_changed
    AFTER UPDATE OF scopes, expires_at, revoked_at ON accounts_apikey
    FOR EACH ROW WHEN ((OLD.scopes, OLD.expires_at, OLD.revoked_at)
        IS DISTINCT FROM (NEW.scopes, NEW.expires_at, NEW.revoked_at))
    EXECUTE FUNCTION events_key_changed();
CREATE TRIGGER events_grant_changed AFTER INSERT OR UPDATE OR DELETE
    ON issuers_issuergrant
    FOR EACH ROW EXECUTE FUNCTION events_grant_changed();
CREATE TRIGGER events_legacy_delivered AFTER UPDATE ON issuers_legacyshareholder
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION events_legacy_delivered();
CREATE TRIGGER events_register_changed AFTER INSERT ON issuers_ledgertransaction
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION events_register_changed();
CREATE TRIGGER events_price_changed AFTER INSERT ON issuers_tokenprice
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION events_price_changed();
CREATE TRIGGER events_figures_changed AFTER INSERT OR UPDATE OR DELETE
    ON issuers_issuerfinancialdata
    FOR EACH ROW EXECUTE FUNCTION events_figures_changed();
CREATE TRIGGER events_article_changed AFTER INSERT OR UPDATE OR DELETE
    ON issuers_article
    FOR EACH ROW EXECUTE FUNCTION events_article_changed();
"""
)
TRIGGERS = {
    "events_account_changed": {
        "events_account_changed": "accounts_accountstatuschange"
    },
    "events_key_changed": {
        "events_key_changed": "accounts_apikey",
        "events_key_rights_changed": "accounts_apikey",
    },
    "events_grant_changed": {"events_grant_changed": "issuers_issuergrant"},
    "events_legacy_delivered": {"events_legacy_delivered": "issuers_legacyshareholder"},
    "events_register_changed": {"events_register_changed": "issuers_ledgertransaction"},
    "events_price_changed": {"events_price_changed": "issuers_tokenprice"},
    "events_figures_changed": {"events_figures_changed": "issuers_issuerfinancialdata"},
    "events_article_changed": {"events_article_changed": "issuers_article"},
}

ANNOUNCE = function(
    "events_announce_articles()",
    "bigint",
    f"""
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id)
    SELECT {THIS}, row_number() OVER () = 1, 'ALL', 'ARTICLE_PUBLISHED', a.id,
        a.issuer_id
    FROM come JOIN issuers_article a ON a.id = come.article_id ORDER BY a.published_at;
    GET DIAGNOSTICS announced = ROW_COUNT;
    RETURN announced;
    """,
    declare="announced bigint;",
)
# The time of events grows with their numbers, so what is old enough is a beginning.
PRUNE = function(
    "events_prune(days integer, most integer)",
    "bigint",
    """
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    DELETE FROM issuers_event WHERE partner_id = head.partner_id
        AND sequence > head.pruned_sequence AND sequence <= until;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
    """,
    declare="old timestamptz;\n    head issuers_eventhead;\n    until bigint;\n"
    "    deleted bigint;",
    settings=guards.BY_INDEX,
)
TO_COME = """
INSERT INTO issuers_articletocome (article_id, published_at)
SELECT id, published_at FROM issuers_article WHERE published_at > clock_timestamp();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_recorded_status_changes'),
        ('issuers', '0015_issuer_terms'),
    ]

    operations = [
        migrations.CreateModel(
            name='ArticleToCome',
            fields=[
                ('article_id', models.UUIDField(primary_key=True, serialize=False)),
                ('published_at', models.DateTimeField(db_index=True)),
            ],
            options={
                'verbose_name_plural': 'articles to come',
            },
        ),
        migrations.CreateModel(
            name='EventHead',
            fields=[
                ('partner', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='accounts.partner')),
                ('last_sequence', models.BigIntegerField(default=0)),
                ('pruned_sequence', models.BigIntegerField(default=0)),
                ('last_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='UnnumberedEvent',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('transaction', models.BigIntegerField()),
                ('leads', models.BooleanField(help_text="Whether it is the first of its statement, on whose account the transaction's are numbered.")),
                ('audience', models.CharField(choices=[('PARTNER', 'One partner'), ('GRANTED', 'Partners with a grant for the issuer'), ('ALL', 'All partners')], max_length=7)),
                ('partner_id', models.UUIDField(null=True)),
                ('type', models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed')], max_length=30)),
                ('subject_id', models.UUIDField(null=True)),
                ('issuer_id', models.UUIDField(null=True)),
                ('token_id', models.UUIDField(null=True)),
                ('account_id', models.UUIDField(null=True)),
                ('ledger_sequence', models.BigIntegerField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('transaction', 'type', 'subject_id', 'partner_id'), name='one_event_per_commit_and_subject', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('sequence', models.BigIntegerField()),
                ('type', models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed')], max_length=30)),
                ('at', models.DateTimeField(help_text="Of the commit; never before an earlier one's.")),
                ('subject_id', models.UUIDField(null=True)),
                ('issuer_id', models.UUIDField(null=True)),
                ('token_id', models.UUIDField(null=True)),
                ('account_id', models.UUIDField(null=True)),
                ('ledger_sequence', models.BigIntegerField(help_text="The last entry of the token's ledger in the commit.", null=True)),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='accounts.partner')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('partner', 'sequence'), name='events_are_numbered_per_partner')],
            },
        ),
        migrations.RunSQL(
            NUMBER,
            drop(
                "events_open_head()",
                "events_announce()",
                "events_number()",
                triggers={
                    "events_open_head": "accounts_partner",
                    "events_announce": "issuers_unnumberedevent",
                    "events_number": "issuers_unnumberedevent",
                },
            ),
        ),
        migrations.RunSQL(
            WRITTEN,
            "".join(
                drop(f"{name}()", triggers=triggers)
                for name, triggers in TRIGGERS.items()
            ),
        ),
        migrations.RunSQL(ANNOUNCE, drop("events_announce_articles()")),
        migrations.RunSQL(PRUNE, drop("events_prune(integer, integer)")),
        migrations.RunSQL(TO_COME, migrations.RunSQL.noop),
    ]
