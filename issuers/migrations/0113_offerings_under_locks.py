"""Offerings under locks."""

from django.db import migrations

FORWARD = r"""
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
    IF cardinality(written.documents) > 20
            OR EXISTS (SELECT FROM unnest(written.documents) AS d (id)
            WHERE NOT EXISTS (SELECT FROM issuers_document x WHERE x.id = d.id)) THEN
        RAISE EXCEPTION 'An offering names 20 documents at most, which exist.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF written.fee_bps * (10000 + written.vat_bps) > 10000 * 10000 THEN
        RAISE EXCEPTION 'The fee of an offering and its tax are within the proceeds.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_draft(text, uuid, uuid, jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.offerings_open(actor text, of_offering uuid)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    approver text;
    token uuid;
    issuer uuid;
    available numeric;
    account bigint;
BEGIN
    PERFORM accounts_read_committed();
    SELECT t.id, t.issuer_id INTO token, issuer
        FROM issuers_offering o JOIN issuers_token t ON t.id = o.token_id
        WHERE o.id = of_offering;
    PERFORM FROM issuers_issuer i WHERE i.id = issuer FOR NO KEY UPDATE;
    PERFORM FROM issuers_token t WHERE t.id = token FOR SHARE;
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'DRAFT' AND offering.closes_at > clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Only a draft that closes later is opened.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT CASE offering.source
        WHEN 'MINT' THEN coalesce(t.authorized_units, 18446744073709551615) - h.supply
        ELSE (SELECT coalesce(sum(b.balance), 0)
            FROM issuers_holderbalance b
            JOIN issuers_ledgeraccount a ON a.id = b.account_id AND a.kind = 'TREASURY'
            WHERE b.token_id = t.id) END
    INTO available
    FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
    WHERE t.id = token AND t.market_type = 'PRIMARY_MARKET';
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
    stopped uuid;
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
    PERFORM FROM accounts_account a
        WHERE a.id IN (SELECT s.account_id FROM issuers_subscription s
            WHERE s.offering_id = of_offering AND s.status = 'ACTIVE'
                AND s.allotted > 0)
        ORDER BY a.id FOR SHARE;
    SELECT a.id INTO stopped FROM issuers_subscription s
        JOIN accounts_account a ON a.id = s.account_id AND a.status <> 'ACTIVE'
        WHERE s.offering_id = of_offering AND s.status = 'ACTIVE' AND s.allotted > 0
        ORDER BY a.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ACCOUNT_NOT_ACTIVE: account % got units and is not active any '
            'more. Allot the units anew.', stopped
            USING ERRCODE = 'restrict_violation';
    END IF;
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
"""

BACKWARD = r"""
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
    IF written.fee_bps * (10000 + written.vat_bps) > 10000 * 10000 THEN
        RAISE EXCEPTION 'The fee of an offering and its tax are within the proceeds.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN written;
END $$;
REVOKE ALL ON FUNCTION public.offerings_draft(text, uuid, uuid, jsonb) FROM PUBLIC;

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
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0112_auctions_judged_once"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
