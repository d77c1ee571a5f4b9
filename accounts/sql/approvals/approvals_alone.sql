-- Whether the signed-in person may act alone; if so, the amounts count towards what
-- that person and all staff did alone today.
-- called by: approvals_use_each
CREATE OR REPLACE FUNCTION public.approvals_alone(
    wanted text, issuers uuid[], amounts numeric[]
)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    who text := approvals_person();
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
    IF EXISTS (SELECT FROM accounts_approvalpolicy p
            WHERE p.kind = wanted AND NOT p.is_required) THEN
        RETURN TRUE;
    END IF;
    INSERT INTO accounts_soleamount (kind, day, issuer_id, person, amount)
    SELECT wanted, today, coalesce(u.issuer, '00000000-0000-0000-0000-000000000000'::uuid), l.person, 0
    FROM unnest(issuers) AS u (issuer) CROSS JOIN (VALUES (''), (who)) AS l (person)
    WHERE EXISTS (SELECT FROM accounts_approvalpolicy p
        WHERE p.kind = wanted AND p.from_amount IS NOT NULL)
    ORDER BY 3, 4
    ON CONFLICT (kind, day, issuer_id, person)
        DO UPDATE SET amount = accounts_soleamount.amount;
    IF approvals_over(wanted, who, issuers, amounts) THEN
        RETURN FALSE;
    END IF;
    UPDATE accounts_soleamount s SET amount = s.amount + u.amount
    FROM unnest(issuers, amounts) AS u (issuer, amount)
    WHERE s.kind = wanted AND s.day = today AND s.person IN ('', who)
        AND s.issuer_id = coalesce(u.issuer, '00000000-0000-0000-0000-000000000000'::uuid);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.approvals_alone(text, uuid[], numeric[]) FROM PUBLIC;
