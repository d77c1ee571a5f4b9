"""Judges an order and a trade by their time, whether or not the clock moved the market.

The time is that of the ledger's lock, which each writer of orders takes. A session's
end is the database's to say.
"""

from django.db import migrations

from partnerapi.core.guards import rewritten

EVENTS = rewritten(
    "trading_follow_events()",
    (
        """
            lag(e.kind) OVER by_order AS kind_before,
""",
        """
            m.phase = 'CONTINUOUS' AND (m.next_phase_at > e.at) IS NOT FALSE
                AND r.hold_transaction = (SELECT register_transaction(0))
                AND (r.hold_at > e.at) IS NOT TRUE AS is_taken,
            lag(e.kind) OVER by_order AS kind_before,
""",
    ),
    (
        """ LEFT JOIN trading_market m ON m.token_id = e.token_id
        WINDOW""",
        """ LEFT JOIN trading_market m ON m.token_id = e.token_id
        LEFT JOIN issuers_tokenledgerhead r ON r.token_id = e.token_id
        WINDOW""",
    ),
    (
        "WHEN 'ORDER_ACCEPTED' THEN p.kind",
        "WHEN 'ORDER_ACCEPTED' THEN e.is_taken AND p.kind",
    ),
    (
        "WHEN 'ORDER_AMENDED' THEN p.remaining",
        "WHEN 'ORDER_AMENDED' THEN e.is_taken AND p.remaining",
    ),
)
EXECUTIONS = rewritten(
    "trading_follow_executions()",
    (
        "AND m.phase = 'CONTINUOUS' AND x.event",
        """AND m.phase = 'CONTINUOUS' AND (m.next_phase_at > x.at) IS NOT FALSE
        AND x.at >= l.effective_at AND x.event""",
    ),
)
PHASES = rewritten(
    "trading_change_phase(uuid, text, text, timestamptz, bigint, text, text)",
    (
        """
    changed_at timestamptz;
""",
        """
    changed_at timestamptz;
    opens_at timestamptz;
""",
    ),
    (
        """
    UPDATE trading_market SET phase = wanted""",
        """
    IF wanted = 'CONTINUOUS' THEN
        SELECT min(s.opens) FILTER (WHERE s.opens >= changed_at),
            min(s.closes) FILTER (WHERE s.closes > changed_at)
        INTO opens_at, follows_at
        FROM (SELECT (changed_at AT TIME ZONE market_time_zone())::date + n AS day
              FROM generate_series(0, 4) AS n) d
        CROSS JOIN LATERAL (SELECT
            (d.day + market.session_opens) AT TIME ZONE market_time_zone() AS opens,
            (d.day + market.session_closes) AT TIME ZONE market_time_zone() AS closes
        ) s
        WHERE NOT (market.weekdays_only AND extract(isodow FROM d.day) > 5);
        IF market.session_opens <> market.session_closes
            AND opens_at > changed_at AND opens_at <= follows_at THEN
            RAISE EXCEPTION 'A market is CONTINUOUS in its session, which begins at %.',
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        follows := 'CLOSED';
    END IF;
    UPDATE trading_market SET phase = wanted""",
    ),
)


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0007_read_committed"),
        ("marketdata", "0015_no_shadows"),
    ]

    operations = [EVENTS, EXECUTIONS, PHASES]
