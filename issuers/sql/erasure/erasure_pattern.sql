-- A regular expression that finds a person's names, addresses and IBANs as whole words,
-- in a text and in a JSON text.
-- called by: erasure_erase, erasure_rows
CREATE OR REPLACE FUNCTION public.erasure_pattern(person uuid)
RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH named AS (
        SELECT h.id, h.name, h.wallet_address FROM accounts_userholder h
        WHERE h.user_id = person
    ), said (text) AS (
        SELECT n.name FROM named n
        UNION SELECT n.wallet_address FROM named n
        UNION SELECT f.name FROM accounts_userholdername f
            WHERE f.holder_id IN (SELECT n.id FROM named n)
        UNION SELECT unnest(ARRAY[u.email, concat(u.first_name, ' ', u.last_name),
                concat(u.last_name, ', ', u.first_name),
                concat(u.last_name, ' ', u.first_name)])
            FROM accounts_user u WHERE u.id = person
        UNION SELECT a.email FROM accounts_applicant a WHERE a.user_id = person
        UNION SELECT unnest(ARRAY[p.name, p.iban]) FROM accounts_payee p
            JOIN accounts_withdrawal w ON w.id = p.withdrawal_id
            JOIN accounts_cashaccount c ON c.id = w.cash_account_id
            JOIN accounts_account a ON a.id = c.account_id
            WHERE a.user_id = person
    )
    SELECT '(?<![[:alnum:]])(?:' || string_agg(DISTINCT
        regexp_replace(v.text, '[^[:alnum:][:space:]]', '\\\&', 'g'), '|')
        || ')(?![[:alnum:]])'
    FROM said s
    CROSS JOIN LATERAL (VALUES (btrim(s.text, ' ,')),
        (substr(to_json(btrim(s.text, ' ,'))::text, 2,
            length(to_json(btrim(s.text, ' ,'))::text) - 2))) v (text)
    WHERE length(btrim(s.text, ' ,')) >= 4
$$;
REVOKE ALL ON FUNCTION public.erasure_pattern(uuid) FROM PUBLIC;
