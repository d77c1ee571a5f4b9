-- Gives a market parameters: from the end of the present session on, or at once outside
-- of one, so that orders are judged by them from the next opening on. `terms` has a
-- value for each. It uses the approval that policy asks for.
-- called by: application
-- raises: restrict_violation
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_set_parameters(
    actor text, of_token uuid, terms jsonb, why text
)
RETURNS SETOF trading_marketparameters LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    made trading_marketparameters;
    approver text;
    replaced bigint;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token AND h.source = 'OWN' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Parameters are of an internal market: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT p.id INTO replaced FROM trading_marketparameters p
        WHERE p.token_id = of_token ORDER BY p.valid_from DESC, p.id DESC LIMIT 1;
    approver := approvals_use_by(actor, 'PARAMETERS', jsonb_build_object(
        'token', of_token, 'terms', terms, 'replaces', replaced, 'reason', why));
    made := jsonb_populate_record(NULL::trading_marketparameters, terms);
    IF EXISTS (
        SELECT FROM (
            SELECT t.floor, t.step, lag(t.floor, 1, 0::bigint) OVER w AS below,
                lag(t.step, 1, made.tick_cents) OVER w AS before
            FROM unnest(made.tick_floors, made.tick_steps) WITH ORDINALITY
                AS t (floor, step, place)
            WINDOW w AS (ORDER BY t.place)
        ) t
        WHERE (t.step > 0 AND t.floor > t.below AND t.floor % t.step = 0
            AND t.floor % t.before = 0) IS NOT TRUE
    ) OR cardinality(made.tick_floors) > 24 OR cardinality(made.holidays) > 366
        OR made.fixings <> ARRAY(SELECT DISTINCT f FROM unnest(made.fixings) AS f ORDER BY f)
    THEN
        RAISE EXCEPTION 'Each floor of the ticks is above the one before, and a multiple '
            'of the ticks on both sides; there are at most 24, and 366 holidays; fixings '
            'are in order: %.', of_token USING ERRCODE = 'restrict_violation';
    END IF;
    made.created_at := clock_timestamp();
    SELECT CASE WHEN s.is_open THEN s.closes_at ELSE made.created_at END
    INTO made.valid_from
    FROM (SELECT * FROM trading_marketparameters p
        WHERE p.token_id = of_token AND p.valid_from <= made.created_at
        ORDER BY p.valid_from DESC, p.id DESC LIMIT 1) p
    CROSS JOIN LATERAL trading_session(p.session_opens, p.session_closes,
        p.weekdays_only, p.holidays, made.created_at) s;
    SELECT s.opens_at INTO made.opens_at
    FROM trading_session(made.session_opens, made.session_closes, made.weekdays_only,
        made.holidays, made.valid_from) s;
    INSERT INTO trading_marketparameters (token_id, session_opens, session_closes,
        weekdays_only, holidays, tick_cents, tick_floors, tick_steps, lot_units,
        collar_bps, dynamic_band_bps, model, fixings, at_last_minutes, most_value,
        most_units, valid_from, opens_at, replaces_id, reason, created_by, approved_by,
        created_at)
    VALUES (of_token, made.session_opens, made.session_closes, made.weekdays_only,
        made.holidays, made.tick_cents, made.tick_floors, made.tick_steps,
        made.lot_units, made.collar_bps, made.dynamic_band_bps, made.model, made.fixings,
        coalesce(made.at_last_minutes, 0), made.most_value, made.most_units,
        made.valid_from, made.opens_at, replaced, why, actor, approver,
        made.created_at)
    RETURNING * INTO made;
    -- A market that stays closed until then opens by them.
    UPDATE trading_market m SET next_phase_at = made.opens_at,
        next_phase = trading_opening(of_token, made.model)
        WHERE m.token_id = of_token AND m.phase = 'CLOSED'
            AND (made.valid_from = made.created_at
                OR m.next_phase_at >= made.valid_from);
    IF FOUND OR made.valid_from = made.created_at THEN
        PERFORM trading_apply_parameters(of_token, made.valid_from);
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PARAMETERS_CHANGED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL);
    RETURN NEXT made;
END $$;
REVOKE ALL ON FUNCTION public.trading_set_parameters(text, uuid, jsonb, text)
    FROM PUBLIC;
