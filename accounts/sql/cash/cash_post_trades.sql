-- Writes the payments of trades, or of their busts, in their order, and returns the
-- transactions' ids. Each has its execution or its bust at the commit.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.cash_post_trades(
    at timestamp with time zone, kinds text[], sources bigint[], targets bigint[],
    amounts bigint[], actors text[], reasons text[], reverses bigint[]
)
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    payments integer := cardinality(kinds);
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT kinds <@ ARRAY['TRADE', 'REVERSAL'] OR EXISTS (
        SELECT FROM accounts_cashtransaction t
        WHERE t.id = ANY (reverses) AND t.kind <> 'TRADE') THEN
        RAISE EXCEPTION 'A market moves the cash of trades and of their busts, and no '
            'other.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (sources || targets)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    RETURN cash_post(cash_post_trades.at, kinds, sources, targets, amounts, actors,
        reasons, array_fill(NULL::text, ARRAY[payments]), reverses,
        array_fill(NULL::bigint, ARRAY[payments]),
        array_fill(NULL::uuid, ARRAY[payments]), '{}', '{}');
END $$;
REVOKE ALL ON FUNCTION public.cash_post_trades(timestamp with time zone, text[],
    bigint[], bigint[], bigint[], text[], text[], bigint[]) FROM PUBLIC;
