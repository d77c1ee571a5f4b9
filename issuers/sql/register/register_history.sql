-- Writes the past of tokens whose issuers are made in this transaction: tokens without
-- entry and price, never opened, or whose past this transaction has begun. Times rise,
-- from the token's creation to now. It opens the ledgers. Nothing else takes times.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_history(
    actor text, entry_tokens uuid[], kinds text[], sources bigint[], targets bigint[],
    amounts numeric[], reasons text[], legacy uuid[], entry_times timestamp with time
    zone[], price_tokens uuid[], price_cents bigint[], price_sources text[],
    price_times timestamp with time zone[]
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    made_now constant bigint := register_transaction(0);
    tokens uuid[] := ARRAY(
        SELECT DISTINCT t FROM unnest(entry_tokens || price_tokens) AS t);
    wrong text;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM register_mark(tokens);
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT t.symbol INTO wrong
    FROM issuers_tokenledgerhead h
    JOIN issuers_token t ON t.id = h.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
    WHERE h.token_id = ANY (tokens) AND (i.recorded_in IS DISTINCT FROM made_now
        OR (h.is_open OR h.last_seq > 0 OR h.last_price > 0)
            AND (h.hold_transaction, h.hold_at)
                IS DISTINCT FROM (made_now, 'epoch'::timestamptz))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A past is written for a token that is new in this transaction, '
            'with its issuer: not for %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    IF 'TRADE' = ANY (kinds) OR 'REVERSAL' = ANY (kinds) THEN
        RAISE EXCEPTION 'A past has no trades and no reversals.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM unnest(entry_times || price_times) AS w (entered_at)
            WHERE (w.entered_at <= clock_timestamp()) IS NOT TRUE)
        OR cardinality(entry_times) <> cardinality(entry_tokens)
        OR cardinality(price_times) <> cardinality(price_tokens) THEN
        RAISE EXCEPTION 'A past has times, and none of them is to come.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- Further calls of this transaction go on with it.
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = made_now, hold_at = 'epoch'
        WHERE h.token_id = ANY (tokens) AND NOT h.is_open;
    PERFORM register_enter(clock_timestamp(), FALSE, entry_tokens, kinds, sources,
        targets, amounts, reasons,
        array_fill(actor, ARRAY[cardinality(entry_tokens)]), legacy,
        array_fill(NULL::bigint, ARRAY[cardinality(entry_tokens)]), entry_times,
        price_tokens, price_cents, price_sources,
        array_fill(actor, ARRAY[cardinality(price_tokens)]), price_times, '{}', '{}',
        '{}');
END $$;
REVOKE ALL ON FUNCTION public.register_history(text, uuid[], text[], bigint[], bigint[],
    numeric[], text[], uuid[], timestamp with time zone[], uuid[], bigint[], text[],
    timestamp with time zone[]) FROM PUBLIC;
