"""Contract: one trigger of a table judges what two or three did."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '125 ms';
LOCK TABLE public.accounts_user, public.issuers_issuer, public.issuers_legacyshareholder, public.issuers_token IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.approvals_of_delivery()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    lines bigint;
    shares numeric;
    issuers uuid[];
    amounts numeric[];
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' AND NEW.released_at IS NULL
        OR ROW (NEW.released_at, NEW.source, NEW.created_by) IS NOT DISTINCT FROM
            ROW (OLD.released_at, OLD.source, OLD.created_by) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.released_at IS NULL OR OLD.released_at IS NOT NULL
        OR ROW (NEW.source, NEW.created_by) IS DISTINCT FROM
            ROW (OLD.source, OLD.created_by) THEN
        RAISE EXCEPTION 'A delivery is released once, and its source stays.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(cardinality(s.shareholder_ids)), 0), coalesce(sum(l.units), 0)
        INTO lines, shares
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l
    WHERE s.job_id = NEW.id;
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = NEW.id
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        issuers, amounts, NULL, NULL);
    NEW.released_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_delivery() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.delivery_note_makers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    maker text := approvals_person();
BEGIN
    IF TG_OP = 'UPDATE'
        AND ROW (NEW.issuer_id, NEW.user_id, NEW.token_id, NEW.number_of_shares)
        IS NOT DISTINCT FROM
        ROW (OLD.issuer_id, OLD.user_id, OLD.token_id, OLD.number_of_shares) THEN
        NEW.makers := OLD.makers;
        RETURN NEW;
    END IF;
    IF NEW.issuer_id <> OLD.issuer_id THEN
        PERFORM accounts_count(ARRAY['legacyShareholders', 'legacyShareholders'],
            ARRAY[OLD.issuer_id, NEW.issuer_id], ARRAY[-1, 1]);
    END IF;
    IF maker NOT IN ('SQL', 'command') THEN
        IF approvals_rests_until(maker::uuid, clock_timestamp()) IS NOT NULL THEN
            maker := 'command';
        END IF;
    END IF;
    NEW.makers := CASE WHEN TG_OP = 'INSERT' THEN ARRAY[maker]
        WHEN maker = ANY (OLD.makers) THEN OLD.makers ELSE OLD.makers || maker END;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_note_makers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.delivery_stays()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM issuers_deliveryjob WHERE id = NEW.job_id FOR UPDATE;
        IF NOT EXISTS (SELECT FROM issuers_deliveryjob
            WHERE id = NEW.job_id AND released_at IS NULL) THEN
            RAISE EXCEPTION 'Delivery % was released; it gets no further lines.',
                NEW.job_id USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.job_id, NEW.position, NEW.shareholder_ids, NEW.units, NEW.token_ids,
            NEW.user_ids) IS DISTINCT FROM (OLD.job_id, OLD.position,
            OLD.shareholder_ids, OLD.units, OLD.token_ids, OLD.user_ids) THEN
        RAISE EXCEPTION 'The lines of a delivery stay as they were frozen.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_stays() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
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

CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['FINANCIAL_DATA_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_count(array_agg('legacyShareholders'::text), array_agg(issuer_id),
        array_agg(number))
    FROM (SELECT issuer_id, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
        AS number FROM changed GROUP BY issuer_id) c
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.issuers_count_legacy() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_issuer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    supplies jsonb;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT jsonb_object_agg(t.symbol, h.supply::text) INTO supplies
            FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
            WHERE t.issuer_id = NEW.id AND h.last_seq > 0;
        IF supplies IS NOT NULL AND approvals_person() <> 'SQL' THEN
            PERFORM approvals_use('REGISTER', jsonb_build_object('issuer', NEW.id,
                'owner', NEW.owner_id, 'name', NEW.trading_name, 'supplies', supplies),
                NULL, NULL, NULL);
        END IF;
    ELSIF (NEW.trading_name, NEW.owner_id) = (OLD.trading_name, OLD.owner_id) THEN
        RETURN NULL;
    END IF;
    -- A writer of the new owner cannot see yet that it is the owner.
    IF TG_OP = 'INSERT' OR NEW.owner_id <> OLD.owner_id THEN
        PERFORM FROM accounts_user WHERE id = NEW.owner_id FOR SHARE;
    END IF;
    PERFORM search_refresh(NEW.id);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_issuer() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_follow_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    folded text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT name INTO folded FROM issuers_issuerterm
            WHERE issuer_id = NEW.issuer_id AND term = '' FOR UPDATE;
        -- An issuer that was made past the triggers.
        IF NOT FOUND THEN
            PERFORM search_refresh(NEW.issuer_id);
            RETURN NULL;
        END IF;
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT term, folded, NEW.issuer_id, NEW.visibility = 'PRIVATE' FROM (
                SELECT '#' || lower(NEW.symbol)
                UNION SELECT '#' || lower(NEW.isin) WHERE NEW.isin IS NOT NULL
                UNION SELECT search_beginnings(lower(NEW.symbol))) AS t (term)
            ON CONFLICT (term, name, issuer_id) DO UPDATE SET private = FALSE
            WHERE issuers_issuerterm.private AND NOT excluded.private;
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.symbol, NEW.isin, NEW.visibility) IS NOT DISTINCT FROM
            (OLD.symbol, OLD.isin, OLD.visibility) THEN
            RETURN NULL;
        END IF;
        IF OLD.market_type = 'SECONDARY_MARKET'
            AND (NEW.symbol, NEW.isin) IS DISTINCT FROM (OLD.symbol, OLD.isin) THEN
            PERFORM approvals_use('IDENTITY', jsonb_build_object('token', NEW.id,
                'from', jsonb_build_object('symbol', OLD.symbol, 'isin', OLD.isin),
                'symbol', NEW.symbol, 'isin', NEW.isin), NULL, NEW.id, NULL);
        END IF;
    END IF;
    PERFORM search_refresh(OLD.issuer_id);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_token() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_changes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF EXISTS (
        SELECT FROM issuers_legacyshareholder WHERE id = OLD.shareholder_id) THEN
        RAISE EXCEPTION 'What changed of legacy shares % stays with them.',
            OLD.shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_changes() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSIF NEW.status = 'DELIVERED' AND accounts_written_directly() THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_holder()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.user_id) = (OLD.id, OLD.user_id) THEN
        RETURN NEW;
    END IF;
    PERFORM accounts_read_committed();
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE holder_id = OLD.id) THEN
        RAISE EXCEPTION 'Holder profile % has an account in the register and stays its '
            'user''s. Units that are another user''s are transferred to that user.',
            OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_holder() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_issuer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM issuers_token WHERE issuer_id = OLD.id) THEN
            RAISE EXCEPTION 'Issuer % stays: tables of the past list its tokens.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_formerissuer VALUES (OLD.id) ON CONFLICT DO NOTHING;
        DELETE FROM issuers_issuerterm WHERE issuer_id = OLD.id;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'Issuer % keeps its id: tables of the past have it.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        NEW.recorded_in := OLD.recorded_in;
    ELSE
        NEW.recorded_in := (SELECT register_transaction(0));
        IF EXISTS (SELECT FROM issuers_formerissuer WHERE id = NEW.id) THEN
            NEW.recorded_in := NULL;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR (NEW.industry_classification_benchmark_id,
            NEW.industry_code) IS DISTINCT FROM
            (OLD.industry_classification_benchmark_id, OLD.industry_code) THEN
        -- This waits for a writer of the code, or that writer waits.
        SELECT subsector_code INTO NEW.industry_code
        FROM issuers_industryclassificationbenchmark
        WHERE id = NEW.industry_classification_benchmark_id FOR KEY SHARE;
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_issuer() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    made numeric;
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM register_mark(ARRAY[NEW.issuer_id]);
        PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
        IF NEW.created_at >= transaction_timestamp() THEN
            NEW.created_at := clock_timestamp();
        ELSIF NOT EXISTS (SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id
                AND i.recorded_in = (SELECT register_transaction(0))) THEN
            RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because '
                'its issuer was there before.', NEW.symbol
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
            RAISE EXCEPTION 'Token % is on the secondary market and cannot go back.',
                OLD.symbol USING ERRCODE = 'restrict_violation';
        END IF;
        IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
            UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
                RETURNING supply INTO made;
            IF made > NEW.authorized_units THEN
                RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                    'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_user()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.id = OLD.id THEN
        RETURN NEW;
    END IF;
    PERFORM accounts_read_committed();
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE user_id = OLD.id) THEN
        RAISE EXCEPTION 'User % has an account in the register, and stays.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_user() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.search_owner_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    PERFORM FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET updated_at = clock_timestamp() WHERE owner_id = NEW.id;
    IF (NEW.company_name, NEW.lei) IS DISTINCT FROM (OLD.company_name, OLD.lei) THEN
        PERFORM search_refresh(id) FROM (
            SELECT id FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id) i;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_owner_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_industry_of_issuers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM issuers_issuer WHERE industry_classification_benchmark_id = NEW.id
        ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET industry_code = NEW.subsector_code
        WHERE industry_classification_benchmark_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.update_industry_of_issuers() FROM PUBLIC;

DROP TRIGGER IF EXISTS register_follow_issuer ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER register_follow_issuer AFTER INSERT OR UPDATE OF trading_name, owner_id ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.register_follow_issuer();

DROP TRIGGER IF EXISTS register_follow_token ON public.issuers_token;
CREATE CONSTRAINT TRIGGER register_follow_token AFTER INSERT OR DELETE OR UPDATE OF symbol, isin, visibility ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.register_follow_token();

CREATE OR REPLACE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER register_keep_token BEFORE INSERT OR UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_keep_token();

DROP TRIGGER IF EXISTS search_owner_changed ON public.accounts_user;
CREATE CONSTRAINT TRIGGER search_owner_changed AFTER UPDATE OF type, company_name, lei, legal_form, address, postal_code, city, country_id ON public.accounts_user DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.type IS DISTINCT FROM new.type OR old.company_name IS DISTINCT FROM new.company_name OR old.lei IS DISTINCT FROM new.lei OR old.legal_form IS DISTINCT FROM new.legal_form OR old.address IS DISTINCT FROM new.address OR old.postal_code IS DISTINCT FROM new.postal_code OR old.city IS DISTINCT FROM new.city OR old.country_id IS DISTINCT FROM new.country_id) EXECUTE FUNCTION public.search_owner_changed();

DROP TRIGGER update_owned_time ON public.accounts_user;

DROP TRIGGER approvals_of_register ON public.issuers_issuer;

DROP TRIGGER keep_industry ON public.issuers_issuer;

DROP TRIGGER search_issuer_changed ON public.issuers_issuer;

DROP TRIGGER search_issuer_deleted ON public.issuers_issuer;

DROP TRIGGER search_issuer_made ON public.issuers_issuer;

DROP TRIGGER update_time ON public.issuers_issuer;

DROP TRIGGER issuers_count_legacy_moved ON public.issuers_legacyshareholder;

DROP TRIGGER register_keep_marked ON public.issuers_legacyshareholder;

DROP TRIGGER update_time ON public.issuers_legacyshareholder;

DROP TRIGGER approvals_of_identity ON public.issuers_token;

DROP TRIGGER register_time_token ON public.issuers_token;

DROP TRIGGER search_token_changed ON public.issuers_token;

DROP TRIGGER search_token_made ON public.issuers_token;

DROP TRIGGER update_time ON public.issuers_token;

DROP FUNCTION public.approvals_of_identity();

DROP FUNCTION public.approvals_of_register();

DROP FUNCTION public.issuers_record_time();

DROP FUNCTION public.keep_issuer_industry();

DROP FUNCTION public.register_time_token();

DROP FUNCTION public.search_issuer_changed();

DROP FUNCTION public.search_issuer_deleted();

DROP FUNCTION public.search_token_changed();

DROP FUNCTION public.update_owned_time();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '125 ms';
LOCK TABLE public.accounts_user, public.issuers_issuer, public.issuers_legacyshareholder, public.issuers_token IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.approvals_of_delivery()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    lines bigint;
    shares numeric;
    issuers uuid[];
    amounts numeric[];
BEGIN
    IF TG_OP = 'INSERT' AND NEW.released_at IS NULL
        OR ROW (NEW.released_at, NEW.source, NEW.created_by) IS NOT DISTINCT FROM
            ROW (OLD.released_at, OLD.source, OLD.created_by) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.released_at IS NULL OR OLD.released_at IS NOT NULL
        OR ROW (NEW.source, NEW.created_by) IS DISTINCT FROM
            ROW (OLD.source, OLD.created_by) THEN
        RAISE EXCEPTION 'A delivery is released once, and its source stays.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(cardinality(s.shareholder_ids)), 0), coalesce(sum(l.units), 0)
        INTO lines, shares
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l
    WHERE s.job_id = NEW.id;
    SELECT array_agg(o.issuer_id), array_agg(CASE WHEN NOT o.own THEN o.units END)
        INTO issuers, amounts
    FROM (
        SELECT h.issuer_id, sum(f.units) AS units,
            bool_or(delivery_is_own(h.makers::text[], approvals_person())) AS own
        FROM issuers_deliverystep s
        CROSS JOIN LATERAL unnest(s.shareholder_ids, s.units) AS f (line, units)
        JOIN issuers_legacyshareholder h ON h.id = f.line
        WHERE s.job_id = NEW.id
        GROUP BY h.issuer_id
    ) o;
    PERFORM approvals_use_each('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        issuers, amounts, NULL, NULL);
    NEW.released_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_delivery() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.delivery_note_makers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    maker text := approvals_person();
BEGIN
    IF TG_OP = 'UPDATE'
        AND ROW (NEW.issuer_id, NEW.user_id, NEW.token_id, NEW.number_of_shares)
        IS NOT DISTINCT FROM
        ROW (OLD.issuer_id, OLD.user_id, OLD.token_id, OLD.number_of_shares) THEN
        NEW.makers := OLD.makers;
        RETURN NEW;
    END IF;
    IF maker NOT IN ('SQL', 'command') THEN
        IF approvals_rests_until(maker::uuid, clock_timestamp()) IS NOT NULL THEN
            maker := 'command';
        END IF;
    END IF;
    NEW.makers := CASE WHEN TG_OP = 'INSERT' THEN ARRAY[maker]
        WHEN maker = ANY (OLD.makers) THEN OLD.makers ELSE OLD.makers || maker END;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_note_makers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.delivery_stays()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM issuers_deliveryjob WHERE id = NEW.job_id FOR UPDATE;
        IF NOT EXISTS (SELECT FROM issuers_deliveryjob
            WHERE id = NEW.job_id AND released_at IS NULL) THEN
            RAISE EXCEPTION 'Delivery % was released; it gets no further lines.',
                NEW.job_id USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.job_id, NEW.position, NEW.shareholder_ids, NEW.units, NEW.token_ids,
            NEW.user_ids) IS DISTINCT FROM (OLD.job_id, OLD.position,
            OLD.shareholder_ids, OLD.units, OLD.token_ids, OLD.user_ids) THEN
        RAISE EXCEPTION 'The lines of a delivery stay as they were frozen.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.delivery_stays() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_article_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
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

CREATE OR REPLACE FUNCTION public.events_figures_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['FINANCIAL_DATA_PUBLISHED'],
        ARRAY[coalesce(NEW.id, OLD.id)], ARRAY[coalesce(NEW.issuer_id, OLD.issuer_id)],
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_figures_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
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

CREATE OR REPLACE FUNCTION public.register_keep_changes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM issuers_legacyshareholder WHERE id = OLD.shareholder_id) THEN
        RAISE EXCEPTION 'What changed of legacy shares % stays with them.',
            OLD.shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_changes() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_holder()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.user_id) = (OLD.id, OLD.user_id) THEN
        RETURN NEW;
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE holder_id = OLD.id) THEN
        RAISE EXCEPTION 'Holder profile % has an account in the register and stays its '
            'user''s. Units that are another user''s are transferred to that user.',
            OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_holder() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_issuer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM issuers_token WHERE issuer_id = OLD.id) THEN
            RAISE EXCEPTION 'Issuer % stays: tables of the past list its tokens.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_formerissuer VALUES (OLD.id) ON CONFLICT DO NOTHING;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'Issuer % keeps its id: tables of the past have it.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        NEW.recorded_in := OLD.recorded_in;
    ELSE
        NEW.recorded_in := (SELECT register_transaction(0));
        IF EXISTS (SELECT FROM issuers_formerissuer WHERE id = NEW.id) THEN
            NEW.recorded_in := NULL;
        END IF;
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_issuer() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    made numeric;
BEGIN
    IF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
        RAISE EXCEPTION 'Token % is on the secondary market and cannot go back.',
            OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
        UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
            RETURNING supply INTO made;
        IF made > NEW.authorized_units THEN
            RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_user()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.id = OLD.id THEN
        RETURN NEW;
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE user_id = OLD.id) THEN
        RAISE EXCEPTION 'User % has an account in the register, and stays.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_user() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.search_owner_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM search_refresh(id) FROM (
        SELECT id FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id) i;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_owner_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_industry_of_issuers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM FROM issuers_issuer WHERE industry_classification_benchmark_id = NEW.id
        ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET industry_code = NULL
        WHERE industry_classification_benchmark_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.update_industry_of_issuers() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_identity()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM approvals_use('IDENTITY', jsonb_build_object('token', NEW.id,
        'from', jsonb_build_object('symbol', OLD.symbol, 'isin', OLD.isin),
        'symbol', NEW.symbol, 'isin', NEW.isin), NULL, NEW.id, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_identity() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_of_register()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    supplies jsonb;
BEGIN
    SELECT jsonb_object_agg(t.symbol, h.supply::text) INTO supplies
        FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        WHERE t.issuer_id = NEW.id AND h.last_seq > 0;
    IF supplies IS NOT NULL AND approvals_person() <> 'SQL' THEN
        PERFORM approvals_use('REGISTER', jsonb_build_object('issuer', NEW.id,
            'owner', NEW.owner_id, 'name', NEW.trading_name, 'supplies', supplies),
            NULL, NULL, NULL);
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_register() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.issuers_record_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID NOT IN ('issuers_issuer'::regclass, 'issuers_token'::regclass,
        'issuers_legacyshareholder'::regclass) THEN
        RAISE EXCEPTION 'issuers_record_time times three tables, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.issuers_record_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.keep_issuer_industry()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    -- This waits for a writer of the code, or that writer waits.
    SELECT subsector_code INTO NEW.industry_code
    FROM issuers_industryclassificationbenchmark
    WHERE id = NEW.industry_classification_benchmark_id FOR KEY SHARE;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.keep_issuer_industry() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_time_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM register_mark(ARRAY[NEW.issuer_id]);
    PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
    IF NEW.created_at >= transaction_timestamp() THEN
        NEW.created_at := clock_timestamp();
    ELSIF NOT EXISTS (
        SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because its '
            'issuer was there before.', NEW.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_time_token() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.search_issuer_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    -- A writer of the new owner cannot see yet that it is the owner.
    IF TG_OP = 'INSERT' OR NEW.owner_id <> OLD.owner_id THEN
        PERFORM FROM accounts_user WHERE id = NEW.owner_id FOR SHARE;
    END IF;
    PERFORM search_refresh(NEW.id);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_issuer_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.search_issuer_deleted()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    DELETE FROM issuers_issuerterm WHERE issuer_id = OLD.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_issuer_deleted() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.search_token_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    folded text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT name INTO folded FROM issuers_issuerterm
            WHERE issuer_id = NEW.issuer_id AND term = '' FOR UPDATE;
        -- An issuer that was made past the triggers.
        IF NOT FOUND THEN
            PERFORM search_refresh(NEW.issuer_id);
            RETURN NULL;
        END IF;
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT term, folded, NEW.issuer_id, NEW.visibility = 'PRIVATE' FROM (
                SELECT '#' || lower(NEW.symbol)
                UNION SELECT '#' || lower(NEW.isin) WHERE NEW.isin IS NOT NULL
                UNION SELECT search_beginnings(lower(NEW.symbol))) AS t (term)
            ON CONFLICT (term, name, issuer_id) DO UPDATE SET private = FALSE
            WHERE issuers_issuerterm.private AND NOT excluded.private;
        RETURN NULL;
    END IF;
    PERFORM search_refresh(OLD.issuer_id);
    IF TG_OP = 'UPDATE' AND NEW.issuer_id <> OLD.issuer_id THEN
        PERFORM search_refresh(NEW.issuer_id);
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_token_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_owned_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    PERFORM FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET updated_at = clock_timestamp() WHERE owner_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.update_owned_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER register_keep_token BEFORE UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_keep_token();

DROP TRIGGER IF EXISTS search_owner_changed ON public.accounts_user;
CREATE CONSTRAINT TRIGGER search_owner_changed AFTER UPDATE OF company_name, lei ON public.accounts_user DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.company_name IS DISTINCT FROM new.company_name OR old.lei IS DISTINCT FROM new.lei) EXECUTE FUNCTION public.search_owner_changed();

CREATE OR REPLACE TRIGGER update_owned_time AFTER UPDATE OF type, company_name, lei, legal_form, address, postal_code, city, country_id ON public.accounts_user FOR EACH ROW WHEN (old.type IS DISTINCT FROM new.type OR old.company_name IS DISTINCT FROM new.company_name OR old.lei IS DISTINCT FROM new.lei OR old.legal_form IS DISTINCT FROM new.legal_form OR old.address IS DISTINCT FROM new.address OR old.postal_code IS DISTINCT FROM new.postal_code OR old.city IS DISTINCT FROM new.city OR old.country_id IS DISTINCT FROM new.country_id) EXECUTE FUNCTION public.update_owned_time();

DROP TRIGGER IF EXISTS approvals_of_register ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER approvals_of_register AFTER INSERT ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_register();

CREATE OR REPLACE TRIGGER keep_industry BEFORE INSERT OR UPDATE OF industry_classification_benchmark_id, industry_code ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.keep_issuer_industry();

DROP TRIGGER IF EXISTS search_issuer_changed ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER search_issuer_changed AFTER UPDATE OF trading_name, owner_id ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.trading_name IS DISTINCT FROM new.trading_name OR old.owner_id IS DISTINCT FROM new.owner_id) EXECUTE FUNCTION public.search_issuer_changed();

CREATE OR REPLACE TRIGGER search_issuer_deleted AFTER DELETE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.search_issuer_deleted();

DROP TRIGGER IF EXISTS search_issuer_made ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER search_issuer_made AFTER INSERT ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.search_issuer_changed();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

CREATE OR REPLACE TRIGGER issuers_count_legacy_moved AFTER UPDATE OF issuer_id ON public.issuers_legacyshareholder FOR EACH ROW WHEN (old.issuer_id <> new.issuer_id) EXECUTE FUNCTION public.issuers_count_legacy();
ALTER TABLE public.issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy_moved;

CREATE OR REPLACE TRIGGER register_keep_marked BEFORE UPDATE ON public.issuers_legacyshareholder FOR EACH ROW WHEN (old.status = 'DELIVERED' OR new.status = 'DELIVERED' AND public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

DROP TRIGGER IF EXISTS approvals_of_identity ON public.issuers_token;
CREATE CONSTRAINT TRIGGER approvals_of_identity AFTER UPDATE OF symbol, isin ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.market_type = 'SECONDARY_MARKET' AND (old.symbol IS DISTINCT FROM new.symbol OR old.isin IS DISTINCT FROM new.isin)) EXECUTE FUNCTION public.approvals_of_identity();

CREATE OR REPLACE TRIGGER register_time_token BEFORE INSERT ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_time_token();

DROP TRIGGER IF EXISTS search_token_changed ON public.issuers_token;
CREATE CONSTRAINT TRIGGER search_token_changed AFTER UPDATE OF symbol, isin, visibility, issuer_id ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.symbol IS DISTINCT FROM new.symbol OR old.isin IS DISTINCT FROM new.isin OR old.visibility IS DISTINCT FROM new.visibility OR old.issuer_id IS DISTINCT FROM new.issuer_id) EXECUTE FUNCTION public.search_token_changed();

DROP TRIGGER IF EXISTS search_token_made ON public.issuers_token;
CREATE CONSTRAINT TRIGGER search_token_made AFTER INSERT OR DELETE ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.search_token_changed();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

DROP TRIGGER register_follow_issuer ON public.issuers_issuer;

DROP TRIGGER register_follow_token ON public.issuers_token;

DROP FUNCTION public.register_follow_issuer();

DROP FUNCTION public.register_follow_token();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0086_no_table_checks"),
        ("accounts", "0069_one_guard_a_table"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
