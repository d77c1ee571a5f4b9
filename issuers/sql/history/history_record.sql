-- Triggers of history_record on tables of this room.

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_approvedholder FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_article FOR EACH ROW
    EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_document FOR EACH ROW
    EXECUTE FUNCTION public.history_record('content', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuer FOR EACH ROW
    EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuerfinancialdata FOR EACH ROW
    EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuergrant FOR EACH ROW
    EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT ON public.issuers_legacyimport
    FOR EACH ROW EXECUTE FUNCTION public.history_record('created_at', '');

CREATE OR REPLACE TRIGGER history_record AFTER DELETE OR UPDATE OF issuer_id, user_id,
        token_id, number_of_shares, price_cents, reference, replaces_id
    ON public.issuers_legacyshareholder FOR EACH ROW
    EXECUTE FUNCTION public.history_record('updated_at', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_restriction FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_token FOR EACH ROW
    EXECUTE FUNCTION public.history_record('updated_at recorded_in', '');

CREATE OR REPLACE TRIGGER history_record AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_tokenrule FOR EACH ROW
    EXECUTE FUNCTION public.history_record('', '');
