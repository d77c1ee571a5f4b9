-- Refreshes the planner's statistics of tables after a large import; only their owner
-- may.
-- called by: application
CREATE OR REPLACE FUNCTION public.partnerapi_analyze(tables text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY tables LOOP
        EXECUTE format('ANALYZE public.%I', name);
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_analyze(text[]) FROM PUBLIC;
