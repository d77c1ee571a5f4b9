-- Tells partners about cash that moved otherwise than by a trade.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
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

CREATE OR REPLACE TRIGGER events_cash_changed AFTER INSERT
    ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_cash_changed();
