-- Uses an approval for a member of staff: the one that filed it and still may, or the
-- one that decided it. Where no approval is needed, one that may file its kind. Returns
-- the decider's e-mail address, else an empty text.
-- called by: binds_grant, binds_lift, binds_rule, erasure_erase, offerings_allot,
--     offerings_end, offerings_open, offerings_price, offerings_settle,
--     trading_set_parameters, trading_set_tariff
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_use_by(actor text, wanted text, said jsonb)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    used uuid := approvals_use(wanted, said, NULL, NULL, NULL);
    decider text := '';
BEGIN
    IF used IS NULL THEN
        PERFORM FROM accounts_user u
            WHERE u.email = actor AND approvals_may(u.id, 'file_' || wanted);
    ELSE
        SELECT coalesce(d.email, '') INTO decider
        FROM accounts_approvalrequest r
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_approvaldecision n ON n.request_id = r.id
        JOIN accounts_user d ON d.id = n.decided_by_id
        WHERE r.id = used AND (actor = d.email
            OR actor = f.email AND approvals_may(f.id, 'file_' || wanted));
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs the member of staff that filed its approval and may '
            'file it now, or that decided it: % %.', wanted, actor
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'second_person_approves';
    END IF;
    RETURN decider;
END $$;
REVOKE ALL ON FUNCTION public.approvals_use_by(text, text, jsonb) FROM PUBLIC;
