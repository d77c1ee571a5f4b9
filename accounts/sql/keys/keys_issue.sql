-- Issues an API key, with the approval of its partner, scopes and end that policy asks
-- for.
-- called by: application
CREATE OR REPLACE FUNCTION public.keys_issue(
    key uuid, partner uuid, digest bytea, pepper bigint, ending text, wanted text[],
    until timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM keys_enter(key, partner, digest, pepper, ending, wanted, until);
    PERFORM approvals_use('KEY', jsonb_build_object('partner', partner,
        'scopes', ARRAY(SELECT s FROM unnest(wanted) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM until))), NULL, NULL, NULL);
END $$;
REVOKE ALL ON FUNCTION public.keys_issue(uuid, uuid, bytea, bigint, text, text[],
    timestamp with time zone) FROM PUBLIC;
