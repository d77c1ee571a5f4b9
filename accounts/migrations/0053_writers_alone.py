"""Contract: functions alone write what the release before wrote itself."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '22 ms';
LOCK TABLE public.accounts_accountstatuschange, public.accounts_applicant, public.accounts_approvaldecision, public.accounts_approvaloutcome, public.accounts_approvalrequest, public.accounts_assertion, public.accounts_bankline, public.accounts_bankstatement, public.accounts_cashaccount, public.accounts_cashhead, public.accounts_cashposting, public.accounts_cashtransaction, public.accounts_investorattestation, public.accounts_investorchange, public.accounts_passkey, public.accounts_passkeyvoucher, public.accounts_rowchange, public.accounts_soleamount, public.accounts_staffchange, public.accounts_userholdername, public.accounts_withdrawal, public.django_admin_log IN ACCESS EXCLUSIVE MODE;

-- From here on functions alone write these tables.
DO $revoke$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT DISTINCT c.oid::regclass AS of, a.grantee::regrole AS role
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
        WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN (
            'accounts_approvaldecision',
            'accounts_approvalrequest',
            'accounts_bankline',
            'accounts_bankstatement',
            'accounts_cashtransaction',
            'accounts_investorattestation',
            'accounts_investorchange',
            'accounts_withdrawal')
            AND a.grantee NOT IN (0, c.relowner)
            AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s FROM %s', given.of,
            given.role);
    END LOOP;
END $revoke$;

DROP TRIGGER IF EXISTS approvals_rested_at_the_commit ON public.accounts_approvaldecision;
CREATE CONSTRAINT TRIGGER approvals_rested_at_the_commit AFTER INSERT ON public.accounts_approvaldecision DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_rested();

DROP TRIGGER accounts_refuse_change ON public.accounts_accountstatuschange;

DROP TRIGGER accounts_refuse_change ON public.accounts_applicant;

DROP TRIGGER accounts_refuse_change ON public.accounts_approvaldecision;

DROP TRIGGER approvals_decide ON public.accounts_approvaldecision;

DROP TRIGGER approvals_rested ON public.accounts_approvaldecision;

DROP TRIGGER refuse_snapshot ON public.accounts_approvaldecision;

DROP TRIGGER accounts_refuse_change ON public.accounts_approvaloutcome;

DROP TRIGGER accounts_refuse_change ON public.accounts_approvalrequest;

DROP TRIGGER approvals_file ON public.accounts_approvalrequest;

DROP TRIGGER refuse_snapshot ON public.accounts_approvalrequest;

DROP TRIGGER accounts_refuse_change ON public.accounts_assertion;

DROP TRIGGER accounts_refuse_change ON public.accounts_bankline;

DROP TRIGGER cash_book_line ON public.accounts_bankline;

DROP TRIGGER cash_receive_lines ON public.accounts_bankline;

DROP TRIGGER refuse_snapshot ON public.accounts_bankline;

DROP TRIGGER accounts_refuse_change ON public.accounts_bankstatement;

DROP TRIGGER approvals_of_statement ON public.accounts_bankstatement;

DROP TRIGGER cash_receive_statement ON public.accounts_bankstatement;

DROP TRIGGER refuse_given_id ON public.accounts_bankstatement;

DROP TRIGGER refuse_snapshot ON public.accounts_bankstatement;

DROP TRIGGER accounts_refuse_change ON public.accounts_cashaccount;

DROP TRIGGER accounts_refuse_removal ON public.accounts_cashhead;

DROP TRIGGER accounts_refuse_change ON public.accounts_cashposting;

DROP TRIGGER accounts_refuse_change ON public.accounts_cashtransaction;

DROP TRIGGER approvals_of_cash ON public.accounts_cashtransaction;

DROP TRIGGER cash_follow_transactions ON public.accounts_cashtransaction;

DROP TRIGGER refuse_given_id ON public.accounts_cashtransaction;

DROP TRIGGER refuse_snapshot ON public.accounts_cashtransaction;

DROP TRIGGER trading_settles_cash ON public.accounts_cashtransaction;

DROP TRIGGER accounts_attest ON public.accounts_investorattestation;

DROP TRIGGER accounts_refuse_change ON public.accounts_investorattestation;

DROP TRIGGER refuse_snapshot ON public.accounts_investorattestation;

DROP TRIGGER account_is_held_first ON public.accounts_investorchange;

DROP TRIGGER accounts_follow_investor ON public.accounts_investorchange;

DROP TRIGGER accounts_refuse_change ON public.accounts_investorchange;

DROP TRIGGER refuse_snapshot ON public.accounts_investorchange;

DROP TRIGGER accounts_refuse_change ON public.accounts_passkey;

DROP TRIGGER accounts_refuse_change ON public.accounts_passkeyvoucher;

DROP TRIGGER accounts_refuse_change ON public.accounts_rowchange;

DROP TRIGGER accounts_refuse_removal ON public.accounts_soleamount;

DROP TRIGGER accounts_refuse_change ON public.accounts_staffchange;

DROP TRIGGER accounts_refuse_change ON public.accounts_userholdername;

DROP TRIGGER accounts_refuse_removal ON public.accounts_withdrawal;

DROP TRIGGER cash_move_withdrawal ON public.accounts_withdrawal;

DROP TRIGGER cash_request_withdrawal ON public.accounts_withdrawal;

DROP TRIGGER cash_reserve_moved ON public.accounts_withdrawal;

DROP TRIGGER cash_reserve_requested ON public.accounts_withdrawal;

DROP TRIGGER refuse_snapshot ON public.accounts_withdrawal;

DROP TRIGGER staff_log_is_appended_to ON public.django_admin_log;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '22 ms';
LOCK TABLE public.accounts_accountstatuschange, public.accounts_applicant, public.accounts_approvaldecision, public.accounts_approvaloutcome, public.accounts_approvalrequest, public.accounts_assertion, public.accounts_bankline, public.accounts_bankstatement, public.accounts_cashaccount, public.accounts_cashhead, public.accounts_cashposting, public.accounts_cashtransaction, public.accounts_investorattestation, public.accounts_investorchange, public.accounts_passkey, public.accounts_passkeyvoucher, public.accounts_rowchange, public.accounts_soleamount, public.accounts_staffchange, public.accounts_userholdername, public.accounts_withdrawal, public.django_admin_log IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER IF EXISTS approvals_rested_at_the_commit ON public.accounts_approvaldecision;
CREATE CONSTRAINT TRIGGER approvals_rested_at_the_commit AFTER INSERT ON public.accounts_approvaldecision DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_rested();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_accountstatuschange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_applicant FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_approvaldecision FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER approvals_decide BEFORE INSERT ON public.accounts_approvaldecision FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_decide();

CREATE OR REPLACE TRIGGER approvals_rested AFTER INSERT ON public.accounts_approvaldecision FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_rested();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_approvaldecision FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_approvaloutcome FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_approvalrequest FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER approvals_file BEFORE INSERT ON public.accounts_approvalrequest FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_file();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_approvalrequest FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_assertion FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_bankline FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS cash_book_line ON public.accounts_bankline;
CREATE CONSTRAINT TRIGGER cash_book_line AFTER INSERT ON public.accounts_bankline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_book_line();

CREATE OR REPLACE TRIGGER cash_receive_lines AFTER INSERT ON public.accounts_bankline REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_receive_lines();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_bankline FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OF id, name, digest, closing_balance, booked_balance, booked_by, booked_at OR TRUNCATE ON public.accounts_bankstatement FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS approvals_of_statement ON public.accounts_bankstatement;
CREATE CONSTRAINT TRIGGER approvals_of_statement AFTER INSERT ON public.accounts_bankstatement DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_statement();

CREATE OR REPLACE TRIGGER cash_receive_statement BEFORE INSERT ON public.accounts_bankstatement FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_receive_statement();

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.accounts_bankstatement FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.accounts_bankstatement_id_seq');

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_bankstatement FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_cashaccount FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE ON public.accounts_cashhead FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_cashposting FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_cashtransaction FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS approvals_of_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER approvals_of_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.assigns_id IS NOT NULL OR new.reverses_id IS NOT NULL) AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_cash();

CREATE OR REPLACE TRIGGER cash_follow_transactions AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_follow_transactions();

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.accounts_cashtransaction FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.accounts_cashtransaction_id_seq');

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_cashtransaction FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

DROP TRIGGER IF EXISTS trading_settles_cash ON public.accounts_cashtransaction;
CREATE CONSTRAINT TRIGGER trading_settles_cash AFTER INSERT ON public.accounts_cashtransaction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.kind = 'TRADE' OR new.kind = 'REVERSAL') AND public.accounts_written_directly()) EXECUTE FUNCTION public.trading_settles_cash();

CREATE OR REPLACE TRIGGER accounts_attest BEFORE INSERT ON public.accounts_investorattestation FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_attest();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_investorattestation FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_investorattestation FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER account_is_held_first BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.register_hold_investor();

CREATE OR REPLACE TRIGGER accounts_follow_investor BEFORE INSERT ON public.accounts_investorchange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_follow_investor();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_investorchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_investorchange FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OF id, person_id, credential, public_key, domain, created_at OR TRUNCATE ON public.accounts_passkey FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_passkeyvoucher FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_rowchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE ON public.accounts_soleamount FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_staffchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.accounts_userholdername FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER accounts_refuse_removal BEFORE DELETE OR TRUNCATE ON public.accounts_withdrawal FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER cash_move_withdrawal BEFORE UPDATE ON public.accounts_withdrawal FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_move_withdrawal();

CREATE OR REPLACE TRIGGER cash_request_withdrawal BEFORE INSERT ON public.accounts_withdrawal FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_request_withdrawal();

CREATE OR REPLACE TRIGGER cash_reserve_moved AFTER UPDATE ON public.accounts_withdrawal REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE OR REPLACE TRIGGER cash_reserve_requested AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_reserve_withdrawals();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_withdrawal FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER staff_log_is_appended_to BEFORE UPDATE OR TRUNCATE ON public.django_admin_log FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0052_writers"),
        ("issuers", "0067_writers"),
        ("marketdata", "0021_writers"),
        ("trading", "0015_executions_by_time"),
        ("partnerapi", "0024_request_counts_by_function"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
