-- A token keeps its issuer and creation, reaches the secondary market without an offering
-- under way and never leaves it, and authorises no fewer units than there are. A new one is timed under the issuer's lock:
-- an earlier time is for issuers made in this transaction. Its last change has the
-- database's time, after the transaction has its id.
-- called by: triggers
-- raises: restrict_violation
-- locks: issuers_issuer (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_keep_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    made numeric;
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        PERFORM register_mark(ARRAY[NEW.issuer_id]);
        PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
        IF NEW.created_at >= transaction_timestamp() THEN
            NEW.created_at := clock_timestamp();
        ELSIF NOT EXISTS (SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id
                AND i.recorded_in = (SELECT register_transaction(0))) THEN
            RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because '
                'its issuer was there before.', NEW.symbol
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
            RAISE EXCEPTION 'Token % is on the secondary market and cannot go back.',
                OLD.symbol USING ERRCODE = 'restrict_violation';
        END IF;
        IF NEW.market_type <> OLD.market_type AND EXISTS (SELECT FROM issuers_offering o
                WHERE o.token_id = OLD.id AND o.status IN ('OPEN', 'CLOSED', 'ALLOTTED'))
                THEN
            RAISE EXCEPTION 'Token % has an offering under way: it ends before the '
                'secondary market opens.', OLD.symbol
                USING ERRCODE = 'restrict_violation';
        END IF;
        IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
            UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
                RETURNING supply INTO made;
            IF made > NEW.authorized_units THEN
                RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                    'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_token BEFORE INSERT OR UPDATE
    ON public.issuers_token FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_token();
