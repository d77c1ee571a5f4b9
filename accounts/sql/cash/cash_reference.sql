-- The creditor reference (ISO 11649) of a sort (1: deposit, 2: withdrawal) and a
-- number.
-- called by: accounts_write, cash_withdraw, offerings_pay_out
CREATE OR REPLACE FUNCTION public.cash_reference(sort text, number numeric)
RETURNS text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    digits text := sort || lpad((number * 618033988749 % 1000000000000)::text, 12, '0');
BEGIN
    RETURN 'RF' || lpad((98 - (digits || '271500')::numeric % 97)::text, 2, '0')
        || digits;
END $$;
REVOKE ALL ON FUNCTION public.cash_reference(text, numeric) FROM PUBLIC;
