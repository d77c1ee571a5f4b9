"""Contract: rights refuse what triggers refused.

The application has no right to change what only grows, nor to give a row an id.
"""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '22 ms';
LOCK TABLE public.accounts_pepper, public.accounts_user_groups, public.accounts_user_user_permissions, public.auth_group, public.auth_group_permissions, public.axes_accessattempt, public.django_admin_log, public.issuers_deliverystep, public.issuers_ledgerposting, public.issuers_ledgertransaction, public.issuers_tokenprice, public.marketdata_bookchange, public.marketdata_fixsession, public.marketdata_orderbookhead, public.marketdata_trade, public.marketdata_tradingday, public.otp_totp_totpdevice, public.partnerapi_exportmember, public.partnerapi_failedsignin, public.partnerapi_idempotencyrecord, public.partnerapi_jobrun IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER refuse_given_id ON public.accounts_pepper;

DROP TRIGGER refuse_given_id ON public.accounts_user_groups;

DROP TRIGGER refuse_given_id ON public.accounts_user_user_permissions;

DROP TRIGGER refuse_given_id ON public.auth_group;

DROP TRIGGER refuse_given_id ON public.auth_group_permissions;

DROP TRIGGER refuse_given_id ON public.axes_accessattempt;

DROP TRIGGER refuse_given_id ON public.django_admin_log;

DROP TRIGGER refuse_given_id ON public.issuers_deliverystep;

DROP TRIGGER register_refuse_change ON public.issuers_ledgerposting;

DROP TRIGGER register_refuse_change ON public.issuers_ledgertransaction;

DROP TRIGGER register_refuse_change ON public.issuers_tokenprice;

DROP TRIGGER marketdata_bookchange_keep ON public.marketdata_bookchange;

DROP TRIGGER marketdata_refuse_change ON public.marketdata_bookchange;

DROP TRIGGER refuse_given_id ON public.marketdata_fixsession;

DROP TRIGGER marketdata_keep_head ON public.marketdata_orderbookhead;

DROP TRIGGER marketdata_refuse_change ON public.marketdata_orderbookhead;

DROP TRIGGER marketdata_refuse_change ON public.marketdata_trade;

DROP TRIGGER marketdata_refuse_change ON public.marketdata_tradingday;

DROP TRIGGER refuse_given_id ON public.otp_totp_totpdevice;

DROP TRIGGER refuse_given_id ON public.partnerapi_exportmember;

DROP TRIGGER refuse_given_id ON public.partnerapi_failedsignin;

DROP TRIGGER refuse_given_id ON public.partnerapi_idempotencyrecord;

DROP TRIGGER refuse_given_id ON public.partnerapi_jobrun;

DROP FUNCTION public.accounts_refuse_change();

DROP FUNCTION public.marketdata_bookchange_keep();

DROP FUNCTION public.marketdata_keep_head();

DROP FUNCTION public.partnerapi_refuse_given_id();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '22 ms';
LOCK TABLE public.accounts_pepper, public.accounts_user_groups, public.accounts_user_user_permissions, public.auth_group, public.auth_group_permissions, public.axes_accessattempt, public.django_admin_log, public.issuers_deliverystep, public.issuers_ledgerposting, public.issuers_ledgertransaction, public.issuers_tokenprice, public.marketdata_bookchange, public.marketdata_fixsession, public.marketdata_orderbookhead, public.marketdata_trade, public.marketdata_tradingday, public.otp_totp_totpdevice, public.partnerapi_exportmember, public.partnerapi_failedsignin, public.partnerapi_idempotencyrecord, public.partnerapi_jobrun IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'What happened stays as it was written: % on % is refused.',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_refuse_change() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.marketdata_bookchange_keep()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, number %s', r.token_id, r.last) INTO wrong
    FROM (
        SELECT token_id, max(sequence) AS last FROM removed GROUP BY token_id
    ) r
    WHERE (r.last <= (
        SELECT min(sequence) FROM marketdata_booksnapshot s
        WHERE s.token_id = r.token_id
    )) IS NOT TRUE OR EXISTS (
        SELECT FROM marketdata_bookchange b WHERE b.token_id = r.token_id AND b.sequence < r.last
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Of a log only the beginning goes, as far as every snapshot '
            'covers it (prune book-log); DELETE on % is refused: %.', TG_TABLE_NAME,
            wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_bookchange_keep() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.marketdata_keep_head()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'The log of token % stands at change % and trade %, and never goes '
        'back.', OLD.token_id, OLD.last_sequence, OLD.last_trade
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.marketdata_keep_head() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.partnerapi_refuse_given_id()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id = OLD.id THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.id = currval(TG_ARGV[0]::regclass) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The sequence of % gives its ids, and not %.', TG_TABLE_NAME, NEW.id
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_refuse_given_id() FROM PUBLIC;

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.accounts_pepper FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.accounts_pepper_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.accounts_user_groups FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.accounts_user_groups_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.accounts_user_user_permissions FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.accounts_user_user_permissions_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.auth_group FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.auth_group_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.auth_group_permissions FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.auth_group_permissions_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.axes_accessattempt FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.axes_accessattempt_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.django_admin_log FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.django_admin_log_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.issuers_deliverystep FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.issuers_deliverystep_id_seq');

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgerposting FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_ledgertransaction FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER register_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.issuers_tokenprice FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_bookchange_keep AFTER DELETE ON public.marketdata_bookchange REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.marketdata_bookchange_keep();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE ON public.marketdata_bookchange FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.marketdata_fixsession FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.marketdata_fixsession_id_seq');

CREATE OR REPLACE TRIGGER marketdata_keep_head BEFORE UPDATE ON public.marketdata_orderbookhead FOR EACH ROW WHEN (new.last_sequence < old.last_sequence OR new.last_trade < old.last_trade OR new.last_snapshot < old.last_snapshot OR new.last_at < old.last_at OR new.token_id <> old.token_id) EXECUTE FUNCTION public.marketdata_keep_head();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_orderbookhead FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.marketdata_trade FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE ON public.marketdata_tradingday FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.otp_totp_totpdevice FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.otp_totp_totpdevice_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.partnerapi_exportmember FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.partnerapi_exportmember_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.partnerapi_failedsignin FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.partnerapi_failedsignin_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.partnerapi_idempotencyrecord FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.partnerapi_idempotencyrecord_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id ON public.partnerapi_jobrun FOR EACH ROW EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.partnerapi_jobrun_id_seq');
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0027_log_in_sentences"),
        ("issuers", "0081_pruned_events"),
        ("marketdata", "0024_pruned_logs"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
