-- Triggers of accounts_refuse_snapshot on tables of this room.

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_article FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_deliveryjob FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_deliverystep FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_document FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_holdercommitment FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_holdersalt FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_holdingpage FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_holdingtree FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_industryclassificationbenchmark FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_issuer FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_issuerfinancialdata FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_legacyimport FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_legacyshareholder FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_legacyshareholderchange FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_statedrows FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_statedtoken FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_statement FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_statementkey FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_token FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_witness FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_witnesskey FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();
