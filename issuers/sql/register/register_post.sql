-- Writes the next entries, prices and reservations of ledgers at the present instant,
-- as register_enter does, and judges them. The heads are locked.
-- called by: marketdata_price, offerings_settle, register_write, trading_correct,
--     trading_undo, trading_write
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_post(
    at timestamp with time zone, entry_tokens uuid[], kinds text[], sources bigint[],
    targets bigint[], amounts numeric[], reasons text[], actors text[], legacy uuid[],
    reverses bigint[], price_tokens uuid[], price_cents bigint[], price_sources text[],
    price_actors text[], held_tokens uuid[], held_accounts bigint[],
    held_deltas numeric[]
)
RETURNS TABLE(token_id uuid, number bigint, is_price boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'The register is written at a time of this transaction: not %.',
            at USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY SELECT * FROM register_enter(at, TRUE, entry_tokens, kinds, sources,
        targets, amounts, reasons, actors, legacy, reverses, NULL, price_tokens,
        price_cents, price_sources, price_actors, NULL, held_tokens, held_accounts,
        held_deltas);
END $$;
REVOKE ALL ON FUNCTION public.register_post(timestamp with time zone, uuid[], text[],
    bigint[], bigint[], numeric[], text[], text[], uuid[], bigint[], uuid[], bigint[],
    text[], text[], uuid[], bigint[], numeric[]) FROM PUBLIC;
