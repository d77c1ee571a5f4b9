-- Appends the next member to a running export, at the byte where the last one ended, and
-- counts it.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.exports_append(
    export uuid, nth integer, start bigint, lines integer, member bytea
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE partnerapi_export e SET members = nth, rows = e.rows + lines,
        size_bytes = start + octet_length(member)
    WHERE e.id = export AND e.status = 'RUNNING' AND NOT e.is_written
        AND e.members = nth - 1 AND e.size_bytes = start;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Member % at byte % is not the next of export %.', nth, start,
            export USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO partnerapi_exportmember (export_id, number, position, rows, data)
        VALUES (export, nth, start, lines, member);
END $$;
REVOKE ALL ON FUNCTION public.exports_append(uuid, integer, bigint, integer, bytea) FROM
    PUBLIC;
