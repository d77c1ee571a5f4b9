-- Identifies this transaction on this server by 64 bits, by which rows know that they
-- were made in it.
-- called by: register_history, register_keep_issuer, register_keep_token,
--     register_write
CREATE OR REPLACE FUNCTION public.register_transaction(salt bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (SELECT hashtextextended(concat(
        system_identifier, ' ', pg_current_xact_id()), salt) FROM pg_control_system());
END $$;
REVOKE ALL ON FUNCTION public.register_transaction(bigint) FROM PUBLIC;
