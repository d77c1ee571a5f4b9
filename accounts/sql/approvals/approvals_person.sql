-- The id of the signed-in member of staff; `command` for commands and jobs, `SQL` for a
-- session without an author.
-- called by: approvals_alone, cash_judge_staff, delivery_note_makers, delivery_release,
--     register_follow_issuer, register_write
CREATE OR REPLACE FUNCTION public.approvals_person()
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    RETURN CASE WHEN author IS NULL THEN 'SQL'
        WHEN author ->> 'from' LIKE 'page %' THEN coalesce((
            SELECT u.id::text FROM accounts_user u WHERE u.email = author ->> 'who'),
            'command')
        ELSE 'command' END;
END $$;
REVOKE ALL ON FUNCTION public.approvals_person() FROM PUBLIC;
