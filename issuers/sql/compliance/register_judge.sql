-- Returns each refusal of a movement, most important first, by the rules and
-- restrictions that hold at an instant, or held in the past.
-- called by: anyone, offerings_refusals, register_broken_entries,
--     register_judge_entries, register_refusals, trading_judge_endings,
--     trading_refused_fills
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_judge(
    of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp
    with time zone, past boolean, source_balance numeric, source_reserved numeric,
    target_balance numeric, supply_after numeric, holders_before bigint, holders_after
    bigint, newcomer uuid DEFAULT NULL::uuid
)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    of_kind issuers_entrykind;
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO of_kind FROM issuers_entrykind k WHERE k.name = kind;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no kind of entry %.', kind
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN of_kind.is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE of_kind.is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE of_kind.is_paused AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE of_kind.is_given OR of_kind.is_forced AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE of_kind.is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE of_kind.is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;
