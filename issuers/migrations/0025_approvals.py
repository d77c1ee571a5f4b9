"""Entries, prices and deliveries that a policy names need a second person."""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

RESTRICTED = "USING ERRCODE = 'restrict_violation'"

# Nobody has relied on what belongs to an issuer that this transaction has made, as an
# import does.
OF_ANOTHER_TRANSACTION = """
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;
"""
# An entry of an open ledger has the time of its transaction. Older ones are a history's,
# which has a condition of its own, and may be a million.
NOT_HISTORY = "NEW.effective_at > transaction_timestamp() - interval '1 day'"

ENTRIES = trigger_function(
    "approvals_of_entry",
    "issuers_ledgertransaction",
    OF_ANOTHER_TRANSACTION
    + """
    PERFORM approvals_use(NEW.kind, jsonb_build_object(
        'token', NEW.token_id, 'from', NEW.source_id, 'to', NEW.target_id,
        'units', NEW.amount::text, 'reverses', NEW.reverses, 'reason', NEW.reason,
        'supply', CASE WHEN NEW.source_id IS NULL OR NEW.target_id IS NULL
            THEN NEW.supply_after::text END),
        NEW.amount, NEW.token_id, NEW.seq);
    RETURN NULL;
    """,
) + f"""
CREATE CONSTRAINT TRIGGER approvals_of_entry AFTER INSERT ON issuers_ledgertransaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind IN ('MINT', 'BURN', 'FORCED_TRANSFER', 'REVERSAL') AND {NOT_HISTORY})
    EXECUTE FUNCTION approvals_of_entry();
"""

PRICES = trigger_function(
    "approvals_of_price",
    "issuers_tokenprice",
    OF_ANOTHER_TRANSACTION
    + """
    SELECT coalesce(max(p.number), 0) INTO before FROM issuers_tokenprice p
        WHERE p.token_id = NEW.token_id AND p.number < NEW.number AND p.source <> 'TRADE';
    PERFORM approvals_use('PRICE', jsonb_build_object('token', NEW.token_id,
        'cents', NEW.price_cents::text, 'source', NEW.source, 'after', before),
        NEW.price_cents, NEW.token_id, NEW.number);
    RETURN NULL;
    """,
    declare="before bigint;",
) + f"""
CREATE CONSTRAINT TRIGGER approvals_of_price AFTER INSERT ON issuers_tokenprice
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.source <> 'TRADE' AND {NOT_HISTORY})
    EXECUTE FUNCTION approvals_of_price();
"""

# A delivery is frozen line by line when it begins. It is released once, with the
# approval that it needs, and its lines are delivered as they were frozen.
FREEZE = trigger_function(
    "delivery_stays",
    "issuers_deliverystep",
    f"""
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM issuers_deliveryjob WHERE id = NEW.job_id FOR UPDATE;
        IF NOT EXISTS (SELECT FROM issuers_deliveryjob
            WHERE id = NEW.job_id AND released_at IS NULL) THEN
            RAISE EXCEPTION 'Delivery % was released; it gets no further lines.',
                NEW.job_id {RESTRICTED};
        END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The lines of a delivery stay as they were frozen.' {RESTRICTED};
    """,
) + """
CREATE TRIGGER delivery_takes_steps BEFORE INSERT ON issuers_deliverystep
    FOR EACH ROW EXECUTE FUNCTION delivery_stays();
CREATE TRIGGER delivery_stays BEFORE UPDATE ON issuers_deliverystep
    FOR EACH ROW WHEN (ROW (NEW.job_id, NEW.position, NEW.shareholder_ids, NEW.units,
            NEW.token_ids, NEW.user_ids)
        IS DISTINCT FROM ROW (OLD.job_id, OLD.position, OLD.shareholder_ids, OLD.units,
            OLD.token_ids, OLD.user_ids))
    EXECUTE FUNCTION delivery_stays();
"""
RELEASE = trigger_function(
    "approvals_of_delivery",
    "issuers_deliveryjob",
    f"""
    IF TG_OP = 'INSERT' OR NEW.released_at IS NULL OR OLD.released_at IS NOT NULL
        OR ROW (NEW.source, NEW.created_by) IS DISTINCT FROM
            ROW (OLD.source, OLD.created_by) THEN
        RAISE EXCEPTION 'A delivery is released once, and its source stays.'
            {RESTRICTED};
    END IF;
    SELECT coalesce(sum(cardinality(s.shareholder_ids)), 0), coalesce(sum(l.units), 0)
        INTO lines, shares
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l
    WHERE s.job_id = NEW.id;
    PERFORM approvals_use('DELIVERY', jsonb_build_object('job', NEW.id,
        'source', NEW.source, 'lines', lines, 'shares', shares::text),
        shares, NULL, NULL);
    NEW.released_at := clock_timestamp();
    RETURN NEW;
    """,
    declare="lines bigint;\n    shares numeric;",
) + """
CREATE TRIGGER approvals_of_new_delivery BEFORE INSERT ON issuers_deliveryjob
    FOR EACH ROW WHEN (NEW.released_at IS NOT NULL)
    EXECUTE FUNCTION approvals_of_delivery();
CREATE TRIGGER approvals_of_delivery BEFORE UPDATE ON issuers_deliveryjob
    FOR EACH ROW WHEN (ROW (NEW.released_at, NEW.source, NEW.created_by)
        IS DISTINCT FROM ROW (OLD.released_at, OLD.source, OLD.created_by))
    EXECUTE FUNCTION approvals_of_delivery();
"""
DELIVERED = trigger_function(
    "approvals_of_delivered_line",
    "issuers_ledgertransaction",
    OF_ANOTHER_TRANSACTION
    + f"""
    PERFORM FROM issuers_deliverystep s
    JOIN issuers_deliveryjob j ON j.id = s.job_id AND j.released_at IS NOT NULL
    JOIN issuers_ledgeraccount a ON a.id = NEW.target_id
    CROSS JOIN LATERAL (
        SELECT array_position(s.shareholder_ids, NEW.legacy_shareholder_id) AS place) l
    WHERE s.id = nullif(current_setting('partnerapi.delivery_step', TRUE), '')::bigint
        AND s.units[l.place] = NEW.amount AND s.token_ids[l.place] = NEW.token_id
        AND s.user_ids[l.place] = a.user_id
        AND (j.source = 'MINT') = (NEW.source_id IS NULL);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Legacy shares are delivered as a released delivery has frozen '
            'them: line %.', NEW.legacy_shareholder_id {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
) + f"""
CREATE TRIGGER approvals_of_delivered_line
    AFTER INSERT ON issuers_ledgertransaction FOR EACH ROW
    WHEN (NEW.kind = 'LEGACY_DELIVERY' AND {NOT_HISTORY})
    EXECUTE FUNCTION approvals_of_delivered_line();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0024_begun_deliveries"),
        ("accounts", "0013_approval_guards"),
    ]

    operations = [
        migrations.RunSQL(
            ENTRIES + PRICES + FREEZE + RELEASE + DELIVERED,
            drop(
                "approvals_of_entry()",
                "approvals_of_price()",
                "delivery_stays()",
                "approvals_of_delivery()",
                "approvals_of_delivered_line()",
                triggers={
                    "approvals_of_entry": "issuers_ledgertransaction",
                    "approvals_of_price": "issuers_tokenprice",
                    "delivery_takes_steps": "issuers_deliverystep",
                    "delivery_stays": "issuers_deliverystep",
                    "approvals_of_new_delivery": "issuers_deliveryjob",
                    "approvals_of_delivery": "issuers_deliveryjob",
                    "approvals_of_delivered_line": "issuers_ledgertransaction",
                },
            ),
        ),
    ]
