-- Each execution once for its buyer and once for its seller.
CREATE OR REPLACE VIEW public.trading_fill AS
 SELECT md5(concat_ws(' '::text, e.token_id, e.sequence, 0))::uuid AS id,
    e.token_id,
    e.sequence,
    0::smallint AS side,
    e.buy_order_id AS order_id,
    e.buyer_account_id AS account_id,
    e.price,
    e.quantity,
    e.price * e.quantity AS value,
        CASE
            WHEN e.aggressor IS NULL THEN 'AUCTION'::text
            WHEN e.aggressor = 0 THEN 'TAKER'::text
            ELSE 'MAKER'::text
        END AS liquidity,
    e.ledger_seq,
    e.at,
    ( SELECT b.at
           FROM trading_bust b
          WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at,
    ( SELECT COALESCE(sum(f.net), 0::numeric)::bigint AS "coalesce"
           FROM trading_executionfee f
          WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 0) AS fee_net,
    ( SELECT COALESCE(sum(f.vat), 0::numeric)::bigint AS "coalesce"
           FROM trading_executionfee f
          WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 0) AS fee_vat
   FROM trading_execution e
UNION ALL
 SELECT md5(concat_ws(' '::text, e.token_id, e.sequence, 1))::uuid AS id,
    e.token_id,
    e.sequence,
    1::smallint AS side,
    e.sell_order_id AS order_id,
    e.seller_account_id AS account_id,
    e.price,
    e.quantity,
    e.price * e.quantity AS value,
        CASE
            WHEN e.aggressor IS NULL THEN 'AUCTION'::text
            WHEN e.aggressor = 1 THEN 'TAKER'::text
            ELSE 'MAKER'::text
        END AS liquidity,
    e.ledger_seq,
    e.at,
    ( SELECT b.at
           FROM trading_bust b
          WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at,
    ( SELECT COALESCE(sum(f.net), 0::numeric)::bigint AS "coalesce"
           FROM trading_executionfee f
          WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 1) AS fee_net,
    ( SELECT COALESCE(sum(f.vat), 0::numeric)::bigint AS "coalesce"
           FROM trading_executionfee f
          WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 1) AS fee_vat
   FROM trading_execution e;
