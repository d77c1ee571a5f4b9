"""Contract: functions alone write what the release before wrote itself."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '55 ms';
LOCK TABLE public.issuers_approvedholder, public.issuers_issuergrant, public.issuers_ledgeraccount, public.issuers_ledgerposting, public.issuers_ledgertransaction, public.issuers_restriction, public.issuers_tokenledgerhead, public.issuers_tokenprice, public.issuers_tokenrule IN ACCESS EXCLUSIVE MODE;

-- From here on functions alone write these tables.
DO $revoke$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT DISTINCT c.oid::regclass AS of, a.grantee::regrole AS role
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
        WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN (
            'issuers_approvedholder',
            'issuers_issuergrant',
            'issuers_ledgeraccount',
            'issuers_ledgertransaction',
            'issuers_restriction',
            'issuers_tokenprice',
            'issuers_tokenrule')
            AND a.grantee NOT IN (0, c.relowner)
            AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s FROM %s', given.of,
            given.role);
    END LOOP;
END $revoke$;

CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
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

DROP TRIGGER refuse_snapshot ON public.issuers_approvedholder;

DROP TRIGGER register_keep_approvedholder ON public.issuers_approvedholder;

DROP TRIGGER register_refuse_change ON public.issuers_approvedholder;

DROP TRIGGER approvals_of_grant ON public.issuers_issuergrant;

DROP TRIGGER refuse_snapshot ON public.issuers_issuergrant;

DROP TRIGGER refuse_given_id ON public.issuers_ledgeraccount;

DROP TRIGGER refuse_snapshot ON public.issuers_ledgeraccount;

DROP TRIGGER register_refuse_change ON public.issuers_ledgeraccount;

DROP TRIGGER register_follow_holdings ON public.issuers_ledgerposting;

DROP TRIGGER register_judge_postings ON public.issuers_ledgerposting;

DROP TRIGGER approvals_of_delivered_line ON public.issuers_ledgertransaction;

DROP TRIGGER approvals_of_entry ON public.issuers_ledgertransaction;

DROP TRIGGER approvals_of_transfer ON public.issuers_ledgertransaction;

DROP TRIGGER refuse_snapshot ON public.issuers_ledgertransaction;

DROP TRIGGER register_follow_transactions ON public.issuers_ledgertransaction;

DROP TRIGGER trading_settles_units ON public.issuers_ledgertransaction;

DROP TRIGGER approvals_of_lifting ON public.issuers_restriction;

DROP TRIGGER refuse_snapshot ON public.issuers_restriction;

DROP TRIGGER register_keep_restriction ON public.issuers_restriction;

DROP TRIGGER register_refuse_change ON public.issuers_restriction;

DROP TRIGGER register_refuse_change ON public.issuers_tokenledgerhead;

DROP TRIGGER approvals_of_price ON public.issuers_tokenprice;

DROP TRIGGER approvals_of_trade_price ON public.issuers_tokenprice;

DROP TRIGGER refuse_snapshot ON public.issuers_tokenprice;

DROP TRIGGER register_follow_prices ON public.issuers_tokenprice;

DROP TRIGGER approvals_of_rule ON public.issuers_tokenrule;

DROP TRIGGER compliance_know_countries ON public.issuers_tokenrule;

DROP TRIGGER refuse_snapshot ON public.issuers_tokenrule;

DROP TRIGGER register_keep_tokenrule ON public.issuers_tokenrule;

DROP TRIGGER register_refuse_change ON public.issuers_tokenrule;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '55 ms';
LOCK TABLE public.issuers_approvedholder, public.issuers_issuergrant, public.issuers_ledgeraccount, public.issuers_ledgerposting, public.issuers_ledgertransaction, public.issuers_restriction, public.issuers_tokenledgerhead, public.issuers_tokenprice, public.issuers_tokenrule IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
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
    IF NEW.status = 'DELIVERED' AND NOT EXISTS (
        SELECT FROM issuers_ledgertransaction t
        JOIN issuers_ledgeraccount a ON a.id = t.target_id
        WHERE t.token_id = NEW.token_id AND t.seq = NEW.ledger_seq
            AND t.legacy_shareholder_id = NEW.id AND t.amount = NEW.number_of_shares
            AND t.effective_at = NEW.delivered_at AND t.actor = NEW.delivered_by
            AND a.user_id = NEW.user_id) THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_approvedholder FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER register_keep_approvedholder BEFORE INSERT OR UPDATE ON public.issuers_approvedholder FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_approvedholder();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_approvedholder FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS approvals_of_grant ON public.issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant AFTER INSERT OR UPDATE ON public.issuers_issuergrant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.ended_at IS NULL AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_grant();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_issuergrant FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.issuers_ledgeraccount FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.issuers_ledgeraccount_id_seq');

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_ledgeraccount FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgeraccount FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_follow_holdings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_follow_holdings();

CREATE OR REPLACE TRIGGER register_judge_postings AFTER INSERT ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_judge_postings();

CREATE OR REPLACE TRIGGER approvals_of_delivered_line AFTER INSERT ON public.issuers_ledgertransaction FOR EACH ROW WHEN (new.kind = 'LEGACY_DELIVERY' AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_delivered_line();

DROP TRIGGER IF EXISTS approvals_of_entry ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_entry AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = ANY (ARRAY['MINT', 'BURN', 'FORCED_TRANSFER', 'REVERSAL'])) AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_entry();

DROP TRIGGER IF EXISTS approvals_of_transfer ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER approvals_of_transfer AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = ANY (ARRAY['TRANSFER', 'ALLOCATE', 'RETURN'])) AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_transfer();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_ledgertransaction FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER register_follow_transactions AFTER INSERT ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_follow_transactions();

DROP TRIGGER IF EXISTS trading_settles_units ON public.issuers_ledgertransaction;
CREATE CONSTRAINT TRIGGER trading_settles_units AFTER INSERT ON public.issuers_ledgertransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = 'TRADE' OR new.kind = 'REVERSAL') AND public.accounts_written_directly()) EXECUTE FUNCTION public.trading_settles_units();

DROP TRIGGER IF EXISTS approvals_of_lifting ON public.issuers_restriction;
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_lifting();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_restriction FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER register_keep_restriction BEFORE INSERT OR UPDATE ON public.issuers_restriction FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_restriction();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_restriction FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenledgerhead FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS approvals_of_price ON public.issuers_tokenprice;
CREATE CONSTRAINT TRIGGER approvals_of_price AFTER INSERT ON public.issuers_tokenprice DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.source <> 'TRADE' AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_price();

CREATE OR REPLACE TRIGGER approvals_of_trade_price AFTER INSERT ON public.issuers_tokenprice FOR EACH ROW WHEN (new.source = 'TRADE' AND new.effective_at > (transaction_timestamp() - '1 day'::interval) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_trade_price();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_tokenprice FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER register_follow_prices AFTER INSERT ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_follow_prices();

DROP TRIGGER IF EXISTS approvals_of_rule ON public.issuers_tokenrule;
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON public.issuers_tokenrule DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_rule();

CREATE OR REPLACE TRIGGER compliance_know_countries AFTER INSERT ON public.issuers_tokenrule FOR EACH ROW WHEN (new.kind = 'COUNTRIES' AND public.accounts_written_directly()) EXECUTE FUNCTION public.compliance_know_countries();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_tokenrule FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER register_keep_tokenrule BEFORE INSERT OR UPDATE ON public.issuers_tokenrule FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_keep_tokenrule();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON public.issuers_tokenrule FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0067_writers"),
        ("accounts", "0053_writers_alone"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
