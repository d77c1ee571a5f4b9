-- Tells the partner that gains or loses a grant.
-- called by: triggers
-- raises: insufficient_privilege
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

CREATE OR REPLACE TRIGGER events_grant_changed AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuergrant FOR EACH ROW
    EXECUTE FUNCTION public.events_grant_changed();
