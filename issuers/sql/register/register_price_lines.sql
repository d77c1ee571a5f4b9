-- The lines of text of which the chain of a token's prices is made.
CREATE OR REPLACE VIEW public.register_price_lines AS
 SELECT p.token_id,
    p.number,
    concat('{"effectiveAt":"', to_char((p.effective_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","number":', p.number, ',"priceCents":"', p.price_cents, '","recordedAt":"', to_char((p.recorded_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), '","recordedBy":', to_json(p.recorded_by), ',"source":"', p.source, '","token":"', p.token_id, '"}') AS line
   FROM issuers_tokenprice p;
