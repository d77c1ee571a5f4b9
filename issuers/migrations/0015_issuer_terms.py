"""Makes the terms by which issuers are found, and the triggers that keep them."""

import django.db.models.deletion
from importlib import import_module

from django.db import migrations, models

from partnerapi.core.guards import drop, function, trigger_function

guards = import_module("issuers.migrations.0003_register_guards")

# Compatibility decomposition takes accents off letters, ligatures and wide letters
# apart. What it leaves as a letter of its own has a usual writing in plain ones.
FOLD = r"""
CREATE FUNCTION search_fold(said text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT btrim(regexp_replace(
        replace(replace(replace(replace(
            translate(
                lower(regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;
"""
# Signs that part words, named one by one: what a letter is depends on the locale.
WORDS = r"""
CREATE FUNCTION search_words(folded text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_remove(regexp_split_to_array(folded,
        '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'
    ), '')
$$;
"""
BEGINNINGS = """
CREATE FUNCTION search_beginnings(folded text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '=' || left(w, 20) FROM unnest(search_words(folded)) w
    UNION
    SELECT left(w, n) FROM unnest(search_words(folded)) w,
        generate_series(3, least(length(w), 20)) n
$$;
"""
TERMS = function(
    "search_terms(wanted uuid)",
    "TABLE (term text, name text, private boolean)",
    """
    RETURN QUERY
    WITH said AS (
        SELECT left(search_fold(i.trading_name), 100) AS name, lower(u.lei) AS lei,
            search_fold(i.trading_name || ' ' || coalesce(u.company_name, '')) AS names
        FROM issuers_issuer i JOIN accounts_user u ON u.id = i.owner_id
        WHERE i.id = wanted
    ), identifiers (code, private, is_word) AS (
        SELECT lei, FALSE, TRUE FROM said WHERE lei IS NOT NULL
        UNION ALL
        SELECT lower(c.code), t.visibility = 'PRIVATE', c.is_word
        FROM issuers_token t
        CROSS JOIN LATERAL (VALUES (t.symbol, TRUE), (t.isin, FALSE)) c (code, is_word)
        WHERE t.issuer_id = wanted AND c.code IS NOT NULL
    ), terms (term, private) AS (
        SELECT '', FALSE
        UNION ALL SELECT '#' || code, private FROM identifiers
        UNION ALL SELECT b, FALSE FROM said, search_beginnings(names) b
        UNION ALL SELECT b, private FROM identifiers, search_beginnings(code) b
        WHERE is_word
    )
    SELECT t.term, s.name, bool_and(t.private) FROM terms t CROSS JOIN said s
    GROUP BY t.term, s.name;
    """,
)
# Two transactions that change an issuer, or its owner, its tokens, come here one after
# the other: the second waits at the empty term, and then reads what the first did.
REFRESH = function(
    "search_refresh(wanted uuid)",
    "void",
    """
    PERFORM FROM issuers_issuerterm WHERE issuer_id = wanted AND term = '' FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT t.term, t.name, wanted, t.private FROM search_terms(wanted) t;
        RETURN;
    END IF;
    SELECT array_agg(t.term), max(t.name), array_agg(t.private)
        INTO terms, folded, privates FROM search_terms(wanted) t;
    DELETE FROM issuers_issuerterm k
        WHERE issuer_id = wanted AND term <> '' AND NOT EXISTS (
            SELECT FROM unnest(terms, privates) AS t (term, private)
            WHERE t.term = k.term AND folded = k.name AND t.private = k.private);
    UPDATE issuers_issuerterm SET name = folded
        WHERE issuer_id = wanted AND term = '' AND name <> folded;
    INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
        SELECT t.term, folded, wanted, t.private
        FROM unnest(terms, privates) AS t (term, private)
        ON CONFLICT DO NOTHING;
    """,
    declare="terms text[];\n    privates boolean[];\n    folded text;",
    settings=guards.BY_INDEX,
)
TRIGGERS = (
    trigger_function(
        "search_issuer_changed",
        "issuers_issuer",
        """
    -- Who changes the owner can not see yet that it is the owner.
    IF TG_OP = 'INSERT' OR NEW.owner_id <> OLD.owner_id THEN
        PERFORM FROM accounts_user WHERE id = NEW.owner_id FOR SHARE;
    END IF;
    PERFORM search_refresh(NEW.id);
    RETURN NULL;
        """,
    )
    + trigger_function(
        "search_issuer_deleted",
        "issuers_issuer",
        "DELETE FROM issuers_issuerterm WHERE issuer_id = OLD.id;\n    RETURN NULL;",
    )
    + trigger_function(
        "search_token_changed",
        "issuers_token",
        """
    IF TG_OP = 'INSERT' THEN
        SELECT name INTO folded FROM issuers_issuerterm
            WHERE issuer_id = NEW.issuer_id AND term = '' FOR UPDATE;
        -- An issuer that was made past the triggers.
        IF NOT FOUND THEN
            PERFORM search_refresh(NEW.issuer_id);
            RETURN NULL;
        END IF;
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT term, folded, NEW.issuer_id, NEW.visibility = 'PRIVATE' FROM (
                SELECT '#' || lower(NEW.symbol)
                UNION SELECT '#' || lower(NEW.isin) WHERE NEW.isin IS NOT NULL
                UNION SELECT search_beginnings(lower(NEW.symbol))) AS t (term)
            ON CONFLICT (term, name, issuer_id) DO UPDATE SET private = FALSE
            WHERE issuers_issuerterm.private AND NOT excluded.private;
        RETURN NULL;
    END IF;
    PERFORM search_refresh(OLD.issuer_id);
    IF TG_OP = 'UPDATE' AND NEW.issuer_id <> OLD.issuer_id THEN
        PERFORM search_refresh(NEW.issuer_id);
    END IF;
    RETURN NULL;
        """,
        declare="folded text;",
        settings=guards.BY_INDEX,
    )
    + trigger_function(
        "search_owner_changed",
        "accounts_user",
        """
    PERFORM search_refresh(id) FROM (
        SELECT id FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id) i;
    RETURN NULL;
        """,
    )
    + """
CREATE CONSTRAINT TRIGGER search_issuer_made AFTER INSERT ON issuers_issuer
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION search_issuer_changed();
CREATE CONSTRAINT TRIGGER search_issuer_changed
    AFTER UPDATE OF trading_name, owner_id ON issuers_issuer
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.trading_name, OLD.owner_id) IS DISTINCT FROM
        (NEW.trading_name, NEW.owner_id))
    EXECUTE FUNCTION search_issuer_changed();
CREATE TRIGGER search_issuer_deleted AFTER DELETE ON issuers_issuer
    FOR EACH ROW EXECUTE FUNCTION search_issuer_deleted();
CREATE CONSTRAINT TRIGGER search_token_made AFTER INSERT OR DELETE ON issuers_token
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION search_token_changed();
CREATE CONSTRAINT TRIGGER search_token_changed
    AFTER UPDATE OF symbol, isin, visibility, issuer_id ON issuers_token
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.symbol, OLD.isin, OLD.visibility, OLD.issuer_id) IS DISTINCT FROM
        (NEW.symbol, NEW.isin, NEW.visibility, NEW.issuer_id))
    EXECUTE FUNCTION search_token_changed();
CREATE CONSTRAINT TRIGGER search_owner_changed
    AFTER UPDATE OF company_name, lei ON accounts_user
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.company_name, OLD.lei) IS DISTINCT FROM (NEW.company_name, NEW.lei))
    EXECUTE FUNCTION search_owner_changed();
"""
)
FILL = """
INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
SELECT t.term, t.name, i.id, t.private
FROM issuers_issuer i CROSS JOIN LATERAL search_terms(i.id) t;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0014_legacy_shareholders_by_status"),
        ("accounts", "0008_recorded_status_changes"),
    ]

    operations = [
        migrations.CreateModel(
            name="IssuerTerm",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "term",
                        "name",
                        "issuer_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("term", models.TextField(db_collation="C")),
                (
                    "name",
                    models.TextField(
                        db_collation="C",
                        help_text="The trading name, folded: lower case, no accents, "
                        "100 letters.",
                    ),
                ),
                (
                    "private",
                    models.BooleanField(
                        help_text="Only private tokens have it: it is for who may see "
                        "them."
                    ),
                ),
                (
                    "issuer",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="issuers.issuer",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(FOLD, drop("search_fold(text)")),
        migrations.RunSQL(WORDS, drop("search_words(text)")),
        migrations.RunSQL(BEGINNINGS, drop("search_beginnings(text)")),
        migrations.RunSQL(TERMS, drop("search_terms(uuid)")),
        migrations.RunSQL(REFRESH, drop("search_refresh(uuid)")),
        migrations.RunSQL(
            TRIGGERS,
            drop(
                "search_issuer_changed()",
                "search_issuer_deleted()",
                triggers={
                    "search_issuer_made": "issuers_issuer",
                    "search_issuer_changed": "issuers_issuer",
                    "search_issuer_deleted": "issuers_issuer",
                },
            )
            + drop(
                "search_token_changed()",
                triggers={
                    "search_token_made": "issuers_token",
                    "search_token_changed": "issuers_token",
                },
            )
            + drop(
                "search_owner_changed()",
                triggers={"search_owner_changed": "accounts_user"},
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
