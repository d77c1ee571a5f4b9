-- Tells partners: events in the order of the arguments, where each list has a value for
-- every event, or is NULL. An audience is PARTNER, as without a list: the partner that
-- is named; GRANTED: those with a grant for the issuer; or ALL. An event without an
-- issuer gets its token's. `last`: no writer of the transaction comes after this one.
-- Then they are numbered now, behind those that the transaction collected before, and
-- the heads stay locked until the commit. Else the commit numbers them, and one of a
-- kind, subject and partner is written once, with its last sequence of the ledger.
-- called by: accounts_write, binds_end_grant, binds_enter, binds_grant, cash_tell,
--     cash_tell_unassigned, events_announce_articles, events_article_changed,
--     events_figures_changed, events_number, keys_enter, keys_narrow, offerings_tell,
--     offerings_tell_each, register_enter, trading_announce, trading_announce_bust,
--     trading_block, trading_call, trading_change_phase, trading_correct,
--     trading_indicate, trading_release, trading_set_parameters, trading_settle,
--     trading_tell_registers, trading_undo, trading_write
-- locks: events by grants (advisory), events by grants (advisory, shared),
--     issuers_eventhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.events_write(
    audiences text[], partners uuid[], kinds text[], subjects uuid[], issuers uuid[],
    tokens uuid[], accounts uuid[], ledger_sequences bigint[] DEFAULT NULL::bigint[],
    order_events bigint[] DEFAULT NULL::bigint[],
    prices bigint[] DEFAULT NULL::bigint[],
    quantities bigint[] DEFAULT NULL::bigint[],
    remainings bigint[] DEFAULT NULL::bigint[], trades bigint[] DEFAULT NULL::bigint[],
    reasons text[] DEFAULT NULL::text[], last boolean DEFAULT false
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    this bigint := pg_current_xact_id()::text::bigint;
    collects boolean := NOT last;
BEGIN
    IF last THEN
        collects := EXISTS (
            SELECT FROM issuers_unnumberedevent WHERE transaction = this);
    END IF;
    IF collects THEN
        -- Several events of an order are several events: each has its number.
        INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
            type, subject_id, issuer_id, token_id, account_id, ledger_sequence,
            order_id, order_event, price, quantity, remaining, trade, reason)
        SELECT this, u.n = 1 AND NOT EXISTS (
                SELECT FROM issuers_unnumberedevent WHERE transaction = this),
            coalesce(u.audience, 'PARTNER'), u.partner_id, u.type,
            CASE WHEN u.order_event IS NULL THEN u.subject_id
                ELSE md5(concat_ws(' ', u.token_id, u.order_event))::uuid END,
            coalesce(u.issuer_id, t.issuer_id), u.token_id, u.account_id,
            u.ledger_sequence,
            CASE WHEN u.order_event IS NOT NULL THEN u.subject_id END,
            u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM unnest(audiences, partners, kinds, subjects, issuers, tokens, accounts,
            ledger_sequences, order_events, prices, quantities, remainings, trades,
            reasons) WITH ORDINALITY AS u (audience, partner_id, type, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price,
            quantity, remaining, trade, reason, n)
        LEFT JOIN issuers_token t ON t.id = u.token_id AND u.issuer_id IS NULL
        ORDER BY u.n
        ON CONFLICT (transaction, type, subject_id, partner_id)
        DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
        IF last THEN
            SET CONSTRAINTS public.events_announce, public.events_number IMMEDIATE;
            SET CONSTRAINTS public.events_announce, public.events_number DEFERRED;
        END IF;
        RETURN;
    END IF;
    IF 'GRANT_CHANGED' = ANY (kinds) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF 'GRANTED' = ANY (audiences) THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    WITH addressed AS MATERIALIZED (
        SELECT p.id AS reader, u.*, coalesce(u.issuer_id, t.issuer_id) AS of_issuer
        FROM unnest(audiences, partners, kinds, subjects, issuers, tokens, accounts,
            ledger_sequences, order_events, prices, quantities, remainings, trades,
            reasons) WITH ORDINALITY AS u (audience, partner_id, type, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price,
            quantity, remaining, trade, reason, n)
        LEFT JOIN issuers_token t ON t.id = u.token_id AND u.issuer_id IS NULL
        CROSS JOIN LATERAL (
            SELECT u.partner_id AS id WHERE coalesce(u.audience, 'PARTNER') = 'PARTNER'
            UNION ALL
            SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
            WHERE u.audience = 'GRANTED' AND (g.issuer_id IS NULL
                OR g.issuer_id = coalesce(u.issuer_id, t.issuer_id))
            UNION ALL
            SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
        ) p
    ), held AS MATERIALIZED (
        SELECT partner_id, last_sequence, last_at FROM issuers_eventhead
        WHERE partner_id IN (SELECT reader FROM addressed)
        ORDER BY partner_id FOR NO KEY UPDATE
    ), now AS MATERIALIZED (
        -- After the last lock: times do not run backwards.
        SELECT clock_timestamp() AS taken FROM (SELECT count(*) FROM held) h
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price,
            quantity, remaining, trade, reason)
        -- Ids rise with a partner's numbers: their index grows at one place.
        SELECT (left(md5(e.reader::text), 16) || lpad(to_hex(e.sequence), 16, '0'))::uuid,
            e.reader, e.sequence, e.type, e.at, e.subject_id, e.of_issuer, e.token_id,
            e.account_id, e.ledger_sequence, e.order_event, e.price, e.quantity,
            e.remaining, e.trade, e.reason
        FROM (
            SELECT u.*, greatest(h.last_at, now.taken) AS at,
                h.last_sequence + row_number() OVER (
                    PARTITION BY u.reader ORDER BY u.n) AS sequence
            FROM addressed u JOIN held h ON h.partner_id = u.reader CROSS JOIN now
        ) e
        RETURNING partner_id, sequence, at, type, issuer_id, token_id
    ), counted AS (
        INSERT INTO issuers_eventcount AS c (partner_id, type, issuer_id, token_id,
            number)
        SELECT partner_id, type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END,
            CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
                'MARKET_PHASE_CHANGED', 'OFFERING_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END, count(*)
        FROM numbered GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    -- A session that hears it notifies those who wait for events, after the commit.
    RAISE INFO 'Partners have new events.' USING ERRCODE = 'PEV01';
END $$;
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[],
    uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean)
    FROM PUBLIC;
