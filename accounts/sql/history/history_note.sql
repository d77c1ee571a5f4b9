-- Records an export, an import or a sign-in with its author.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.history_note(
    operation text, of_table text, of_row text, said jsonb
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;
BEGIN
    IF operation NOT IN ('EXPORT', 'IMPORT', 'SIGNIN') THEN
        RAISE EXCEPTION 'Triggers keep each %.', operation
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_rowchange
        (at, table_name, row_id, operation, before, after, who, source, request_id)
    VALUES (clock_timestamp(), left(of_table, 63), left(of_row, 40), operation, NULL,
        said, left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200),
        left(coalesce(author ->> 'request', ''), 100));
END $$;
REVOKE ALL ON FUNCTION public.history_note(text, text, text, jsonb) FROM PUBLIC;
