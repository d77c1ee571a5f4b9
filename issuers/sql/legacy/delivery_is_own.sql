-- Whether legacy lines with these makers are a person's own work, so that the person
-- may not deliver them alone.
-- called by: application, delivery_release
CREATE OR REPLACE FUNCTION public.delivery_is_own(makers text[], who text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN makers = '{}' OR who = ANY (makers) OR 'command' = ANY (makers)
        OR who = 'command' AND makers <> '{SQL}';
END $$;
REVOKE ALL ON FUNCTION public.delivery_is_own(text[], text) FROM PUBLIC;
