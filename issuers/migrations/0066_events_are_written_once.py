"""Contract: an event is written once, and counted by what writes it.

The first statement waits for the transactions whose events are not numbered yet.
"""

from django.db import migrations

FORWARD = r"""
DROP TRIGGER IF EXISTS events_number ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_number AFTER DELETE ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.leads) EXECUTE FUNCTION public.events_number();

DROP TRIGGER events_count ON public.issuers_event;

CREATE OR REPLACE FUNCTION public.events_account_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'events_account_changed guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('ACCOUNT_STATUS_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_announce guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    DELETE FROM issuers_unnumberedevent WHERE id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_announce() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce_articles()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    announced bigint;
    articles uuid[];
    issuers uuid[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    SELECT count(*), array_agg(a.id ORDER BY a.published_at),
        array_agg(a.issuer_id ORDER BY a.published_at)
        INTO announced, articles, issuers
    FROM come JOIN issuers_article a ON a.id = come.article_id;
    PERFORM events_write(array_fill('ALL'::text, ARRAY[announced::integer]), NULL,
        array_fill('ARTICLE_PUBLISHED'::text, ARRAY[announced::integer]), articles,
        issuers, NULL, NULL);
    RETURN announced;
END $$;
REVOKE ALL ON FUNCTION public.events_announce_articles() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_article'::regclass THEN
        RAISE EXCEPTION 'events_article_changed guards issuers_article, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['ARTICLE_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_article_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_count()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_event'::regclass THEN
        RAISE EXCEPTION 'events_count guards issuers_event, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_eventcount c SET number = c.number - g.number
    FROM (SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id,
        count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
    WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
        AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
        AND c.token_id IS NOT DISTINCT FROM g.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_count() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuerfinancialdata'::regclass THEN
        RAISE EXCEPTION 'events_figures_changed guards issuers_issuerfinancialdata, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['FINANCIAL_DATA_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_grant_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(g.partner_id),
        array_agg('GRANT_CHANGED'::text), array_agg(g.issuer_id),
        array_agg(g.issuer_id), NULL, NULL)
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_investor_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('INVESTOR_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_key_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'events_key_changed guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, ARRAY[coalesce(NEW.partner_id, OLD.partner_id)],
        ARRAY['KEY_CHANGED'], NULL, NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY e.ledger_seq), NULL,
        array_agg('LEGACY_SHARES_DELIVERED'::text ORDER BY e.ledger_seq),
        array_agg(e.id ORDER BY e.ledger_seq),
        array_agg(e.issuer_id ORDER BY e.ledger_seq),
        array_agg(e.token_id ORDER BY e.ledger_seq), NULL,
        array_agg(e.ledger_seq ORDER BY e.ledger_seq))
    FROM entered e WHERE e.status = 'DELIVERED'
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    told record;
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_number guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    WITH others AS (
        DELETE FROM issuers_unnumberedevent
        WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    )
    SELECT array_agg(u.audience::text ORDER BY u.id) AS audiences,
        array_agg(u.partner_id ORDER BY u.id) AS partners,
        array_agg(u.type::text ORDER BY u.id) AS kinds,
        array_agg(coalesce(u.order_id, u.subject_id) ORDER BY u.id) AS subjects,
        array_agg(u.issuer_id ORDER BY u.id) AS issuers,
        array_agg(u.token_id ORDER BY u.id) AS tokens,
        array_agg(u.account_id ORDER BY u.id) AS accounts,
        array_agg(u.ledger_sequence ORDER BY u.id) AS ledger_sequences,
        array_agg(u.order_event ORDER BY u.id) AS order_events,
        array_agg(u.price ORDER BY u.id) AS prices,
        array_agg(u.quantity ORDER BY u.id) AS quantities,
        array_agg(u.remaining ORDER BY u.id) AS remainings,
        array_agg(u.trade ORDER BY u.id) AS trades,
        array_agg(u.reason::text ORDER BY u.id) AS reasons INTO told
    FROM (SELECT (OLD).* UNION ALL SELECT * FROM others) u;
    PERFORM events_write(told.audiences, told.partners, told.kinds, told.subjects,
        told.issuers, told.tokens, told.accounts, told.ledger_sequences,
        told.order_events, told.prices, told.quantities, told.remainings, told.trades,
        told.reasons, last => TRUE);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_price_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg(CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
            ELSE 'GRANTED' END ORDER BY t.id), NULL,
        array_agg('TOKEN_PRICE_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL)
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY t.id), NULL,
        array_agg('REGISTER_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL,
        array_agg(e.seq ORDER BY t.id))
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE'
        GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_withdrawal_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered w
        JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_write(audiences text[], partners uuid[], kinds text[], subjects uuid[], issuers uuid[], tokens uuid[], accounts uuid[], ledger_sequences bigint[] DEFAULT NULL::bigint[], order_events bigint[] DEFAULT NULL::bigint[], prices bigint[] DEFAULT NULL::bigint[], quantities bigint[] DEFAULT NULL::bigint[], remainings bigint[] DEFAULT NULL::bigint[], trades bigint[] DEFAULT NULL::bigint[], reasons text[] DEFAULT NULL::text[], last boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    this bigint := pg_current_xact_id()::text::bigint;
    is_begun boolean := EXISTS (
        SELECT FROM issuers_unnumberedevent WHERE transaction = this);
BEGIN
    IF is_begun OR NOT last THEN
        -- Several events of an order are several events: each has its number.
        INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
            type, subject_id, issuer_id, token_id, account_id, ledger_sequence,
            order_id, order_event, price, quantity, remaining, trade, reason)
        SELECT this, u.n = 1 AND NOT is_begun, coalesce(u.audience, 'PARTNER'),
            u.partner_id, u.type, CASE WHEN u.order_event IS NULL THEN u.subject_id
                ELSE md5(concat_ws(' ', u.token_id, u.order_event))::uuid END,
            coalesce(u.issuer_id, t.issuer_id), u.token_id, u.account_id,
            u.ledger_sequence,
            CASE WHEN u.order_event IS NOT NULL THEN u.subject_id END, u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
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
        SELECT gen_random_uuid(), h.partner_id, h.last_sequence + row_number() OVER (
                PARTITION BY h.partner_id ORDER BY u.n),
            u.type, greatest(h.last_at, now.taken), u.subject_id,
            u.of_issuer, u.token_id, u.account_id, u.ledger_sequence, u.order_event,
            u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM addressed u JOIN held h ON h.partner_id = u.reader CROSS JOIN now
        RETURNING partner_id, sequence, at, type, issuer_id, token_id
    ), counted AS (
        INSERT INTO issuers_eventcount AS c (partner_id, type, issuer_id, token_id,
            number)
        SELECT partner_id, type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END,
            CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END, count(*)
        FROM numbered GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
END $$;
REVOKE ALL ON FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'issuers_count_legacy guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        PERFORM accounts_count(ARRAY['legacyShareholders', 'legacyShareholders'],
            ARRAY[OLD.issuer_id, NEW.issuer_id], ARRAY[-1, 1]);
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg('legacyShareholders'::text),
            array_agg(issuer_id), array_agg(number))
        FROM (SELECT issuer_id, count(*) AS number FROM changed GROUP BY issuer_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg('legacyShareholders'::text),
            array_agg(issuer_id), array_agg(-number))
        FROM (SELECT issuer_id, count(*) AS number FROM changed GROUP BY issuer_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.issuers_count_legacy() FROM PUBLIC;

"""

BACKWARD = r"""
DROP TRIGGER IF EXISTS events_number ON public.issuers_unnumberedevent;
CREATE CONSTRAINT TRIGGER events_number AFTER UPDATE OF leads ON public.issuers_unnumberedevent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.events_number();

CREATE OR REPLACE TRIGGER events_count AFTER INSERT ON public.issuers_event REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.events_count();
ALTER TABLE public.issuers_event ENABLE ALWAYS TRIGGER events_count;

CREATE OR REPLACE FUNCTION public.events_account_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'events_account_changed guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'ACCOUNT_STATUS_CHANGED', a.id,
        NULL::uuid, NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT account_id FROM entered) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_account_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_announce guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_unnumberedevent SET leads = TRUE WHERE id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_announce() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_announce_articles()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    announced bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    WITH come AS (
        DELETE FROM issuers_articletocome WHERE article_id IN (
            SELECT article_id FROM issuers_articletocome
            WHERE published_at <= clock_timestamp()
            ORDER BY article_id FOR UPDATE SKIP LOCKED)
        RETURNING article_id
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', 'ARTICLE_PUBLISHED', a.id,
        a.issuer_id
    FROM come JOIN issuers_article a ON a.id = come.article_id ORDER BY a.published_at;
    GET DIAGNOSTICS announced = ROW_COUNT;
    RETURN announced;
END $$;
REVOKE ALL ON FUNCTION public.events_announce_articles() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_article'::regclass THEN
        RAISE EXCEPTION 'events_article_changed guards issuers_article, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    DELETE FROM issuers_articletocome WHERE article_id = OLD.id;
    IF NEW.published_at > clock_timestamp() THEN
        INSERT INTO issuers_articletocome (article_id, published_at)
        VALUES (NEW.id, NEW.published_at);
    END IF;
    IF (least(NEW.published_at, OLD.published_at) > clock_timestamp()) IS NOT FALSE
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'ARTICLE_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_article_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'CASH_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_count()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_event'::regclass THEN
        RAISE EXCEPTION 'events_count guards issuers_event, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO issuers_eventcount AS c (partner_id, type, issuer_id, token_id,
            number)
        SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id, count(*) FROM changed GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number;
    ELSE
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id, count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
        WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_count() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuerfinancialdata'::regclass THEN
        RAISE EXCEPTION 'events_figures_changed guards issuers_issuerfinancialdata, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'ALL', NULL::uuid, 'FINANCIAL_DATA_PUBLISHED',
        coalesce(NEW.id, OLD.id), coalesce(NEW.issuer_id, OLD.issuer_id),
        NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_grant_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', g.partner_id, 'GRANT_CHANGED', g.issuer_id, g.issuer_id,
        NULL::uuid, NULL::uuid, NULL::bigint
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_investor_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'INVESTOR_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_key_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION 'events_key_changed guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', coalesce(NEW.partner_id, OLD.partner_id), 'KEY_CHANGED',
        NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::bigint 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'LEGACY_SHARES_DELIVERED', e.id, e.issuer_id,
        e.token_id, NULL::uuid, e.ledger_seq
    FROM entered e WHERE e.status = 'DELIVERED' ORDER BY e.ledger_seq 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_number()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    gives boolean;
    asks boolean;
    taken timestamptz;
BEGIN
    IF TG_RELID <> 'issuers_unnumberedevent'::regclass THEN
        RAISE EXCEPTION 'events_number guards issuers_unnumberedevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT bool_or(type = 'GRANT_CHANGED'), bool_or(audience = 'GRANTED')
    INTO gives, asks FROM issuers_unnumberedevent
    WHERE transaction = pg_current_xact_id()::text::bigint
        AND EXISTS (SELECT FROM issuers_unnumberedevent WHERE id = NEW.id);
    IF gives IS NULL THEN
        RETURN NULL;
    ELSIF gives THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('events by grants', 0));
    ELSIF asks THEN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('events by grants', 0));
    END IF;
    PERFORM FROM issuers_eventhead WHERE partner_id IN (
            SELECT p.id FROM issuers_unnumberedevent u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
            WHERE u.transaction = pg_current_xact_id()::text::bigint)
        ORDER BY partner_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint;
        RETURN NULL;
    END IF;
    taken := clock_timestamp();
    WITH happened AS (
        DELETE FROM issuers_unnumberedevent WHERE transaction = pg_current_xact_id()::text::bigint RETURNING *
    ), numbered AS (
        INSERT INTO issuers_event (id, partner_id, sequence, type, at, subject_id,
            issuer_id, token_id, account_id, ledger_sequence, order_event, price, quantity, remaining, trade, reason)
        SELECT gen_random_uuid(), h.partner_id, h.last_sequence + row_number() OVER (
                PARTITION BY h.partner_id ORDER BY u.id),
            u.type, greatest(h.last_at, taken), coalesce(u.order_id, u.subject_id), u.issuer_id, u.token_id,
            u.account_id, u.ledger_sequence, u.order_event, u.price, u.quantity, u.remaining, u.trade, u.reason
        FROM happened u CROSS JOIN LATERAL (
        SELECT u.partner_id AS id WHERE u.audience = 'PARTNER'
        UNION ALL
        SELECT DISTINCT g.partner_id FROM issuers_issuergrant g
        WHERE u.audience = 'GRANTED'
            AND (g.issuer_id = u.issuer_id OR g.issuer_id IS NULL)
        UNION ALL
        SELECT a.partner_id FROM issuers_eventhead a WHERE u.audience = 'ALL'
    ) p
        JOIN issuers_eventhead h ON h.partner_id = p.id
        RETURNING partner_id, sequence, at
    )
    UPDATE issuers_eventhead h SET last_sequence = n.sequence, last_at = n.at
    FROM (SELECT partner_id, max(sequence) AS sequence, max(at) AS at
          FROM numbered GROUP BY partner_id) n
    WHERE h.partner_id = n.partner_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_number() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_price_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, CASE t.visibility WHEN 'PUBLIC' THEN 'ALL' ELSE 'GRANTED' END,
        NULL::uuid, 'TOKEN_PRICE_CHANGED', e.token_id, t.issuer_id, e.token_id,
        NULL::uuid, NULL::bigint
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', NULL::uuid, 'REGISTER_CHANGED', e.token_id,
        t.issuer_id, e.token_id, NULL::uuid, e.seq
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE' GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_withdrawal_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id,
        type, subject_id, issuer_id, token_id, account_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', a.partner_id, 'CASH_CHANGED', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT c.account_id FROM entered w JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id 
    ON CONFLICT (transaction, type, subject_id, partner_id)
    DO UPDATE SET ledger_sequence = excluded.ledger_sequence;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'issuers_count_legacy guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', OLD.issuer_id, -1 UNION ALL SELECT 'legacyShareholders', NEW.issuer_id, 1) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, -count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.issuers_count_legacy() FROM PUBLIC;

DROP FUNCTION public.events_write(text[], uuid[], text[], uuid[], uuid[], uuid[], uuid[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], boolean);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0065_post_by_a_function"),
        ("accounts", "0052_events_are_written_once"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
