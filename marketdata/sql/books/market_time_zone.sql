-- The time zone of trading days and sessions.
-- called by: anyone, marketdata_follow_days, trading_fixing, trading_issue_document,
--     trading_session
CREATE OR REPLACE FUNCTION public.market_time_zone()
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT 'Europe/Paris' $$;
