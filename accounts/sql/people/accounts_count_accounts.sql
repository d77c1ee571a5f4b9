-- Notes how many accounts each partner gained; accounts_fold_totals adds them up at the
-- commit.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.accounts_count_accounts()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_count(array_agg('accounts'::text), array_agg(partner_id),
        array_agg(number))
    FROM (SELECT partner_id, count(*) AS number FROM changed GROUP BY partner_id) c
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_count_accounts() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_count_accounts AFTER INSERT
    ON public.accounts_account REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_count_accounts();
ALTER TABLE public.accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts;
