-- Keeps a document as it was made, once: a note of an account and a day, a statement of
-- an account and a quarter, or an invoice of a partner and a month. Its columns are those
-- of its JSON, and its number follows the last of its kind. The period, in days of
-- MARKET_TIME_ZONE, ended ten minutes ago: what traded in it has long been committed.
-- Returns the document; where it was issued before, that one as it was.
-- called by: application
-- raises: restrict_violation
-- locks: documents (advisory)
CREATE OR REPLACE FUNCTION public.trading_issue_document(said bytea, shown bytea)
RETURNS SETOF trading_issueddocument LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    facts jsonb := convert_from(said, 'UTF8')::jsonb;
    of_kind text := facts ->> 'kind';
    of_partner uuid := split_part(facts ->> 'partnerID', '|', 2)::uuid;
    of_account uuid := split_part(facts ->> 'accountID', '|', 2)::uuid;
    first_day date := (facts ->> 'begins')::date;
    last_day date := (facts ->> 'ends')::date;
    length text := CASE of_kind WHEN 'CONTRACT_NOTE' THEN 'day'
        WHEN 'STATEMENT' THEN 'quarter' WHEN 'INVOICE' THEN 'month' END;
    next_day date;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('documents', 0));
    RETURN QUERY SELECT * FROM trading_issueddocument d
        WHERE d.kind = of_kind AND d.partner_id = of_partner AND d.begins = first_day
            AND d.account_id IS NOT DISTINCT FROM of_account;
    IF FOUND THEN
        RETURN;
    END IF;
    next_day := date_trunc(length, first_day::timestamp)
        + CASE length WHEN 'quarter' THEN '3 months' ELSE '1 ' || length END::interval;
    IF (first_day = date_trunc(length, first_day::timestamp) AND last_day = next_day - 1
            AND next_day::timestamp AT TIME ZONE market_time_zone()
                + interval '10 minutes' <= clock_timestamp()
            AND (of_account IS NULL OR EXISTS (SELECT FROM accounts_account a
                WHERE a.id = of_account AND a.partner_id = of_partner))
            AND (facts ->> 'number')::bigint = 1 + (
                SELECT coalesce(max(d.number), 0) FROM trading_issueddocument d
                WHERE d.kind = of_kind)) IS NOT TRUE THEN
        RAISE EXCEPTION 'A document is of a period that is over, of its own partner and '
            'with the next number: % % from % to %.', of_kind, facts ->> 'number',
            first_day, last_day USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY INSERT INTO trading_issueddocument (id, kind, number, partner_id,
        account_id, begins, ends, fee_net, fee_vat, content, content_digest, pdf,
        pdf_digest, issued_at)
    VALUES (split_part(facts ->> 'id', '|', 2)::uuid, of_kind, (facts ->> 'number')::bigint, of_partner,
        of_account, first_day, last_day, (facts #>> '{fees,net}')::bigint,
        (facts #>> '{fees,vat}')::bigint, said, sha256(said), shown, sha256(shown),
        clock_timestamp())
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.trading_issue_document(bytea, bytea) FROM PUBLIC;
