-- Keeps refused orders as they were sent, and adds those that are only counted, which
-- name no account, to the row of their partner, minute and code. Sorted, so that two
-- processes do not close a circle.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_keep_refused(
    ids uuid[], partners uuid[], times timestamp with time zone[], codes text[],
    numbers bigint[], messages text[], accounts uuid[], tokens uuid[], orders uuid[],
    sides smallint[], quantities numeric[], limits numeric[], times_in_force text[],
    client_order_ids text[]
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF 'infinity' = ANY (times) OR '-infinity' = ANY (times) THEN
        RAISE EXCEPTION 'An order was refused at a time.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_refusedorder (id, partner_id, at, code, number, message,
        account_id, token_id, order_id, side, quantity, limit_price, time_in_force,
        client_order_id)
    SELECT n.* FROM unnest(ids, partners, times, codes, numbers, messages, accounts,
        tokens, orders, sides, quantities, limits, times_in_force, client_order_ids)
        AS n (id, partner, at, code, number, message, account)
    WHERE n.account IS NOT NULL
    ON CONFLICT (id) DO NOTHING;
    INSERT INTO trading_refusedorder AS r (id, partner_id, at, code, number)
    SELECT n.id, n.partner, n.at, n.code, n.number
    FROM unnest(ids, partners, times, codes, numbers, accounts)
        AS n (id, partner, at, code, number, account)
    WHERE n.account IS NULL
    ORDER BY n.partner, n.at, n.code
    ON CONFLICT (partner_id, at, code) WHERE account_id IS NULL
        DO UPDATE SET number = r.number + excluded.number;
END $$;
REVOKE ALL ON FUNCTION public.trading_keep_refused(uuid[], uuid[],
    timestamp with time zone[], text[], bigint[], text[], uuid[], uuid[], uuid[],
    smallint[], numeric[], numeric[], text[], text[]) FROM PUBLIC;
