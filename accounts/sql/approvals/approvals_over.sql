-- Whether amounts of issuers exceed what one person, or all staff, may do alone in a
-- day.
-- called by: application, approvals_alone
CREATE OR REPLACE FUNCTION public.approvals_over(
    wanted text, who text, issuers uuid[], amounts numeric[]
)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    p accounts_approvalpolicy;
BEGIN
    SELECT * INTO p FROM accounts_approvalpolicy WHERE kind = wanted;
    IF NOT FOUND OR NOT p.is_required THEN
        RETURN p.kind IS NULL;
    END IF;
    RETURN p.from_amount IS NULL
        OR CASE WHEN who IN ('SQL', 'command') THEN FALSE
            ELSE approvals_rests_until(who::uuid, clock_timestamp()) IS NOT NULL END
        OR EXISTS (
        SELECT FROM unnest(issuers, amounts) AS u (issuer, amount)
        CROSS JOIN (VALUES (who, p.from_amount), ('', p.from_total)) AS l (person, most)
        LEFT JOIN accounts_soleamount s ON s.kind = wanted AND s.person = l.person
            AND s.issuer_id = coalesce(u.issuer, '00000000-0000-0000-0000-000000000000'::uuid)
            AND s.day = (clock_timestamp() AT TIME ZONE 'UTC')::date
        WHERE u.amount IS NULL OR l.most <= u.amount
            -- Prices have no sum.
            + CASE wanted WHEN 'PRICE' THEN 0 ELSE coalesce(s.amount, 0) END);
END $$;
REVOKE ALL ON FUNCTION public.approvals_over(text, text, uuid[], numeric[]) FROM PUBLIC;
