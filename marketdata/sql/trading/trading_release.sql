-- Releases a block of orders: a partner its own, and two people of staff a block of
-- staff. Whether it stood until now.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_release(block uuid, asked_by text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    of trading_orderblock;
    used uuid;
BEGIN
    UPDATE trading_orderblock b SET released_at = clock_timestamp(),
        released_by = asked_by
    WHERE b.id = block AND b.released_at IS NULL RETURNING * INTO of;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    IF of.is_staff THEN
        used := approvals_use('RELEASE', jsonb_build_object('block', block), NULL, NULL,
            NULL);
        PERFORM cash_judge_staff(asked_by, used, '{}');
    ELSIF NOT EXISTS (SELECT FROM accounts_partner p
            WHERE p.id = of.partner_id AND p.login = asked_by) THEN
        RAISE EXCEPTION 'A partner releases its own blocks: %.', block
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM events_write(ARRAY[CASE WHEN of.partner_id IS NULL THEN 'ALL'
            ELSE 'PARTNER' END], ARRAY[of.partner_id], ARRAY['ORDERS_RELEASED'],
        ARRAY[of.account_id], NULL, ARRAY[of.token_id], ARRAY[of.account_id]);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.trading_release(uuid, text) FROM PUBLIC;
