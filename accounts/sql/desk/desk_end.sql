-- Ends a membership for a member of staff with that right; FALSE if it had ended before.
-- called by: application
CREATE OR REPLACE FUNCTION public.desk_end(actor text, member uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_staff_with(actor, 'accounts.change_deskmember');
    UPDATE accounts_deskmember m SET ended_at = clock_timestamp(), ended_by = actor
        WHERE m.id = member AND m.ended_at IS NULL;
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.desk_end(text, uuid) FROM PUBLIC;
