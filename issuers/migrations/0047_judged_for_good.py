"""Judges each entry by the rules of its time, and keeps how far, and what was wrong."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import IN_A_SNAPSHOT, REFUSE_SNAPSHOT, drop, function

BY_INDEX = """SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan"""

BROKEN = function(
    "register_broken_entries(of_token uuid, since bigint, until bigint)",
    "SETOF bigint",
    """
    RETURN QUERY
    SELECT t.seq FROM issuers_ledgertransaction t
    LEFT JOIN issuers_ledgertransaction before
        ON before.token_id = t.token_id AND before.seq = t.seq - 1
    LEFT JOIN issuers_ledgerposting s
        ON s.token_id = t.token_id AND s.seq = t.seq AND s.leg = 1
    LEFT JOIN issuers_ledgerposting g
        ON g.token_id = t.token_id AND g.seq = t.seq AND g.leg = 2
    WHERE t.token_id = of_token AND t.seq > since AND t.seq <= until
        AND (EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = of_token)
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (t.source_id, t.target_id)))
        AND EXISTS (SELECT FROM register_judge(of_token, t.kind, t.source_id,
            t.target_id, t.amount, t.effective_at, TRUE, s.balance_after + t.amount, 0,
            g.balance_after - t.amount, t.supply_after,
            coalesce(before.holders_after, 0), t.holders_after))
    ORDER BY t.seq;
    """,
    settings=BY_INDEX,
)
# What was written in the last two days is judged each time, and kept at the end of
# them: so that what comes to light meanwhile counts, too.
KEEP = function(
    "register_keep_judged(most bigint)",
    "bigint",
    f"""
    IF {IN_A_SNAPSHOT} THEN
        {REFUSE_SNAPSHOT}
    END IF;
    INSERT INTO issuers_judgedledger AS j (token_id, seq, broken)
    SELECT d.token_id, d.until,
        ARRAY(SELECT register_broken_entries(d.token_id, d.since, d.until))
    FROM (
        SELECT h.token_id, coalesce(k.seq, 0) AS since, (
            SELECT max(t.seq) FROM issuers_ledgertransaction t
            WHERE t.token_id = h.token_id AND t.seq > coalesce(k.seq, 0)
                AND t.seq <= coalesce(k.seq, 0) + most
                AND t.recorded_at <= now() - interval '2 days') AS until
        FROM issuers_tokenledgerhead h
        LEFT JOIN issuers_judgedledger k ON k.token_id = h.token_id
    ) d
    WHERE d.until IS NOT NULL ORDER BY d.token_id
    ON CONFLICT (token_id) DO UPDATE
        SET seq = excluded.seq, broken = j.broken || excluded.broken
        WHERE j.seq < excluded.seq;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
    """,
    declare="moved bigint;",
)


class Migration(migrations.Migration):
    dependencies = [("issuers", "0046_judged_now")]

    operations = [
        migrations.CreateModel(
            name='JudgedLedger',
            fields=[
                ('token', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='issuers.token')),
                ('seq', models.BigIntegerField()),
                ('broken', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
            ],
        ),
        migrations.RunSQL(
            BROKEN + KEEP,
            drop(
                "register_keep_judged(bigint)",
                "register_broken_entries(uuid, bigint, bigint)",
            ),
        )
    ]
