from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

guards = import_module("issuers.migrations.0003_register_guards")

DROP_NOTE = "DROP FUNCTION register_note(uuid[], timestamptz);"

FILL = """
UPDATE issuers_holderbalance b SET user_id = a.user_id
FROM issuers_ledgeraccount a
WHERE a.id = b.account_id AND a.user_id IS NOT NULL
"""

FOLLOW_POSTINGS = f"""
CREATE OR REPLACE FUNCTION register_follow_postings() RETURNS trigger LANGUAGE plpgsql
{guards.BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, entry %s, leg %s', token_id, seq, leg) INTO wrong
    FROM (
        SELECT p.token_id, p.seq, p.leg,
            t.seq IS NOT NULL
            AND p.seq > coalesce(b.last_seq, 0)
            AND p.delta = CASE p.leg WHEN 1 THEN -t.amount ELSE t.amount END
            AND p.account_id IS NOT DISTINCT FROM
                CASE p.leg WHEN 1 THEN t.source_id ELSE t.target_id END
            AND p.balance_after = p.delta + lag(
                p.balance_after, 1, coalesce(b.balance, 0)) OVER by_account
            AS follows
        FROM entered p
        LEFT JOIN issuers_ledgertransaction t
            ON t.token_id = p.token_id AND t.seq = p.seq
        LEFT JOIN issuers_holderbalance b
            ON b.token_id = p.token_id AND b.account_id = p.account_id
        WINDOW by_account AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
    ) AS checked
    WHERE NOT follows ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A posting must agree with its entry and with the account''s '
            'last balance: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (e.token_id, e.account_id)
            e.token_id, e.account_id, a.user_id, e.balance_after, e.seq
        FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.account_id
        ORDER BY e.token_id, e.account_id, e.seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq;
    RETURN NULL;
END $$
"""


NOTE_LEDGERS = """
CREATE FUNCTION register_note(issuers uuid[], asked timestamptz)
RETURNS TABLE (
    noted_at timestamptz, issuer_place bigint, noted_token uuid, noted_seq bigint,
    noted_last_seq bigint, noted_supply numeric, noted_held numeric,
    noted_holders bigint, noted_last_holders bigint, noted_price bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    -- Waits for tokens in the making, and for the writers who may still enter
    -- something at or before the instant. Whoever writes later takes a later time.
    PERFORM FROM issuers_issuer WHERE id = ANY (issuers) ORDER BY id FOR SHARE;
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id IN (SELECT id FROM issuers_token WHERE issuer_id = ANY (issuers))
          AND (greatest(h.last_effective_at, h.last_price_at) > asked) IS NOT TRUE
        ORDER BY h.token_id FOR SHARE;
    noted_at := least(asked, clock_timestamp());
    RETURN QUERY
        SELECT noted_at, i.place, t.id, coalesce(s.seq, 0), h.last_seq,
            coalesce(s.supply_after, 0), coalesce(s.held_after, 0),
            coalesce(s.holders_after, 0), h.holder_count, coalesce(p.price_cents, 0)
        FROM unnest(issuers) WITH ORDINALITY AS i (id, place)
        LEFT JOIN issuers_token t ON t.issuer_id = i.id AND t.created_at <= noted_at
        LEFT JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        LEFT JOIN LATERAL (
            SELECT x.seq, x.supply_after, x.held_after, x.holders_after
            FROM issuers_ledgertransaction x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.seq DESC LIMIT 1
        ) s ON TRUE
        LEFT JOIN LATERAL (
            SELECT x.price_cents FROM issuers_tokenprice x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.number DESC LIMIT 1
        ) p ON TRUE
        ORDER BY i.place, t.created_at, t.id;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0005_legacy_guards")]

    operations = [
        migrations.AddField(
            model_name="holderbalance",
            name="user",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(
            FOLLOW_POSTINGS,
            guards.FOLLOW_POSTINGS.partition("CREATE TRIGGER")[0].replace(
                "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
            ),
        ),
        migrations.RunSQL(DROP_NOTE + NOTE_LEDGERS, DROP_NOTE + guards.NOTE_LEDGERS),
    ]
