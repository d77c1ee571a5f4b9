-- The mailbox that an address reaches: without quotes, case and what follows a plus.
-- called by: anyone, desk_enrol, desk_invite, desk_may
CREATE OR REPLACE FUNCTION public.desk_mailbox(address text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT regexp_replace(translate(lower(address), '"\', ''), '\+[^@]*@', '@')
$$;
