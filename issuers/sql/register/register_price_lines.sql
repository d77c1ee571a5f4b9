-- The lines of text of which the chain of a token's prices is made, and the private
-- part that a line of version 2 names by its digest.
CREATE OR REPLACE VIEW public.register_price_lines AS
 SELECT p.token_id,
    p.number,
        CASE
            WHEN p.private_digest IS NULL THEN concat('{"effectiveAt":"', to_char((p.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","number":', p.number, ',"priceCents":"', p.price_cents, '","recordedAt":"', to_char((p.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","recordedBy":', to_json(p.recorded_by), ',"source":"', p.source, '","token":"', p.token_id, '"}')
            ELSE concat('{"effectiveAt":"', register_api_time(p.effective_at), '","lineVersion":"2","number":"', p.number, '","previousDigest":', COALESCE(('"'::text || encode(p.previous_digest, 'hex'::text)) || '"'::text, 'null'::text), ',"price":"', p.price_cents, '","privateDigest":"', encode(p.private_digest, 'hex'::text), '","source":"', p.source, '","token":"Token|', p.token_id, '"}')
        END AS line,
        CASE
            WHEN p.salt IS NOT NULL THEN register_price_detail(p.recorded_by::text, p.recorded_at)
            ELSE NULL::text
        END AS private,
    p.salt,
    p.private_digest
   FROM issuers_tokenprice p;
