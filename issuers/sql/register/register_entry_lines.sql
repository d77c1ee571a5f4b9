-- The lines of text of which the chain of a token's entries is made.
CREATE OR REPLACE VIEW public.register_entry_lines AS
 SELECT t.token_id,
    t.seq AS number,
    concat('{"actor":', to_json(t.actor), ',"amount":"', t.amount, '","chainReference":', COALESCE(to_json(t.chain_reference)::text, 'null'::text), ',"effectiveAt":"', to_char((t.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","from":',
        CASE
            WHEN t.source_id IS NULL THEN 'null'::text
            WHEN source.user_id IS NULL THEN '"treasury"'::text
            ELSE ('"'::text || source.user_id) || '"'::text
        END, ',"heldAfter":"', t.held_after, '","holdersAfter":', t.holders_after, ',"kind":"', t.kind, '","legacyShareholder":', COALESCE(('"'::text || t.legacy_shareholder_id) || '"'::text, 'null'::text), ',"reason":', to_json(t.reason), ',"recordedAt":"', to_char((t.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","reverses":', COALESCE(t.reverses::text, 'null'::text), ',"seq":', t.seq, ',"supplyAfter":"', t.supply_after, '","to":',
        CASE
            WHEN t.target_id IS NULL THEN 'null'::text
            WHEN target.user_id IS NULL THEN '"treasury"'::text
            ELSE ('"'::text || target.user_id) || '"'::text
        END, ',"token":"', t.token_id, '"}') AS line
   FROM issuers_ledgertransaction t
     LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id
     LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;
