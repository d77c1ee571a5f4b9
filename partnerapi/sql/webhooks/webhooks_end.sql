-- Turns a webhook endpoint off and writes an e-mail to each member of its partner's desk
-- who can sign in. FALSE: it is off already.
-- called by: application
CREATE OR REPLACE FUNCTION public.webhooks_end(endpoint uuid, why text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    UPDATE partnerapi_webhookendpoint e SET ended_at = clock_timestamp(), reason = why
        WHERE e.id = endpoint AND e.ended_at IS NULL;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    INSERT INTO accounts_desknotice (member_id, what, recipient, tries, next_try_at, error)
    SELECT m.id, 'WEBHOOK', m.email, 0, clock_timestamp(), ''
        FROM partnerapi_webhookendpoint e
        JOIN accounts_apikey k ON k.id = e.key_id
        JOIN accounts_deskmember m ON m.partner_id = k.partner_id
        WHERE e.id = endpoint AND m.ended_at IS NULL AND m.enrolled_at IS NOT NULL;
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.webhooks_end(uuid, text) FROM PUBLIC;
