-- Marks tokens or issuers that this transaction may write to; register_instant waits
-- for such marks.
-- called by: marketdata_price, offerings_settle, register_history, register_keep_token,
--     register_read, register_write, trading_read, trading_settle, trading_undo
-- locks: writers of the register (advisory, shared)
CREATE OR REPLACE FUNCTION public.register_mark(marked uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    found text[];
BEGIN
    found := ARRAY(SELECT hashtext(m::text)::text FROM unnest(marked) AS m
        UNION SELECT unnest(string_to_array(
            current_setting('register.marks', TRUE), ' ')));
    IF cardinality(found) > 100 THEN
        PERFORM pg_advisory_xact_lock_shared(hashtext('writers of the register'), 0);
    ELSE
        PERFORM set_config('register.marks', array_to_string(found, ' '), TRUE);
        PERFORM pg_advisory_xact_lock_shared(hashtext('writers of the register'), hashtext(m::text))
        FROM unnest(marked) AS m;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.register_mark(uuid[]) FROM PUBLIC;
