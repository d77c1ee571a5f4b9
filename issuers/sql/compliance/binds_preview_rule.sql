-- The accounts that a rule would refuse as receivers, with this code. The rule is made,
-- judged and undone in the same call.
-- called by: application
-- raises: no_data_found
-- locks: issuers_tokenledgerhead (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.binds_preview_rule(
    token uuid, kind text, parameters jsonb, accounts bigint[], code text
)
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    refused bigint[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM binds_check_rule(kind, parameters);
    BEGIN
        PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = token FOR UPDATE;
        UPDATE issuers_tokenrule r SET ended_at = clock_timestamp(), ended_by = 'preview'
            WHERE r.token_id = token AND r.kind = binds_preview_rule.kind
                AND r.ended_at IS NULL;
        INSERT INTO issuers_tokenrule (id, token_id, kind, parameters, reason,
            created_by, approved_by, created_at)
        VALUES (gen_random_uuid(), token, kind, parameters, 'preview', 'preview',
            'preview', clock_timestamp());
        SELECT array_agg(s.account) INTO refused
        FROM register_standing(token, accounts, clock_timestamp()) s
        WHERE s.receiving @> jsonb_build_array(jsonb_build_object('code', code));
        -- The block ends by an error, so that its rows and its locks go.
        RAISE EXCEPTION 'The preview ends.' USING ERRCODE = 'no_data_found';
    EXCEPTION WHEN no_data_found THEN
        NULL;
    END;
    RETURN coalesce(refused, '{}');
END $$;
REVOKE ALL ON FUNCTION public.binds_preview_rule(uuid, text, jsonb, bigint[], text) FROM
    PUBLIC;
