-- Tells partners with a grant that trades moved a register, unless another transaction
-- is doing so. Returns how many registers.
-- called by: application
-- locks: registers that moved (advisory, not waited for)
CREATE OR REPLACE FUNCTION public.trading_tell_registers()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    told_now bigint;
    tokens uuid[];
    sequences bigint[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('registers that moved', 0)) THEN
        RETURN 0;
    END IF;
    WITH moved AS (
        INSERT INTO trading_registertold AS r (token_id, ledger_seq)
        SELECT m.token_id, h.last_seq FROM trading_market m
        JOIN issuers_tokenledgerhead h ON h.token_id = m.token_id
        LEFT JOIN trading_registertold told ON told.token_id = m.token_id
        WHERE EXISTS (SELECT FROM issuers_ledgertransaction l
            WHERE l.token_id = m.token_id AND l.kind = 'TRADE'
                AND l.seq > coalesce(told.ledger_seq, 0))
        ORDER BY m.token_id
        ON CONFLICT (token_id) DO UPDATE SET ledger_seq = excluded.ledger_seq
        RETURNING r.token_id, r.ledger_seq
    )
    SELECT count(*), array_agg(m.token_id ORDER BY m.token_id),
        array_agg(m.ledger_seq ORDER BY m.token_id) INTO told_now, tokens, sequences
    FROM moved m;
    PERFORM events_write(array_fill('GRANTED'::text, ARRAY[told_now::integer]), NULL,
        array_fill('REGISTER_CHANGED'::text, ARRAY[told_now::integer]), tokens, NULL,
        tokens, NULL, sequences);
    RETURN told_now;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_registers() FROM PUBLIC;
