-- Gives a market, or a partner on it, a tariff from an instant on, which ends the one
-- before; without a rate for makers that one only ends. The instant is never in the past.
-- The first tariff opens the market's account for fees. It uses the approval that policy
-- asks for.
-- called by: application
-- raises: restrict_violation
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_set_tariff(
    actor text, of_token uuid, of_partner uuid, begins timestamp with time zone,
    maker integer, taker integer, least_cents bigint, most_cents bigint, vat integer,
    why text
)
RETURNS SETOF trading_tariff LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    present trading_tariff;
    approver text;
    account bigint;
    moment timestamptz;
    starts timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token AND h.source = 'OWN' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A tariff is of an internal market: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO present FROM trading_tariff t
        WHERE t.token_id = of_token AND t.partner_id IS NOT DISTINCT FROM of_partner
            AND t.ended_at IS NULL;
    moment := clock_timestamp();
    starts := greatest(begins, moment);
    IF maker IS NULL AND present.id IS NULL OR starts < present.valid_from
        AND maker IS NOT NULL THEN
        RAISE EXCEPTION 'A tariff follows one that has begun, or ends one: %.',
            of_token USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'TARIFF', jsonb_build_object('token', of_token,
        'partner', of_partner, 'from', floor(extract(epoch FROM begins)),
        'terms', CASE WHEN maker IS NOT NULL THEN jsonb_build_object('maker', maker,
            'taker', taker, 'minimum', least_cents, 'maximum', most_cents, 'vat', vat)
            END,
        'replaces', present.id) || CASE WHEN maker IS NULL THEN '{}'
            ELSE jsonb_build_object('reason', why) END);
    UPDATE trading_tariff t SET ended_at = greatest(starts, t.valid_from),
        ended_by = actor WHERE t.id = present.id;
    IF maker IS NULL THEN
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM trading_market m
            WHERE m.token_id = of_token AND m.fees_account_id IS NOT NULL) THEN
        INSERT INTO accounts_cashaccount (kind) VALUES ('MARKET')
            RETURNING id INTO account;
        INSERT INTO accounts_cashhead
            (cash_account_id, kind, balance, reserved, last_number, entry_digest)
        VALUES (account, 'MARKET', 0, 0, 0, decode(repeat('00', 32), 'hex'));
        UPDATE trading_market m SET fees_account_id = account
            WHERE m.token_id = of_token;
    END IF;
    RETURN QUERY INSERT INTO trading_tariff (token_id, partner_id, maker_bps, taker_bps,
        minimum, maximum, vat_bps, valid_from, replaces_id, reason, created_by,
        approved_by, created_at, ended_by)
    VALUES (of_token, of_partner, maker, taker, least_cents, most_cents, vat, starts,
        present.id, why, actor, approver, moment, '')
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.trading_set_tariff(text, uuid, uuid, timestamp with time
    zone, integer, integer, bigint, bigint, integer, text) FROM PUBLIC;
