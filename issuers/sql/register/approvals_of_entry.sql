-- An entry of the register uses an approval of its content where policy asks for one;
-- reversals of trades and issuers made in this transaction need none.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_entry()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_entry guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    IF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use(NEW.kind, jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', CASE WHEN NEW.source_id IS NULL OR NEW.target_id IS NULL
            THEN NEW.supply_after::text END),
        NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_entry() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_entry ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_entry AFTER INSERT
    ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((new.kind = ANY (ARRAY['MINT', 'BURN', 'FORCED_TRANSFER', 'REVERSAL'])) AND
        new.effective_at > (transaction_timestamp() - '1 day'::interval) AND
        public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_entry();
