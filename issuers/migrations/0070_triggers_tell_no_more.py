"""Contract: no trigger repeats what a writer does, and one of a table does what two did."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '50 ms';
LOCK TABLE public.issuers_deliveryjob, public.issuers_deliverystep, public.issuers_issuer, public.issuers_issuergrant, public.issuers_ledgeraccount, public.issuers_ledgertransaction, public.issuers_legacyshareholder, public.issuers_token, public.issuers_tokenledgerhead, public.issuers_tokenprice IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER approvals_of_delivery BEFORE INSERT OR UPDATE ON public.issuers_deliveryjob FOR EACH ROW EXECUTE FUNCTION public.approvals_of_delivery();

CREATE OR REPLACE TRIGGER delivery_stays BEFORE INSERT OR UPDATE ON public.issuers_deliverystep FOR EACH ROW EXECUTE FUNCTION public.delivery_stays();

CREATE OR REPLACE TRIGGER register_keep_issuer BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.register_keep_issuer();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

DROP TRIGGER approvals_of_new_delivery ON public.issuers_deliveryjob;

DROP TRIGGER delivery_takes_steps ON public.issuers_deliverystep;

DROP TRIGGER register_keep_issuer_listed ON public.issuers_issuer;

DROP TRIGGER events_grant_changed ON public.issuers_issuergrant;

DROP TRIGGER register_delete_no_grant ON public.issuers_issuergrant;

DROP TRIGGER register_keep_grants ON public.issuers_issuergrant;

DROP TRIGGER register_keep_account ON public.issuers_ledgeraccount;

DROP TRIGGER events_register_changed ON public.issuers_ledgertransaction;

DROP TRIGGER events_legacy_delivered ON public.issuers_legacyshareholder;

DROP TRIGGER register_keep_token_listed ON public.issuers_token;

DROP TRIGGER register_keep_head ON public.issuers_tokenledgerhead;

DROP TRIGGER register_keep_open ON public.issuers_tokenledgerhead;

DROP TRIGGER events_price_changed ON public.issuers_tokenprice;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '50 ms';
LOCK TABLE public.issuers_deliveryjob, public.issuers_deliverystep, public.issuers_issuer, public.issuers_issuergrant, public.issuers_ledgeraccount, public.issuers_ledgertransaction, public.issuers_legacyshareholder, public.issuers_token, public.issuers_tokenledgerhead, public.issuers_tokenprice IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER approvals_of_delivery BEFORE UPDATE ON public.issuers_deliveryjob FOR EACH ROW WHEN (new.released_at IS DISTINCT FROM old.released_at OR new.source IS DISTINCT FROM old.source OR new.created_by IS DISTINCT FROM old.created_by) EXECUTE FUNCTION public.approvals_of_delivery();

CREATE OR REPLACE TRIGGER delivery_stays BEFORE UPDATE ON public.issuers_deliverystep FOR EACH ROW WHEN (new.job_id IS DISTINCT FROM old.job_id OR new."position" IS DISTINCT FROM old."position" OR new.shareholder_ids IS DISTINCT FROM old.shareholder_ids OR new.units IS DISTINCT FROM old.units OR new.token_ids IS DISTINCT FROM old.token_ids OR new.user_ids IS DISTINCT FROM old.user_ids) EXECUTE FUNCTION public.delivery_stays();

CREATE OR REPLACE TRIGGER register_keep_issuer BEFORE INSERT OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.register_keep_issuer();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.update_issuer_time();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_legacyshareholder FOR EACH ROW EXECUTE FUNCTION public.update_legacy_time();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.update_token_time();

CREATE OR REPLACE TRIGGER approvals_of_new_delivery BEFORE INSERT ON public.issuers_deliveryjob FOR EACH ROW WHEN (new.released_at IS NOT NULL) EXECUTE FUNCTION public.approvals_of_delivery();

CREATE OR REPLACE TRIGGER delivery_takes_steps BEFORE INSERT ON public.issuers_deliverystep FOR EACH ROW EXECUTE FUNCTION public.delivery_stays();

CREATE OR REPLACE TRIGGER register_keep_issuer_listed BEFORE DELETE ON public.issuers_issuer FOR EACH ROW EXECUTE FUNCTION public.register_keep_issuer();

CREATE OR REPLACE TRIGGER events_grant_changed AFTER INSERT OR DELETE OR UPDATE ON public.issuers_issuergrant FOR EACH ROW EXECUTE FUNCTION public.events_grant_changed();

CREATE OR REPLACE TRIGGER register_delete_no_grant BEFORE DELETE ON public.issuers_issuergrant FOR EACH ROW EXECUTE FUNCTION public.register_keep_grants();

CREATE OR REPLACE TRIGGER register_keep_grants BEFORE UPDATE ON public.issuers_issuergrant FOR EACH ROW WHEN (new.id <> old.id OR new.partner_id <> old.partner_id OR new.issuer_id IS DISTINCT FROM old.issuer_id) EXECUTE FUNCTION public.register_keep_grants();

CREATE OR REPLACE TRIGGER register_keep_account BEFORE INSERT ON public.issuers_ledgeraccount FOR EACH ROW WHEN (new.kind = 'HOLDER') EXECUTE FUNCTION public.register_keep_account();

CREATE OR REPLACE TRIGGER events_register_changed AFTER INSERT ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_register_changed();

CREATE OR REPLACE TRIGGER events_legacy_delivered AFTER UPDATE ON public.issuers_legacyshareholder REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_legacy_delivered();

CREATE OR REPLACE TRIGGER register_keep_token_listed BEFORE DELETE ON public.issuers_token FOR EACH ROW EXECUTE FUNCTION public.register_keep_token();

CREATE OR REPLACE TRIGGER register_keep_head BEFORE UPDATE ON public.issuers_tokenledgerhead FOR EACH ROW WHEN (old.is_open AND NOT new.is_open OR new.last_seq < old.last_seq OR new.last_price < old.last_price OR new.token_id <> old.token_id) EXECUTE FUNCTION public.register_keep_head();

DROP TRIGGER IF EXISTS register_keep_open ON public.issuers_tokenledgerhead;
CREATE CONSTRAINT TRIGGER register_keep_open AFTER UPDATE ON public.issuers_tokenledgerhead DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT new.is_open) EXECUTE FUNCTION public.register_keep_open();

CREATE OR REPLACE TRIGGER events_price_changed AFTER INSERT ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_price_changed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0069_told_by_writers"),
        ("accounts", "0057_triggers_tell_no_more"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
