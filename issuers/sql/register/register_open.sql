-- Opens ledgers, so that tables show their entries.
-- called by: release before
CREATE OR REPLACE FUNCTION public.register_open(tokens uuid[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE issuers_tokenledgerhead SET is_open = TRUE
        WHERE token_id = ANY (tokens) AND NOT is_open;
END $$;
REVOKE ALL ON FUNCTION public.register_open(uuid[]) FROM PUBLIC;
