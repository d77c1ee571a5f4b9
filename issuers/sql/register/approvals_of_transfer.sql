-- A transfer by a person uses an approval where policy asks for one.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_transfer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_transfer guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF approvals_person() = 'SQL' THEN
        RETURN NULL;
    END IF;
    
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    PERFORM approvals_use('TRANSFER', jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', NULL), NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_transfer() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_transfer ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_transfer AFTER INSERT
    ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((new.kind = ANY (ARRAY['TRANSFER', 'ALLOCATE', 'RETURN'])) AND
        new.effective_at > (transaction_timestamp() - '1 day'::interval) AND
        public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_transfer();
