-- Decides requests with one assertion of a passkey of the person who decides; the
-- caller has checked its signature. See approvals_decide_each.
-- called by: application
-- locks: accounts_approvalrequest (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.approvals_decide_signed(
    requests uuid[], decider uuid, approves boolean, why text, key uuid,
    authenticator_data bytea, client_data bytea, signature bytea
)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    digests bytea[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM accounts_approvalrequest r WHERE r.id = ANY (requests)
        ORDER BY r.id FOR UPDATE;
    SELECT array_agg(d.digest ORDER BY d.digest) INTO digests
    FROM unnest(requests) AS u (asked)
    CROSS JOIN LATERAL approvals_digest(asked, decider, approves, why) AS d (digest);
    RETURN approvals_decide_each(requests, decider, approves, why,
        passkeys_assert(key, decider, digests, authenticator_data, client_data,
            signature));
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_signed(uuid[], uuid, boolean, text, uuid,
    bytea, bytea, bytea) FROM PUBLIC;
