-- Names the bank account that holds clients' money, from now on.
-- called by: application
CREATE OR REPLACE FUNCTION public.cash_name_bank(
    asker text, account_name text, account_iban text
)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    named bigint;
BEGIN
    PERFORM cash_judge_staff(asker, NULL, ARRAY['add_houseaccount']);
    INSERT INTO accounts_houseaccount (name, iban, named_by, named_at)
    VALUES (account_name, account_iban, asker, clock_timestamp())
    RETURNING id INTO named;
    RETURN named;
END $$;
REVOKE ALL ON FUNCTION public.cash_name_bank(text, text, text) FROM PUBLIC;
