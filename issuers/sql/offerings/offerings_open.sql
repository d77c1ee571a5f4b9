-- Opens a draft whose terms two people agreed on, for a token of the primary market with
-- enough units, and gives its issuer a cash account. Under the token's lock it does not
-- reach the secondary market meanwhile, and under the issuer's it gets one account.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_issuer (FOR NO KEY UPDATE), issuers_offering (FOR NO KEY UPDATE),
--     issuers_token (FOR SHARE)
CREATE OR REPLACE FUNCTION public.offerings_open(actor text, of_offering uuid)
RETURNS issuers_offering LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    offering issuers_offering;
    approver text;
    token uuid;
    issuer uuid;
    available numeric;
    account bigint;
BEGIN
    PERFORM accounts_read_committed();
    SELECT t.id, t.issuer_id INTO token, issuer
        FROM issuers_offering o JOIN issuers_token t ON t.id = o.token_id
        WHERE o.id = of_offering;
    PERFORM FROM issuers_issuer i WHERE i.id = issuer FOR NO KEY UPDATE;
    PERFORM FROM issuers_token t WHERE t.id = token FOR SHARE;
    SELECT * INTO offering FROM issuers_offering o
        WHERE o.id = of_offering FOR NO KEY UPDATE;
    IF (offering.status = 'DRAFT' AND offering.closes_at > clock_timestamp())
            IS NOT TRUE THEN
        RAISE EXCEPTION 'Only a draft that closes later is opened.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT CASE offering.source
        WHEN 'MINT' THEN coalesce(t.authorized_units, 18446744073709551615) - h.supply
        ELSE (SELECT coalesce(sum(b.balance), 0)
            FROM issuers_holderbalance b
            JOIN issuers_ledgeraccount a ON a.id = b.account_id AND a.kind = 'TREASURY'
            WHERE b.token_id = t.id) END
    INTO available
    FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
    WHERE t.id = token AND t.market_type = 'PRIMARY_MARKET';
    IF (available >= offering.maximum_units) IS NOT TRUE THEN
        RAISE EXCEPTION 'An offering is of a token on the primary market, and of units '
            'that the issuer has or may mint: % of %.', offering.maximum_units,
            coalesce(available, 0) USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'OFFERING', jsonb_build_object('step', 'OPEN',
        'offering', of_offering, 'token', offering.token_id,
        'terms', offerings_terms(offering), 'digests', (
            SELECT coalesce(jsonb_agg(d.checksum_sha256 ORDER BY n.position), '[]')
            FROM unnest(offering.documents) WITH ORDINALITY AS n (id, position)
            LEFT JOIN issuers_document d ON d.id = n.id)));
    IF NOT EXISTS (SELECT FROM issuers_issuercash c WHERE c.issuer_id = issuer) THEN
        INSERT INTO accounts_cashaccount (kind) VALUES ('ISSUER')
            RETURNING id INTO account;
        INSERT INTO accounts_cashhead
            (cash_account_id, kind, balance, reserved, last_number, entry_digest)
        VALUES (account, 'ISSUER', 0, 0, 0, decode(repeat('00', 32), 'hex'));
        INSERT INTO issuers_issuercash (issuer_id, cash_account_id)
            VALUES (issuer, account);
    END IF;
    UPDATE issuers_offering o SET status = 'OPEN', opened_by = actor,
        approved_by = approver, updated_at = clock_timestamp()
        WHERE o.id = of_offering RETURNING * INTO offering;
    PERFORM offerings_tell(offering);
    RETURN offering;
END $$;
REVOKE ALL ON FUNCTION public.offerings_open(text, uuid) FROM PUBLIC;
