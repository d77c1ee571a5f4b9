-- Records that the owner appointed a member of staff, so that the person may decide
-- requests at once instead of after 24 hours.
-- called by: owner
CREATE OR REPLACE FUNCTION public.accounts_appoint(whom uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    line bigint;
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    INSERT INTO accounts_rowchange
        (at, table_name, row_id, operation, after, who, source, request_id)
    VALUES (clock_timestamp(), 'accounts_staffchange', whom, 'INSERT',
        jsonb_build_object('person_id', whom, 'what', 'APPOINTED'),
        left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200), '')
    RETURNING id INTO line;
    PERFORM accounts_note_staff(whom, 'APPOINTED', '', line, NULL);
END $$;
REVOKE ALL ON FUNCTION public.accounts_appoint(uuid) FROM PUBLIC;
