-- Writes the terms of an offering in the name of a member of staff that may ask for it;
-- partners do not see it. A draft of this id is replaced. `terms` is as
-- offerings_terms returns it.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_offering (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.offerings_draft(
    actor text, drafted uuid, of_token uuid, terms jsonb
)
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
