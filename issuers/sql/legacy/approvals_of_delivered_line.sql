-- A delivery of legacy shares matches a step of a released delivery, line by line,
-- unless the issuer was made in this transaction.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_of_delivered_line()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_delivered_line guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;

    PERFORM FROM issuers_deliverystep s
    JOIN issuers_deliveryjob j ON j.id = s.job_id AND j.released_at IS NOT NULL
    JOIN issuers_ledgeraccount a ON a.id = NEW.target_id
    CROSS JOIN LATERAL (
        SELECT array_position(s.shareholder_ids, NEW.legacy_shareholder_id) AS place) l
    WHERE s.id = nullif(current_setting('partnerapi.delivery_step', TRUE), '')::bigint
        AND s.units[l.place] = NEW.amount AND s.token_ids[l.place] = NEW.token_id
        AND s.user_ids[l.place] = a.user_id
        AND (j.source = 'MINT') = (NEW.source_id IS NULL);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Legacy shares are delivered as a released delivery has frozen '
            'them: line %.', NEW.legacy_shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_delivered_line() FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_of_delivered_line AFTER INSERT
    ON public.issuers_ledgertransaction FOR EACH ROW
    WHEN (new.kind = 'LEGACY_DELIVERY' AND new.effective_at > (transaction_timestamp() -
        '1 day'::interval) AND public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_delivered_line();
