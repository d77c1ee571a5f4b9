-- Triggers of accounts_refuse_snapshot on tables of this room.

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.trading_bust FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.trading_execution FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.trading_order FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.trading_orderevent FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();
