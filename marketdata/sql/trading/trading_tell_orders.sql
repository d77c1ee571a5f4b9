-- Tells an order's partner about each of its events.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.trading_tell_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_tell_orders guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id, type,
        subject_id, issuer_id, token_id, account_id, order_id, order_event, price,
        quantity, remaining, trade, reason)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', o.partner_id, e.kind,
        md5(concat_ws(' ', e.token_id, e.number))::uuid, t.issuer_id, e.token_id,
        o.account_id, o.id, e.number, e.price, e.quantity, e.remaining, e.trade,
        CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') THEN e.reason END
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id, e.number;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_orders() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_tell_orders AFTER INSERT ON public.trading_orderevent
    REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    EXECUTE FUNCTION public.trading_tell_orders();
