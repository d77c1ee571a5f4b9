-- Triggers of accounts_refuse_change on tables of this room.

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.trading_bust FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.trading_execution FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE
    ON public.trading_market FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE
    ON public.trading_order FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE
    ON public.trading_orderevent FOR EACH STATEMENT
    EXECUTE FUNCTION public.accounts_refuse_change();
