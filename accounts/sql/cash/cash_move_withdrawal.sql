-- Moves a withdrawal along its statuses; approval and cancellation use an approval
-- where policy asks for one, payment needs the bank line's transaction.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_account (FOR SHARE)
CREATE OR REPLACE FUNCTION public.cash_move_withdrawal()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    used uuid;
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'cash_move_withdrawal guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.cash_account_id, NEW.amount, NEW.reference, NEW.payment_reference,
            NEW.requested_by, NEW.created_at)
        <> (OLD.id, OLD.cash_account_id, OLD.amount, OLD.reference,
            OLD.payment_reference, OLD.requested_by, OLD.created_at)
        OR NOT coalesce(CASE OLD.status
            WHEN 'REQUESTED' THEN NEW.status IN ('APPROVED', 'REFUSED')
            WHEN 'APPROVED' THEN NEW.status IN ('PAID', 'CANCELLED') END, FALSE) THEN
        RAISE EXCEPTION 'Of a withdrawal only the status changes: REQUESTED becomes '
            'APPROVED or REFUSED, APPROVED becomes PAID or CANCELLED; not % %.',
            OLD.status, NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status IN ('REFUSED', 'CANCELLED') AND NEW.status_reason = '' THEN
        RAISE EXCEPTION 'Say why the withdrawal is %.', NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status = 'PAID' AND NOT EXISTS (SELECT FROM accounts_cashtransaction
            WHERE withdrawal_id = NEW.id) THEN
        RAISE EXCEPTION 'A withdrawal is paid by the bank line that names it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status = 'APPROVED' THEN
        PERFORM FROM accounts_cashaccount c JOIN accounts_account a
            ON a.id = c.account_id AND a.status = 'ACTIVE'
            WHERE c.id = NEW.cash_account_id FOR SHARE OF a;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Cash is withdrawn from an account that is ACTIVE.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF NEW.status IN ('APPROVED', 'CANCELLED') THEN
        used := approvals_use('WITHDRAWAL', jsonb_build_object('withdrawal', NEW.id,
            'status', NEW.status, 'cents', NEW.amount::text,
            'reason', NEW.status_reason), NEW.amount, NULL, NULL);
        NEW.request_id := used;
    ELSIF NEW.request_id IS DISTINCT FROM OLD.request_id THEN
        RAISE EXCEPTION 'A withdrawal names the request that was used.' USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.updated_at := greatest(OLD.updated_at, clock_timestamp());
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.cash_move_withdrawal() FROM PUBLIC;

CREATE OR REPLACE TRIGGER cash_move_withdrawal BEFORE UPDATE
    ON public.accounts_withdrawal FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.cash_move_withdrawal();
