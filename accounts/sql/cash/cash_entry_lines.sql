-- The lines of which the chains of cash accounts are made, and the private parts that
-- they name by their digests.
CREATE OR REPLACE VIEW public.cash_entry_lines AS
 SELECT p.cash_account_id,
    p.number,
    t.at,
    cash_entry_line(c.account_id, c.kind::text, p.number, t.kind::text, p.delta, p.balance_after, t.at, COALESCE(w.reference, a.reference, t.reference)::text, p.private_digest) AS line,
        CASE
            WHEN p.salt IS NOT NULL THEN cash_entry_detail(t.actor::text, t.assigns_id, t.reference::text, t.reason::text, t.reverses_id, t.id, t.withdrawal_id)
            ELSE NULL::text
        END AS private,
    p.salt,
    p.private_digest
   FROM accounts_cashposting p
     JOIN accounts_cashaccount c ON c.id = p.cash_account_id
     JOIN accounts_cashtransaction t ON t.id = p.transaction_id
     LEFT JOIN accounts_cashtransaction a ON a.id = t.assigns_id
     LEFT JOIN accounts_withdrawal w ON w.id = t.withdrawal_id;
