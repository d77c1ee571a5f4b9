-- The lines of text of which the chain of a token's entries is made, and the private
-- part that a line of version 2 names by its digest.
CREATE OR REPLACE VIEW public.register_entry_lines AS
 SELECT t.token_id,
    t.seq AS number,
        CASE
            WHEN t.private_digest IS NULL THEN COALESCE(( SELECT concat('{"digestAfter":"', encode(d.digest_after, 'hex'::text), '","digestBefore":"', encode(d.digest_before, 'hex'::text), '","number":"', d.number, '","redacted":"', d.erasure_id, '"}') AS concat
               FROM issuers_redactedline d
              WHERE d.token_id = t.token_id AND d.number = t.seq), concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":',
            CASE
                WHEN t.source_id IS NULL THEN 'null'::text
                WHEN source.user_id IS NULL THEN '"treasury"'::text
                ELSE ('"'::text || source.user_id) || '"'::text
            END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE(('"'::text || t.legacy_shareholder_id) || '"'::text, 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE(t.reverses::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":',
            CASE
                WHEN t.target_id IS NULL THEN 'null'::text
                WHEN target.user_id IS NULL THEN '"treasury"'::text
                ELSE ('"'::text || target.user_id) || '"'::text
            END, ',"token":"', t.token_id, '"}'))
            ELSE concat('{"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', register_api_time(t.effective_at), '","heldAfter":"', t.held_after, '","holdersAfter":"', t.holders_after, '","kind":"', t.kind,
            CASE
                WHEN t.reason_code IS NULL THEN '","lineVersion":"2","previousDigest":'::text
                ELSE '","lineVersion":"3","previousDigest":'::text
            END, COALESCE(('"'::text || encode(t.previous_digest, 'hex'::text)) || '"'::text, 'null'::text), ',"privateDigest":"', encode(t.private_digest, 'hex'::text), '","reason":"'::text || t.reason_code::text, '","reverses":', COALESCE(('"'::text || t.reverses) || '"'::text, 'null'::text), ',"sequence":"', t.seq, '","source":', COALESCE(('"User|'::text || source.user_id) || '"'::text, 'null'::text), ',"sourceBefore":', COALESCE(('"'::text || t.source_before) || '"'::text, 'null'::text), ',"supplyAfter":"', t.supply_after, '","target":', COALESCE(('"User|'::text || target.user_id) || '"'::text, 'null'::text), ',"targetBefore":', COALESCE(('"'::text || t.target_before) || '"'::text, 'null'::text), ',"token":"Token|', t.token_id, '"}')
        END AS line,
        CASE
            WHEN t.salt IS NOT NULL THEN register_entry_detail(t.actor::text, t.legacy_shareholder_id, t.reason::text, t.recorded_at)
            ELSE NULL::text
        END AS private,
    t.salt,
    t.private_digest
   FROM issuers_ledgertransaction t
     LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id
     LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;
