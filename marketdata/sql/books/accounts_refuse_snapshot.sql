-- Triggers of accounts_refuse_snapshot on tables of this room.

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.marketdata_fixlease FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE
    ON public.marketdata_fixsession FOR EACH STATEMENT
    WHEN (current_setting('transaction_isolation') <> 'read committed')
    EXECUTE FUNCTION public.accounts_refuse_snapshot();
