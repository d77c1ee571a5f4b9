-- Rows get their ids from their table's sequence alone.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.partnerapi_refuse_given_id()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id = OLD.id THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.id = currval(TG_ARGV[0]::regclass) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The sequence of % gives its ids, and not %.', TG_TABLE_NAME, NEW.id
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_refuse_given_id() FROM PUBLIC;

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.accounts_pepper FOR EACH ROW
    EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.accounts_pepper_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.accounts_user_groups FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.accounts_user_groups_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.accounts_user_user_permissions FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.accounts_user_user_permissions_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.auth_group FOR EACH ROW
    EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.auth_group_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.auth_group_permissions FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.auth_group_permissions_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.axes_accessattempt FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.axes_accessattempt_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.django_admin_log FOR EACH ROW
    EXECUTE FUNCTION public.partnerapi_refuse_given_id('public.django_admin_log_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.issuers_deliverystep FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.issuers_deliverystep_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.marketdata_fixsession FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.marketdata_fixsession_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.otp_totp_totpdevice FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.otp_totp_totpdevice_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.partnerapi_exportmember FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.partnerapi_exportmember_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.partnerapi_failedsignin FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.partnerapi_failedsignin_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.partnerapi_idempotencyrecord FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.partnerapi_idempotencyrecord_id_seq');

CREATE OR REPLACE TRIGGER refuse_given_id BEFORE INSERT OR UPDATE OF id
    ON public.partnerapi_jobrun FOR EACH ROW
    EXECUTE FUNCTION
        public.partnerapi_refuse_given_id('public.partnerapi_jobrun_id_seq');
