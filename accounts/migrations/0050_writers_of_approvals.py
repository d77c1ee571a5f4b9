"""Writers of approvals."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_decide_requests(requests uuid[], decider uuid, approves boolean, why text)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz;
    kinds text[];
    is_own boolean;
    ended uuid;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(DISTINCT kind), bool_or(filed_by_id = decider)
        INTO kinds, is_own
    FROM (SELECT r.kind, r.filed_by_id FROM accounts_approvalrequest r
        WHERE r.id = ANY (requests) ORDER BY r.id FOR UPDATE) AS held;
    IF (SELECT count(*) FROM accounts_approvalrequest r WHERE r.id = ANY (requests))
        IS DISTINCT FROM cardinality(requests) OR kinds IS NULL THEN
        RAISE EXCEPTION 'A decision names requests that exist, each once.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF is_own AND NOT approves THEN
        PERFORM FROM accounts_user u
            WHERE u.id = decider AND u.is_active AND u.is_staff;
        IF NOT FOUND OR EXISTS (SELECT FROM accounts_approvalrequest r
            WHERE r.id = ANY (requests) AND r.filed_by_id <> decider) THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF is_own OR EXISTS (SELECT FROM unnest(kinds) AS k (kind)
        WHERE NOT approvals_may(decider, 'decide_' || k.kind)) THEN
        RAISE EXCEPTION 'A request is decided by an active member of staff with the '
            'right to decide its kind, other than the one that filed it.' USING ERRCODE = 'restrict_violation';
    END IF;
    moment := clock_timestamp();
    SELECT r.id INTO ended FROM accounts_approvalrequest r
    WHERE r.id = ANY (requests) AND (r.expires_at <= moment OR EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id))
    ORDER BY r.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Request % has expired or was superseded.', ended USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM approvals_check_rest(asked, decider, approves, moment)
        FROM unnest(requests) AS u (asked);
    INSERT INTO accounts_approvaldecision
        (request_id, is_approved, reason, decided_by_id, decided_at)
    SELECT asked, approves, why, decider, moment FROM unnest(requests) AS u (asked);
    RETURN moment;
END $$;
REVOKE ALL ON FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.approvals_file_request(request uuid, wanted text, said jsonb, name text, why text, filer uuid, until timestamp with time zone)
RETURNS accounts_approvalrequest LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz := clock_timestamp();
    filed accounts_approvalrequest;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF until <= moment OR until > moment + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(filer, 'file_' || wanted) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(wanted) USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO accounts_approvalrequest
        (id, kind, title, content, reason, filed_by_id, filed_at, expires_at)
    VALUES (request, wanted, name, said, why, filer, moment, until)
    RETURNING * INTO filed;
    RETURN filed;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_decide BEFORE INSERT ON public.accounts_approvaldecision FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_decide();

CREATE OR REPLACE TRIGGER approvals_file BEFORE INSERT ON public.accounts_approvalrequest FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_file();

CREATE OR REPLACE TRIGGER approvals_rested AFTER INSERT ON public.accounts_approvaldecision FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_rested();

DROP TRIGGER IF EXISTS approvals_rested_at_the_commit ON public.accounts_approvaldecision;
CREATE CONSTRAINT TRIGGER approvals_rested_at_the_commit AFTER INSERT ON public.accounts_approvaldecision DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_rested();
"""

BACKWARD = r"""
CREATE OR REPLACE TRIGGER approvals_decide BEFORE INSERT ON public.accounts_approvaldecision FOR EACH ROW EXECUTE FUNCTION public.approvals_decide();

CREATE OR REPLACE TRIGGER approvals_file BEFORE INSERT ON public.accounts_approvalrequest FOR EACH ROW EXECUTE FUNCTION public.approvals_file();

CREATE OR REPLACE TRIGGER approvals_rested AFTER INSERT ON public.accounts_approvaldecision FOR EACH ROW EXECUTE FUNCTION public.approvals_rested();

DROP TRIGGER approvals_rested_at_the_commit ON public.accounts_approvaldecision;

DROP FUNCTION public.approvals_decide_requests(uuid[], uuid, boolean, text);

DROP FUNCTION public.approvals_file_request(uuid, text, jsonb, text, text, uuid, timestamp with time zone);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0049_direct_statements"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
