-- Refuses to change or remove rows of tables that only grow.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'What happened stays as it was written: % on % is refused.',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_refuse_change() FROM PUBLIC;
