-- Refuses to change or remove rows of logs that are only appended to.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.marketdata_refuse_change()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'A log is only appended to: % on % is refused. A change that was '
        'wrong is followed by another one.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.marketdata_refuse_change() FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE
    ON public.marketdata_bookchange FOR EACH STATEMENT
    EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.marketdata_orderbookhead FOR EACH STATEMENT
    EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_keep_trades BEFORE DELETE
    ON public.marketdata_trade FOR EACH STATEMENT
    EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE
    ON public.marketdata_trade FOR EACH STATEMENT
    EXECUTE FUNCTION public.marketdata_refuse_change();

CREATE OR REPLACE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE
    ON public.marketdata_tradingday FOR EACH STATEMENT
    EXECUTE FUNCTION public.marketdata_refuse_change();
