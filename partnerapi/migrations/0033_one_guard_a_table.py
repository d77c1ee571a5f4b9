"""Contract: what judges a change refuses a snapshot; nothing is judged of other tables."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '15 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_applicant, public.accounts_country, public.accounts_holderimport, public.accounts_partner, public.accounts_pepper, public.accounts_staffnotice, public.accounts_user, public.accounts_user_groups, public.accounts_user_user_permissions, public.accounts_userholder, public.issuers_article, public.issuers_deliveryjob, public.issuers_deliverystep, public.issuers_document, public.issuers_holdercommitment, public.issuers_holdersalt, public.issuers_holdingpage, public.issuers_holdingtree, public.issuers_industryclassificationbenchmark, public.issuers_issuer, public.issuers_issuerfinancialdata, public.issuers_legacyimport, public.issuers_legacyshareholder, public.issuers_legacyshareholderchange, public.issuers_statedrows, public.issuers_statedtoken, public.issuers_statement, public.issuers_statementkey, public.issuers_token, public.issuers_witness, public.issuers_witnesskey, public.marketdata_fixlease, public.marketdata_fixsession IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER refuse_snapshot ON public.accounts_account;

DROP TRIGGER refuse_snapshot ON public.accounts_accountstatuschange;

DROP TRIGGER refuse_snapshot ON public.accounts_apikey;

DROP TRIGGER refuse_snapshot ON public.accounts_applicant;

DROP TRIGGER refuse_snapshot ON public.accounts_country;

DROP TRIGGER refuse_snapshot ON public.accounts_holderimport;

DROP TRIGGER refuse_snapshot ON public.accounts_partner;

DROP TRIGGER refuse_snapshot ON public.accounts_pepper;

DROP TRIGGER refuse_snapshot ON public.accounts_staffnotice;

DROP TRIGGER refuse_snapshot ON public.accounts_user;

DROP TRIGGER refuse_snapshot ON public.accounts_user_groups;

DROP TRIGGER refuse_snapshot ON public.accounts_user_user_permissions;

DROP TRIGGER refuse_snapshot ON public.accounts_userholder;

DROP TRIGGER refuse_snapshot ON public.issuers_article;

DROP TRIGGER refuse_snapshot ON public.issuers_deliveryjob;

DROP TRIGGER refuse_snapshot ON public.issuers_deliverystep;

DROP TRIGGER refuse_snapshot ON public.issuers_document;

DROP TRIGGER refuse_snapshot ON public.issuers_holdercommitment;

DROP TRIGGER refuse_snapshot ON public.issuers_holdersalt;

DROP TRIGGER refuse_snapshot ON public.issuers_holdingpage;

DROP TRIGGER refuse_snapshot ON public.issuers_holdingtree;

DROP TRIGGER refuse_snapshot ON public.issuers_industryclassificationbenchmark;

DROP TRIGGER refuse_snapshot ON public.issuers_issuer;

DROP TRIGGER refuse_snapshot ON public.issuers_issuerfinancialdata;

DROP TRIGGER refuse_snapshot ON public.issuers_legacyimport;

DROP TRIGGER refuse_snapshot ON public.issuers_legacyshareholder;

DROP TRIGGER refuse_snapshot ON public.issuers_legacyshareholderchange;

DROP TRIGGER refuse_snapshot ON public.issuers_statedrows;

DROP TRIGGER refuse_snapshot ON public.issuers_statedtoken;

DROP TRIGGER refuse_snapshot ON public.issuers_statement;

DROP TRIGGER refuse_snapshot ON public.issuers_statementkey;

DROP TRIGGER refuse_snapshot ON public.issuers_token;

DROP TRIGGER refuse_snapshot ON public.issuers_witness;

DROP TRIGGER refuse_snapshot ON public.issuers_witnesskey;

DROP TRIGGER refuse_snapshot ON public.marketdata_fixlease;

DROP TRIGGER refuse_snapshot ON public.marketdata_fixsession;

DROP FUNCTION public.accounts_refuse_snapshot();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '15 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_applicant, public.accounts_country, public.accounts_holderimport, public.accounts_partner, public.accounts_pepper, public.accounts_staffnotice, public.accounts_user, public.accounts_user_groups, public.accounts_user_user_permissions, public.accounts_userholder, public.issuers_article, public.issuers_deliveryjob, public.issuers_deliverystep, public.issuers_document, public.issuers_holdercommitment, public.issuers_holdersalt, public.issuers_holdingpage, public.issuers_holdingtree, public.issuers_industryclassificationbenchmark, public.issuers_issuer, public.issuers_issuerfinancialdata, public.issuers_legacyimport, public.issuers_legacyshareholder, public.issuers_legacyshareholderchange, public.issuers_statedrows, public.issuers_statedtoken, public.issuers_statement, public.issuers_statementkey, public.issuers_token, public.issuers_witness, public.issuers_witnesskey, public.marketdata_fixlease, public.marketdata_fixsession IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION public.accounts_refuse_snapshot()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.accounts_refuse_snapshot() FROM PUBLIC;

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_account FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_accountstatuschange FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_apikey FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_applicant FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_country FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_holderimport FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_partner FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_pepper FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_staffnotice FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_user FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_user_groups FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_user_user_permissions FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.accounts_userholder FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_article FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_deliveryjob FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_deliverystep FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_document FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_holdercommitment FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_holdersalt FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_holdingpage FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_holdingtree FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_industryclassificationbenchmark FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_issuer FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_issuerfinancialdata FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_legacyimport FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_legacyshareholder FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_legacyshareholderchange FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_statedrows FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_statedtoken FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_statement FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_statementkey FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_token FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_witness FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.issuers_witnesskey FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.marketdata_fixlease FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.marketdata_fixsession FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0032_no_table_checks"),
        ("accounts", "0069_one_guard_a_table"),
        ("issuers", "0087_one_guard_a_table"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
