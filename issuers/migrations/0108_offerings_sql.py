"""Offerings sql."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    WITH removed AS (
        DELETE FROM issuers_event WHERE partner_id = head.partner_id
            AND sequence > head.pruned_sequence AND sequence <= until
        RETURNING type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END AS issuer_id,
            CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
                'MARKET_PHASE_CHANGED', 'OFFERING_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END AS token_id
    ), counted AS (
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT type, issuer_id, token_id, count(*) AS number FROM removed
            GROUP BY 1, 2, 3) g
        WHERE c.partner_id = head.partner_id AND c.type = g.type
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id
    )
    SELECT count(*) INTO deleted FROM removed;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_write(audiences text[], partners uuid[], kinds text[], subjects uuid[], issuers uuid[], tokens uuid[], accounts uuid[], ledger_sequences bigint[] DEFAULT NULL::bigint[], order_events bigint[] DEFAULT NULL::bigint[], prices bigint[] DEFAULT NULL::bigint[], quantities bigint[] DEFAULT NULL::bigint[], remainings bigint[] DEFAULT NULL::bigint[], trades bigint[] DEFAULT NULL::bigint[], reasons text[] DEFAULT NULL::text[], last boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_allot(actor text, of_offering uuid, subscriptions uuid[], units bigint[], codes text[])
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    moment timestamptz;
    total numeric;
    wrong text;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    moment := clock_timestamp();
    IF (offering.status IN ('CLOSED', 'ALLOTTED') AND offering.price IS NOT NULL)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Units are allotted of an offering that has closed and has a '
            'price.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_subscription s WHERE s.offering_id = of_offering
            AND s.status = 'ACTIVE' AND s.reflects_until > moment) THEN
        RAISE EXCEPTION 'Units are allotted once the last reflection period has ended.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT sum(g.units) INTO total FROM unnest(units) AS g (units);
    IF (total BETWEEN offering.minimum_units AND offering.maximum_units)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'An allotment is between the minimum and the maximum of its '
            'offering: %.', coalesce(total, 0) USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(s.id, g.id)::text INTO wrong
    FROM unnest(subscriptions, units, codes) AS g (id, units, code)
    FULL JOIN (SELECT * FROM issuers_subscription x
        WHERE x.offering_id = of_offering AND x.status = 'ACTIVE') s ON s.id = g.id
    WHERE (g.units BETWEEN 0 AND s.quantity AND g.code IS NOT NULL
        AND (g.units = 0 OR s.limit_price >= offering.price)) IS NOT TRUE
    LIMIT 1;
    IF FOUND OR cardinality(subscriptions) <> (SELECT count(DISTINCT g.id)
            FROM unnest(subscriptions) AS g (id)) THEN
        RAISE EXCEPTION 'An allotment names each active subscription once, with at most '
            'its units, within its limit: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'ALLOT',
        'offering', of_offering, 'price', offering.price, 'units', total,
        'digest', offerings_digest(subscriptions, units, codes)));
    UPDATE issuers_subscription s SET allotted = g.units, refusal = g.code,
        updated_at = greatest(s.updated_at, moment)
    FROM unnest(subscriptions, units, codes) AS g (id, units, code)
    WHERE s.id = g.id;
    UPDATE issuers_offering o SET status = 'ALLOTTED', updated_at = moment
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    PERFORM offerings_tell_each(offering.token_id, subscriptions);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_allot(text, uuid, uuid[], bigint[], text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_amend(asker text, subscription uuid, expected integer, units bigint, cents bigint, at timestamp with time zone)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    before issuers_subscription;
    written issuers_subscription;
    is_more boolean;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = before.offering_id FOR SHARE;
    SELECT * INTO account FROM accounts_account a
        WHERE a.id = before.account_id FOR SHARE;
    UPDATE accounts_cashhead h
        SET reserved = h.reserved + units * cents - s.quantity * s.limit_price
    FROM issuers_subscription s
    WHERE s.id = subscription AND h.cash_account_id = s.cash_account_id;
    SELECT * INTO before FROM issuers_subscription s WHERE s.id = subscription;
    PERFORM offerings_judge(asker, offering, account, before.ledger_account_id, units,
        cents, at);
    IF (before.status = 'ACTIVE' AND before.version = expected
        AND (units >= before.quantity AND cents >= before.limit_price
            OR at < before.reflects_until)) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is amended while it is active, in the version '
            'that was read, and to less before its reflection period has ended.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    is_more := units > before.quantity OR cents > before.limit_price;
    UPDATE issuers_subscription s SET quantity = units, limit_price = cents,
        version = s.version + 1, updated_at = at,
        ranked_at = CASE WHEN is_more THEN at ELSE s.ranked_at END,
        reflects_until = CASE WHEN is_more THEN greatest(s.reflects_until,
            offerings_reflects_until(offering, s.user_id, at))
            ELSE s.reflects_until END
    WHERE s.id = subscription
    RETURNING * INTO written;
    PERFORM cash_tell(ARRAY[before.cash_account_id]);
    PERFORM offerings_tell_each(offering.token_id, ARRAY[subscription]);
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_amend(text, uuid, integer, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_close(of_offering uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    offering issuers_offering;
    covered numeric;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status IN ('OPEN', 'CLOSED')
            AND offering.closes_at <= clock_timestamp()) IS NOT TRUE THEN
        RETURN FALSE;
    END IF;
    SELECT coalesce(sum(s.quantity), 0) INTO covered FROM issuers_subscription s
        WHERE s.offering_id = of_offering AND s.status = 'ACTIVE';
    IF offering.status = 'CLOSED' AND covered >= offering.minimum_units THEN
        RETURN FALSE;
    END IF;
    UPDATE issuers_offering o SET updated_at = clock_timestamp(),
        status = CASE WHEN covered >= o.minimum_units THEN 'CLOSED' ELSE 'FAILED' END
        WHERE o.id = of_offering RETURNING * INTO offering;
    IF offering.status = 'FAILED' THEN
        PERFORM offerings_release(offering);
    END IF;
    PERFORM offerings_tell(offering);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.offerings_close(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_digest(subscriptions uuid[], units bigint[], codes text[])
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(
        concat_ws(' ', g.id, g.units, g.code) || chr(10), '' ORDER BY g.id), ''),
        'UTF8')), 'hex')
    FROM unnest(subscriptions, units, codes) AS g (id, units, code);
$$;
REVOKE ALL ON FUNCTION public.offerings_digest(uuid[], bigint[], text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_draft(actor text, drafted uuid, of_token uuid, terms jsonb)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    written issuers_offering;
    moment timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM cash_judge_staff(actor, NULL, ARRAY['file_offering']);
    PERFORM FROM issuers_offering o WHERE o.id = drafted FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM issuers_offering o WHERE o.id = drafted
            AND (o.status <> 'DRAFT' OR o.token_id <> of_token)) THEN
        RAISE EXCEPTION 'Only the terms of a draft change, and never its token.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    moment := clock_timestamp();
    INSERT INTO issuers_offering AS o (id, token_id, status, status_reason, rule,
        source, price, price_floor, price_cap, maximum_units, minimum_units,
        smallest_ticket, largest_ticket, opens_at, closes_at, reflection_seconds,
        fee_bps, vat_bps, documents, created_by, opened_by, approved_by, created_at,
        updated_at)
    VALUES (drafted, of_token, 'DRAFT', '', terms ->> 'rule', terms ->> 'source',
        (terms ->> 'price')::bigint, (terms ->> 'floor')::bigint,
        (terms ->> 'cap')::bigint, (terms ->> 'maximum')::bigint,
        (terms ->> 'minimum')::bigint, (terms ->> 'smallest')::bigint,
        (terms ->> 'largest')::bigint,
        to_timestamp((terms ->> 'opens')::bigint),
        to_timestamp((terms ->> 'closes')::bigint),
        (terms ->> 'reflection')::bigint, (terms ->> 'fee')::integer,
        (terms ->> 'vat')::integer,
        ARRAY(SELECT jsonb_array_elements_text(terms -> 'documents')::uuid), actor, '',
        '', moment, moment)
    ON CONFLICT (id) DO UPDATE SET rule = excluded.rule, source = excluded.source,
        price = excluded.price, price_floor = excluded.price_floor,
        price_cap = excluded.price_cap, maximum_units = excluded.maximum_units,
        minimum_units = excluded.minimum_units,
        smallest_ticket = excluded.smallest_ticket,
        largest_ticket = excluded.largest_ticket, opens_at = excluded.opens_at,
        closes_at = excluded.closes_at,
        reflection_seconds = excluded.reflection_seconds, fee_bps = excluded.fee_bps,
        vat_bps = excluded.vat_bps, documents = excluded.documents,
        created_by = excluded.created_by, updated_at = excluded.updated_at
    RETURNING * INTO written;
    IF EXISTS (SELECT FROM unnest(written.documents) AS d (id)
            WHERE NOT EXISTS (SELECT FROM issuers_document x WHERE x.id = d.id)) THEN
        RAISE EXCEPTION 'An offering names documents that exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_draft(text, uuid, uuid, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_end(actor text, of_offering uuid, becomes text, why text)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (becomes = 'WITHDRAWN' AND offering.status IN ('DRAFT', 'OPEN', 'CLOSED',
                'ALLOTTED')
            OR becomes = 'FAILED' AND offering.status = 'CLOSED') IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering that is % does not become %.', offering.status,
            becomes USING ERRCODE = 'restrict_violation';
    END IF;
    IF offering.status = 'DRAFT' THEN
        PERFORM cash_judge_staff(actor, NULL, ARRAY['file_offering']);
    ELSE
        PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', becomes,
            'offering', of_offering, 'was', offering.status, 'reason', why));
        PERFORM offerings_release(offering);
    END IF;
    UPDATE issuers_offering o SET status = becomes, status_reason = why,
        settling_until = NULL, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    IF offering.opened_by <> '' THEN
        PERFORM offerings_tell(offering);
    END IF;
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_end(text, uuid, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_judge(asker text, offering issuers_offering, account accounts_account, target bigint, units bigint, cents bigint, at timestamp with time zone)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    wrong text;
BEGIN
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription has the time that its writer took under the '
            'lock, and not %.', at USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_partner p
        WHERE p.id = account.partner_id AND p.login = asker AND p.is_active;
    IF NOT FOUND OR account.status <> 'ACTIVE' THEN
        RAISE EXCEPTION 'The partner of an active account subscribes for it, and not '
            '%.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    IF (offering.status = 'OPEN' AND at >= offering.opens_at AND at < offering.closes_at)
            IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering takes subscriptions while it is open.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (units BETWEEN offering.smallest_ticket AND coalesce(offering.largest_ticket,
            offering.maximum_units) AND CASE offering.rule WHEN 'BOOK'
            THEN cents BETWEEN offering.price_floor AND offering.price_cap
            ELSE cents = offering.price END) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is within the tickets and the prices of its '
            'offering.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT r.code INTO wrong
        FROM offerings_refusals(offering, target, NULL, units, at) r LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            'the subscription: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.offerings_judge(text, issuers_offering, accounts_account, bigint, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_leave(asker text, subscription uuid, at timestamp with time zone)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    kept issuers_subscription;
    standing text;
    token uuid;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = subscription;
    SELECT o.status, o.token_id INTO standing, token FROM issuers_offering o
        WHERE o.id = kept.offering_id FOR SHARE;
    PERFORM FROM accounts_account a WHERE a.id = kept.account_id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = kept.cash_account_id FOR NO KEY UPDATE;
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = subscription;
    IF (at BETWEEN transaction_timestamp() AND clock_timestamp()
        AND kept.status = 'ACTIVE' AND standing IN ('OPEN', 'CLOSED')
        AND at < kept.reflects_until) IS NOT TRUE THEN
        RAISE EXCEPTION 'A subscription is withdrawn before its reflection period has '
            'ended.' USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_partner p
        WHERE p.id = kept.partner_id AND p.login = asker AND p.is_active;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The partner of its account withdraws a subscription, and not '
            '%.', asker USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_cashhead h
        SET reserved = h.reserved - kept.quantity * kept.limit_price
        WHERE h.cash_account_id = kept.cash_account_id;
    UPDATE issuers_subscription s SET status = 'WITHDRAWN', version = s.version + 1,
        updated_at = at
        WHERE s.id = subscription RETURNING * INTO kept;
    PERFORM cash_tell(ARRAY[kept.cash_account_id]);
    PERFORM offerings_tell_each(token, ARRAY[subscription]);
    RETURN kept;
END $$;
REVOKE ALL ON FUNCTION public.offerings_leave(text, uuid, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_mark(actor text, of_offering uuid, seconds integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    standing text;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM cash_judge_staff(actor, NULL, ARRAY['file_settlement', 'decide_settlement']);
    SELECT o.status INTO standing FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF seconds = 0 THEN
        UPDATE issuers_offering o SET settling_until = NULL WHERE o.id = of_offering;
        RETURN;
    END IF;
    IF (standing = 'ALLOTTED' AND seconds BETWEEN 1 AND 120) IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering that is allotted settles, in 120 seconds at most.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('orders of partner' || p.id, 0))
        FROM (SELECT x.id FROM accounts_partner x ORDER BY x.id) p;
    UPDATE issuers_offering o
        SET settling_until = clock_timestamp() + make_interval(secs => seconds)
        WHERE o.id = of_offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_mark(text, uuid, integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_open(actor text, of_offering uuid)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    approver text;
    issuer uuid;
    available numeric;
    account bigint;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'DRAFT' AND offering.closes_at > clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Only a draft that closes later is opened.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT t.issuer_id, CASE offering.source
        WHEN 'MINT' THEN coalesce(t.authorized_units, 18446744073709551615) - h.supply
        ELSE (SELECT coalesce(sum(b.balance), 0)
            FROM issuers_holderbalance b
            JOIN issuers_ledgeraccount a ON a.id = b.account_id AND a.kind = 'TREASURY'
            WHERE b.token_id = t.id) END
    INTO issuer, available
    FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
    WHERE t.id = offering.token_id AND t.market_type = 'PRIMARY_MARKET';
    IF (available >= offering.maximum_units) IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering is of a token on the primary market, and of units '
            'that the issuer has or may mint: % of %.', offering.maximum_units,
            coalesce(available, 0) USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'OPEN',
        'offering', of_offering, 'token', offering.token_id,
        'terms', offerings_terms(offering)));
    IF NOT EXISTS (SELECT FROM issuers_issuercash c WHERE c.issuer_id = issuer) THEN
        INSERT INTO accounts_cashaccount (kind) VALUES ('ISSUER')
            RETURNING id INTO account;
        INSERT INTO accounts_cashhead
            (cash_account_id, kind, balance, reserved, last_number, entry_digest)
        VALUES (account, 'ISSUER', 0, 0, 0, decode(repeat('00', 32), 'hex'));
        INSERT INTO issuers_issuercash (issuer_id, cash_account_id)
            VALUES (issuer, account);
    END IF;
    UPDATE issuers_offering o SET status = 'OPEN', opened_by = actor,
        approved_by = approver, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_open(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_pay_out(actor text, withdrawal uuid, of_issuer uuid, cents bigint, payee_name text, payee_iban text)
RETURNS accounts_withdrawal LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    cash bigint;
    used uuid;
    moment timestamptz;
    ordered accounts_withdrawal;
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.cash_account_id INTO cash FROM issuers_issuercash c
        WHERE c.issuer_id = of_issuer;
    PERFORM FROM accounts_cashhead h WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    IF (cents BETWEEN 1 AND (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = cash)) IS NOT TRUE THEN
        RAISE EXCEPTION 'An issuer is paid cents of its cash that are available: %.',
            cents USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('PAYOUT', jsonb_build_object('withdrawal', withdrawal,
        'issuer', of_issuer, 'cents', cents::text, 'payee', payee_name,
        'iban', payee_iban), cents, NULL, NULL);
    PERFORM cash_judge_staff(actor, used, ARRAY['file_payout']);
    UPDATE accounts_cashhead h SET reserved = h.reserved + cents
        WHERE h.cash_account_id = cash;
    moment := clock_timestamp();
    INSERT INTO accounts_withdrawal (id, cash_account_id, amount, reference,
        payment_reference, status, status_reason, request_id, requested_by, created_at,
        updated_at)
    VALUES (withdrawal, cash, cents, withdrawal::text,
        cash_reference('2', ('x' || right(withdrawal::text, 12))::bit(48)::bigint),
        'APPROVED', '', used, actor, moment, moment)
    RETURNING * INTO ordered;
    INSERT INTO accounts_payee (withdrawal_id, name, iban)
        VALUES (ordered.id, payee_name, payee_iban);
    RETURN ordered;
END $$;
REVOKE ALL ON FUNCTION public.offerings_pay_out(text, uuid, uuid, bigint, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_price(actor text, of_offering uuid, cents bigint)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'CLOSED' AND offering.rule = 'BOOK') IS NOT TRUE THEN
        RAISE EXCEPTION 'Only an offering with a book that has closed gets a price.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'PRICE',
        'offering', of_offering, 'cents', cents, 'before', offering.price));
    UPDATE issuers_offering o SET price = cents, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_price(text, uuid, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_read(of_offering uuid, of_account uuid, units bigint, holds boolean)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    ledger bigint;
    cash bigint;
    settling integer;
    moment timestamptz;
BEGIN
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_offering o WHERE o.id = of_offering FOR SHARE;
        PERFORM FROM accounts_account a WHERE a.id = of_account FOR SHARE;
    END IF;
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = of_offering;
    SELECT * INTO account FROM accounts_account a WHERE a.id = of_account;
    SELECT l.id INTO ledger FROM issuers_ledgeraccount l
        WHERE l.user_id = account.user_id;
    SELECT c.id INTO cash FROM accounts_cashaccount c WHERE c.account_id = of_account;
    settling := offerings_settling(ARRAY[cash]);
    IF holds AND ledger IS NULL THEN
        RETURN json_build_object('missing', account.user_id);
    END IF;
    IF holds AND settling IS NULL THEN
        PERFORM FROM issuers_ledgeraccount l WHERE l.id = ledger FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    END IF;
    moment := clock_timestamp();
    RETURN json_build_object('clock', moment, 'settling', settling,
        'offering', to_json(offering), 'account', account.status,
        'class', (SELECT i.investor_class FROM accounts_investorprofile i
            WHERE i.user_id = account.user_id),
        'available', (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = cash),
        'before', (SELECT s.id FROM issuers_subscription s
            WHERE s.account_id = of_account AND s.offering_id = of_offering
                AND s.status = 'ACTIVE'),
        'refusals', (SELECT coalesce(json_agg(json_build_array(r.code, r.details)),
                '[]')
            FROM offerings_refusals(offering, ledger,
                CASE WHEN ledger IS NULL THEN account.user_id END, units, moment) r));
END $$;
REVOKE ALL ON FUNCTION public.offerings_read(uuid, uuid, bigint, boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_read_subscription(of_subscription uuid, units bigint, holds boolean)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    kept issuers_subscription;
    settling integer;
    moment timestamptz;
BEGIN
    SELECT * INTO kept FROM issuers_subscription s WHERE s.id = of_subscription;
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_offering o WHERE o.id = kept.offering_id FOR SHARE;
        PERFORM FROM accounts_account a WHERE a.id = kept.account_id FOR SHARE;
    END IF;
    settling := offerings_settling(ARRAY[kept.cash_account_id]);
    IF holds AND settling IS NULL THEN
        PERFORM FROM issuers_ledgeraccount l WHERE l.id = kept.ledger_account_id
            FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = kept.cash_account_id FOR NO KEY UPDATE;
        SELECT * INTO kept FROM issuers_subscription s WHERE s.id = of_subscription;
    END IF;
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = kept.offering_id;
    moment := clock_timestamp();
    RETURN json_build_object('clock', moment, 'settling', settling,
        'offering', to_json(offering), 'subscription', to_json(kept),
        'account', (SELECT a.status FROM accounts_account a
            WHERE a.id = kept.account_id),
        'class', (SELECT i.investor_class FROM accounts_investorprofile i
            WHERE i.user_id = kept.user_id),
        'available', (SELECT h.balance - h.reserved FROM accounts_cashhead h
            WHERE h.cash_account_id = kept.cash_account_id),
        'refusals', (SELECT coalesce(json_agg(json_build_array(r.code, r.details)),
                '[]')
            FROM offerings_refusals(offering, kept.ledger_account_id, NULL, units,
                moment) r));
END $$;
REVOKE ALL ON FUNCTION public.offerings_read_subscription(uuid, bigint, boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_reflects_until(offering issuers_offering, investor uuid, at timestamp with time zone)
RETURNS timestamp with time zone LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN CASE WHEN EXISTS (SELECT FROM accounts_investorprofile i
            WHERE i.user_id = investor
                AND i.investor_class IN ('PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'))
        THEN at ELSE at + make_interval(secs => offering.reflection_seconds) END;
END $$;
REVOKE ALL ON FUNCTION public.offerings_reflects_until(issuers_offering, uuid, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_refusals(offering issuers_offering, target bigint, newcomer uuid, units bigint, at timestamp with time zone)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    head issuers_tokenledgerhead;
    held numeric;
BEGIN
    SELECT * INTO head FROM issuers_tokenledgerhead h
        WHERE h.token_id = offering.token_id;
    SELECT coalesce(sum(b.balance), 0) INTO held FROM issuers_holderbalance b
        WHERE b.token_id = offering.token_id AND b.account_id = target;
    RETURN QUERY SELECT j.code, j.details FROM register_judge(offering.token_id,
        'ALLOCATE', NULL, target, units, at, FALSE, 0, 0, held,
        head.supply + CASE offering.source WHEN 'MINT' THEN offering.maximum_units
            ELSE 0 END,
        head.holder_count, head.holder_count + (held = 0)::integer, newcomer) j;
END $$;
REVOKE ALL ON FUNCTION public.offerings_refusals(issuers_offering, bigint, uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_release(offering issuers_offering)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    freed uuid[];
BEGIN
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (SELECT s.cash_account_id FROM issuers_subscription s
            WHERE s.offering_id = offering.id AND s.status = 'ACTIVE')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    UPDATE accounts_cashhead h SET reserved = h.reserved - r.cents
    FROM (
        SELECT s.cash_account_id, sum(s.quantity * s.limit_price)::bigint AS cents
        FROM issuers_subscription s
        WHERE s.offering_id = offering.id AND s.status = 'ACTIVE'
        GROUP BY s.cash_account_id
    ) r
    WHERE h.cash_account_id = r.cash_account_id;
    WITH ended AS (
        UPDATE issuers_subscription s SET status = 'RELEASED', allotted = 0,
            updated_at = clock_timestamp()
        WHERE s.offering_id = offering.id AND s.status = 'ACTIVE'
        RETURNING s.id
    ) SELECT array_agg(id) INTO freed FROM ended;
    IF freed IS NOT NULL THEN
        PERFORM offerings_tell_each(offering.token_id, freed);
        PERFORM cash_tell(array_agg(s.cash_account_id))
            FROM issuers_subscription s WHERE s.id = ANY (freed);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.offerings_release(issuers_offering) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_settle(actor text, of_offering uuid)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    last timestamptz;
    moment timestamptz;
    total numeric;
    net bigint;
    vat bigint;
    treasury bigint;
    takes bigint;
    fees bigint;
    part record;
    paid bigint[];
    done uuid[] := '{}';
    entered bigint[];
    why text;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'ALLOTTED') IS NOT TRUE THEN
        RAISE EXCEPTION 'Only an offering that is allotted settles.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(ARRAY[offering.token_id]);
    SELECT greatest(h.last_effective_at, h.last_price_at) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = offering.token_id FOR UPDATE;
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id IN (SELECT s.ledger_account_id FROM issuers_subscription s
            WHERE s.offering_id = of_offering AND s.status = 'ACTIVE')
        ORDER BY a.id FOR SHARE;
    SELECT a.id INTO STRICT treasury FROM issuers_ledgeraccount a
        JOIN issuers_token t ON t.issuer_id = a.issuer_id AND t.id = offering.token_id
        WHERE a.kind = 'TREASURY';
    SELECT c.cash_account_id INTO STRICT takes FROM issuers_issuercash c
        JOIN issuers_token t ON t.issuer_id = c.issuer_id AND t.id = offering.token_id;
    SELECT c.id INTO STRICT fees FROM accounts_cashaccount c WHERE c.kind = 'FEES';
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (takes, fees) OR h.cash_account_id IN (
            SELECT s.cash_account_id FROM issuers_subscription s
            WHERE s.offering_id = of_offering AND s.status = 'ACTIVE')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    moment := clock_timestamp();
    SELECT coalesce(sum(s.allotted), 0) INTO total FROM issuers_subscription s
        WHERE s.offering_id = of_offering AND s.status = 'ACTIVE';
    net := floor((2 * total * offering.price * offering.fee_bps + 10000) / 20000);
    vat := floor((2 * net::numeric * offering.vat_bps + 10000) / 20000);
    why := 'offering ' || of_offering;
    PERFORM approvals_use_by(actor, 'SETTLEMENT', jsonb_build_object(
        'offering', of_offering, 'units', total, 'cents', total * offering.price,
        'fee', net + vat));
    IF offering.source = 'MINT' THEN
        PERFORM register_post(moment, ARRAY[offering.token_id], ARRAY['MINT'],
            ARRAY[NULL]::bigint[], ARRAY[treasury], ARRAY[total], ARRAY[why],
            ARRAY[actor], ARRAY[NULL]::uuid[], ARRAY[NULL]::bigint[], '{}', '{}', '{}',
            '{}', '{}', '{}', '{}');
    END IF;
    FOR part IN
        SELECT array_agg(s.id ORDER BY s.place) AS ids,
            array_agg(s.ledger_account_id ORDER BY s.place) AS holders,
            array_agg(s.cash_account_id ORDER BY s.place) AS accounts,
            array_agg(s.allotted ORDER BY s.place) AS units,
            array_agg(s.quantity * s.limit_price ORDER BY s.place) AS reserves,
            count(*)::integer AS number
        FROM (
            SELECT x.*, row_number() OVER (ORDER BY x.allotted = 0, x.ranked_at, x.id)
                AS place
            FROM issuers_subscription x
            WHERE x.offering_id = of_offering AND x.status = 'ACTIVE'
        ) s
        GROUP BY s.allotted = 0, s.place / 5000
        ORDER BY min(s.place)
    LOOP
        done := done || part.ids;
        IF part.units[1] = 0 THEN
            PERFORM cash_post(moment, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
                '{}', '{}', part.accounts,
                ARRAY(SELECT -r FROM unnest(part.reserves) AS r));
            UPDATE issuers_subscription s SET status = 'RELEASED',
                updated_at = greatest(s.updated_at, moment)
                WHERE s.id = ANY (part.ids);
            CONTINUE;
        END IF;
        SELECT array_agg(p.number) INTO entered FROM register_post(moment,
            array_fill(offering.token_id, ARRAY[part.number]),
            array_fill('ALLOCATE'::text, ARRAY[part.number]),
            array_fill(treasury, ARRAY[part.number]), part.holders,
            part.units::numeric[], array_fill(why, ARRAY[part.number]),
            array_fill(actor, ARRAY[part.number]),
            array_fill(NULL::uuid, ARRAY[part.number]),
            array_fill(NULL::bigint, ARRAY[part.number]), '{}', '{}', '{}', '{}', '{}',
            '{}', '{}') p;
        paid := cash_post(moment,
            array_fill('OFFERING'::text, ARRAY[part.number]), part.accounts,
            array_fill(takes, ARRAY[part.number]),
            ARRAY(SELECT u.units * offering.price
                FROM unnest(part.units) WITH ORDINALITY AS u (units, place)
                ORDER BY u.place),
            array_fill(actor, ARRAY[part.number]), array_fill(why, ARRAY[part.number]),
            array_fill(NULL::text, ARRAY[part.number]),
            array_fill(NULL::bigint, ARRAY[part.number]),
            array_fill(NULL::bigint, ARRAY[part.number]),
            array_fill(NULL::uuid, ARRAY[part.number]), part.accounts,
            ARRAY(SELECT -r.cents
                FROM unnest(part.reserves) WITH ORDINALITY AS r (cents, place)
                ORDER BY r.place));
        UPDATE issuers_subscription s SET status = 'SETTLED', ledger_seq = d.seq,
            cash_transaction = d.payment, updated_at = greatest(s.updated_at, moment)
        FROM unnest(part.ids, entered, paid) AS d (id, seq, payment)
        WHERE s.id = d.id;
    END LOOP;
    PERFORM register_post(moment, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        ARRAY[offering.token_id], ARRAY[offering.price], ARRAY['ISSUE'], ARRAY[actor],
        '{}', '{}', '{}');
    IF net + vat > 0 THEN
        paid := cash_post(moment, ARRAY['FEE'], ARRAY[takes], ARRAY[fees],
            ARRAY[net + vat], ARRAY[actor], ARRAY[why], ARRAY[NULL]::text[],
            ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[], ARRAY[NULL]::uuid[], '{}',
            '{}');
    END IF;
    UPDATE issuers_offering o SET status = 'SETTLED', settling_until = NULL,
        fee_net = net, fee_vat = vat, updated_at = moment,
        fee_transaction = CASE WHEN net + vat > 0 THEN paid[1] END
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    PERFORM offerings_tell_each(offering.token_id, done);
    PERFORM cash_tell(array_agg(s.cash_account_id)) FROM issuers_subscription s
        WHERE s.id = ANY (done) AND s.status = 'RELEASED'
        HAVING count(*) > 0;
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_settle(text, uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_settling(cash_accounts bigint[])
RETURNS integer LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    until timestamptz;
BEGIN
    -- Most of the time no offering settles.
    IF NOT EXISTS (SELECT FROM issuers_offering o
            WHERE o.settling_until > clock_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT max(o.settling_until) INTO until
    FROM unnest(cash_accounts) AS c (id)
    JOIN issuers_subscription s ON s.cash_account_id = c.id AND s.status = 'ACTIVE'
    JOIN issuers_offering o ON o.id = s.offering_id
        AND o.settling_until > clock_timestamp();
    RETURN CASE WHEN until IS NOT NULL THEN greatest(1,
        ceil(extract(epoch FROM until - clock_timestamp())))::integer END;
END $$;
REVOKE ALL ON FUNCTION public.offerings_settling(bigint[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_subscribe(asker text, subscription uuid, of_offering uuid, of_account uuid, units bigint, cents bigint, at timestamp with time zone)
RETURNS issuers_subscription LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    account accounts_account;
    ledger bigint;
    cash bigint;
    written issuers_subscription;
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO offering FROM issuers_offering o WHERE o.id = of_offering FOR SHARE;
    SELECT * INTO account FROM accounts_account a WHERE a.id = of_account FOR SHARE;
    SELECT l.id INTO STRICT ledger FROM issuers_ledgeraccount l
        WHERE l.user_id = account.user_id;
    SELECT c.id INTO STRICT cash FROM accounts_cashaccount c
        WHERE c.account_id = of_account;
    PERFORM offerings_judge(asker, offering, account, ledger, units, cents, at);
    UPDATE accounts_cashhead h SET reserved = h.reserved + units * cents
        WHERE h.cash_account_id = cash;
    INSERT INTO issuers_subscription (id, offering_id, account_id, user_id,
        ledger_account_id, cash_account_id, partner_id, quantity, limit_price, status,
        version, ranked_at, reflects_until, refusal, created_at, updated_at)
    VALUES (subscription, of_offering, of_account, account.user_id, ledger, cash,
        account.partner_id, units, cents, 'ACTIVE', 1, at,
        offerings_reflects_until(offering, account.user_id, at), '', at, at)
    RETURNING * INTO written;
    PERFORM cash_tell(ARRAY[cash]);
    PERFORM offerings_tell_each(offering.token_id, ARRAY[subscription]);
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_subscribe(text, uuid, uuid, uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_tell(offering issuers_offering)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['OFFERING_CHANGED'],
        ARRAY[offering.id], NULL, ARRAY[offering.token_id], NULL,
        reasons => ARRAY[offering.status::text]);
END $$;
REVOKE ALL ON FUNCTION public.offerings_tell(issuers_offering) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_tell_each(of_token uuid, subscriptions uuid[])
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM events_write(NULL, array_agg(s.partner_id ORDER BY s.ranked_at, s.id),
        array_agg('SUBSCRIPTION_CHANGED'::text), array_agg(s.id
            ORDER BY s.ranked_at, s.id), NULL, array_agg(of_token),
        array_agg(s.account_id ORDER BY s.ranked_at, s.id),
        reasons => array_agg(s.status::text ORDER BY s.ranked_at, s.id))
    FROM issuers_subscription s WHERE s.id = ANY (subscriptions)
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.offerings_tell_each(uuid, uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_terms(offering issuers_offering)
RETURNS jsonb LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT jsonb_build_object('rule', offering.rule, 'source', offering.source,
        'price', offering.price, 'floor', offering.price_floor,
        'cap', offering.price_cap, 'maximum', offering.maximum_units,
        'minimum', offering.minimum_units, 'smallest', offering.smallest_ticket,
        'largest', offering.largest_ticket,
        'opens', floor(extract(epoch FROM offering.opens_at)),
        'closes', floor(extract(epoch FROM offering.closes_at)),
        'reflection', offering.reflection_seconds, 'fee', offering.fee_bps,
        'vat', offering.vat_bps, 'documents', to_jsonb(offering.documents));
$$;
REVOKE ALL ON FUNCTION public.offerings_terms(issuers_offering) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    WITH removed AS (
        DELETE FROM issuers_event WHERE partner_id = head.partner_id
            AND sequence > head.pruned_sequence AND sequence <= until
        RETURNING type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END AS issuer_id,
            CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
                'MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END AS token_id
    ), counted AS (
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT type, issuer_id, token_id, count(*) AS number FROM removed
            GROUP BY 1, 2, 3) g
        WHERE c.partner_id = head.partner_id AND c.type = g.type
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id
    )
    SELECT count(*) INTO deleted FROM removed;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_write(audiences text[], partners uuid[], kinds text[], subjects uuid[], issuers uuid[], tokens uuid[], accounts uuid[], ledger_sequences bigint[] DEFAULT NULL::bigint[], order_events bigint[] DEFAULT NULL::bigint[], prices bigint[] DEFAULT NULL::bigint[], quantities bigint[] DEFAULT NULL::bigint[], remainings bigint[] DEFAULT NULL::bigint[], trades bigint[] DEFAULT NULL::bigint[], reasons text[] DEFAULT NULL::text[], last boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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
                'MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED') THEN token_id END, count(*)
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
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean) FROM PUBLIC;

DROP FUNCTION public.offerings_allot(text, uuid, uuid[], bigint[], text[]);

DROP FUNCTION public.offerings_amend(text, uuid, integer, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_close(uuid);

DROP FUNCTION public.offerings_digest(uuid[], bigint[], text[]);

DROP FUNCTION public.offerings_draft(text, uuid, uuid, jsonb);

DROP FUNCTION public.offerings_end(text, uuid, text, text);

DROP FUNCTION public.offerings_judge(text, issuers_offering, accounts_account, bigint, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_leave(text, uuid, timestamp with time zone);

DROP FUNCTION public.offerings_mark(text, uuid, integer);

DROP FUNCTION public.offerings_open(text, uuid);

DROP FUNCTION public.offerings_pay_out(text, uuid, uuid, bigint, text, text);

DROP FUNCTION public.offerings_price(text, uuid, bigint);

DROP FUNCTION public.offerings_read(uuid, uuid, bigint, boolean);

DROP FUNCTION public.offerings_read_subscription(uuid, bigint, boolean);

DROP FUNCTION public.offerings_reflects_until(issuers_offering, uuid, timestamp with time zone);

DROP FUNCTION public.offerings_refusals(issuers_offering, bigint, uuid, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_release(issuers_offering);

DROP FUNCTION public.offerings_settle(text, uuid);

DROP FUNCTION public.offerings_settling(bigint[]);

DROP FUNCTION public.offerings_subscribe(text, uuid, uuid, uuid, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.offerings_tell(issuers_offering);

DROP FUNCTION public.offerings_tell_each(uuid, uuid[]);

DROP FUNCTION public.offerings_terms(issuers_offering);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0107_offerings"),
        ("accounts", "0086_offerings_sql"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
