"""Keeps a market that staff close early CLOSED until its next session."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_change_phase(token uuid, wanted text, follows text, follows_at timestamp with time zone, reference bigint, why text, changed_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    changed_at timestamptz;
    opens_at timestamptz;
    closes_at timestamptz;
    refers_to bigint;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CONTINUOUS', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CONTINUOUS', 'CLOSED') END, FALSE) THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF market.phase = 'HALTED' THEN
        used := approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    IF changed_by = 'market' THEN
        IF (market.next_phase = wanted AND market.next_phase_at <= changed_at)
            IS NOT TRUE THEN
            RAISE EXCEPTION 'A market enters its next phase by the clock, once that is '
                'due: it is not %.', wanted USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF used IS NULL THEN
        PERFORM accounts_staff_with(changed_by, 'trading.change_market');
    ELSE
        PERFORM cash_judge_staff(changed_by, used, '{}');
    END IF;
    refers_to := coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = token),
        market.reference_price);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    follows := NULL;
    follows_at := NULL;
    IF wanted <> 'HALTED' THEN
        SELECT min(s.opens) FILTER (WHERE s.opens >= changed_at),
            min(s.closes) FILTER (WHERE s.closes > changed_at)
        INTO opens_at, closes_at
        FROM (SELECT (changed_at AT TIME ZONE market_time_zone())::date + n AS day
              FROM generate_series(0, 4) AS n) d
        CROSS JOIN LATERAL (SELECT
            (d.day + market.session_opens) AT TIME ZONE market_time_zone() AS opens,
            (d.day + market.session_closes) AT TIME ZONE market_time_zone() AS closes
        ) s
        WHERE NOT (market.weekdays_only AND extract(isodow FROM d.day) > 5);
        IF (wanted = 'CONTINUOUS' OR changed_by = 'market')
            AND (market.session_opens = market.session_closes OR opens_at = changed_at
                OR closes_at < opens_at) THEN
            opens_at := changed_at;
        END IF;
        IF wanted = 'CONTINUOUS' AND opens_at > changed_at THEN
            RAISE EXCEPTION 'A market is CONTINUOUS in its session, which begins at %.',
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        IF wanted = 'CONTINUOUS' THEN
            follows := 'CLOSED';
            follows_at := closes_at;
        ELSE
            follows := 'CONTINUOUS';
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        reference_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to
            ELSE reference_price END,
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
    -- One of the market's log: a transaction may have several.
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[token], NULL, ARRAY[token], NULL,
        order_events => ARRAY[market.last_event], reasons => ARRAY[wanted]);
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_change_phase(token uuid, wanted text, follows text, follows_at timestamp with time zone, reference bigint, why text, changed_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    changed_at timestamptz;
    opens_at timestamptz;
    closes_at timestamptz;
    refers_to bigint;
    used uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CONTINUOUS', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CONTINUOUS', 'CLOSED') END, FALSE) THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF market.phase = 'HALTED' THEN
        used := approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    IF changed_by = 'market' THEN
        IF (market.next_phase = wanted AND market.next_phase_at <= changed_at)
            IS NOT TRUE THEN
            RAISE EXCEPTION 'A market enters its next phase by the clock, once that is '
                'due: it is not %.', wanted USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF used IS NULL THEN
        PERFORM accounts_staff_with(changed_by, 'trading.change_market');
    ELSE
        PERFORM cash_judge_staff(changed_by, used, '{}');
    END IF;
    refers_to := coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = token),
        market.reference_price);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    follows := NULL;
    follows_at := NULL;
    IF wanted <> 'HALTED' THEN
        SELECT min(s.opens) FILTER (WHERE s.opens >= changed_at),
            min(s.closes) FILTER (WHERE s.closes > changed_at)
        INTO opens_at, closes_at
        FROM (SELECT (changed_at AT TIME ZONE market_time_zone())::date + n AS day
              FROM generate_series(0, 4) AS n) d
        CROSS JOIN LATERAL (SELECT
            (d.day + market.session_opens) AT TIME ZONE market_time_zone() AS opens,
            (d.day + market.session_closes) AT TIME ZONE market_time_zone() AS closes
        ) s
        WHERE NOT (market.weekdays_only AND extract(isodow FROM d.day) > 5);
        IF market.session_opens = market.session_closes OR opens_at = changed_at
            OR closes_at < opens_at THEN
            opens_at := changed_at;
        END IF;
        IF wanted = 'CONTINUOUS' AND opens_at > changed_at THEN
            RAISE EXCEPTION 'A market is CONTINUOUS in its session, which begins at %.',
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        IF wanted = 'CONTINUOUS' THEN
            follows := 'CLOSED';
            follows_at := closes_at;
        ELSE
            follows := 'CONTINUOUS';
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        reference_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to
            ELSE reference_price END,
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
    -- One of the market's log: a transaction may have several.
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[token], NULL, ARRAY[token], NULL,
        order_events => ARRAY[market.last_event], reasons => ARRAY[wanted]);
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0027_one_refusal_of_snapshots"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
