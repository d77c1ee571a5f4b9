-- Triggers of accounts_refuse_change on tables of this room.

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE
    ON public.marketdata_bookchange FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.marketdata_orderbookhead FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.marketdata_trade FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.marketdata_tradingday FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();
