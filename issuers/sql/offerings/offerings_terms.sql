-- The terms of an offering, as two people compare them; instants are seconds since 1970.
-- called by: offerings_open
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
