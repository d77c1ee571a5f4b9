"""Books are written by functions of the tables' owner, and by nobody else."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import (
    closed_to_public,
    drop,
    function,
    harden,
    trigger_function,
)

heads = import_module("marketdata.migrations.0002_book_heads")
writer = import_module("marketdata.migrations.0003_book_writer")
guards = import_module("marketdata.migrations.0004_book_guards")

RESTRICTED = "USING ERRCODE = 'restrict_violation'"
OLD_RECORD_TYPES = (
    "uuid, bigint, smallint[], bigint[], bigint[], boolean[], bigint[], bigint[],"
    " bigint[], bigint[], bigint[], bigint[]"
)

OPEN_BOOK = trigger_function(
    "marketdata_open_book",
    "issuers_token",
    """
    INSERT INTO marketdata_orderbookhead
        (token_id, last_sequence, last_trade, last_snapshot)
    VALUES (NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
    """,
)
OLD_OPEN_BOOK = (
    heads.OPEN_BOOK.partition("CREATE TRIGGER")[0]
    .replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    .replace("LANGUAGE plpgsql", "LANGUAGE plpgsql SECURITY INVOKER")
    + "GRANT EXECUTE ON FUNCTION marketdata_open_book() TO PUBLIC"
)

# A snapshot is made of the levels, so that it can be no other book. Levels are deleted
# and set by index: `known` says that the writer's book was this one.
RECORD = function(
    "marketdata_record(token uuid, known bigint, sides smallint[], prices bigint[],"
    " quantities bigint[], ends boolean[], deal_prices bigint[],"
    " deal_quantities bigint[], with_snapshot boolean)",
    "TABLE (sequence bigint, trade bigint, at timestamptz)",
    f"""
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token AND last_sequence = known FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    head.last_at := greatest(head.last_at, clock_timestamp());
    IF cardinality(prices) > 0 THEN
        SELECT sum(marketdata_digest_change(
            known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at))
        INTO digests FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        SELECT digests + sum(marketdata_digest_trade(
            head.last_trade + d.place, d.price, d.quantity, head.last_at))
        INTO digests FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    UPDATE marketdata_orderbookhead SET
        last_sequence = known + cardinality(prices),
        last_trade = last_trade + cardinality(deal_prices),
        last_snapshot = CASE WHEN with_snapshot THEN known + cardinality(prices)
            ELSE last_snapshot END,
        last_at = head.last_at, fingerprint = fingerprint + digests
    WHERE token_id = token RETURNING * INTO head;
    IF cardinality(prices) > 0 THEN
        INSERT INTO marketdata_bookchange
            (token_id, sequence, side, price_cents, quantity, ends_message, at)
        SELECT token, known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at
        FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
        IF 0 = ANY (quantities) AND EXISTS (
            SELECT FROM (
                SELECT c.side, c.price, c.quantity, lag(c.quantity) OVER (
                    PARTITION BY c.side, c.price ORDER BY c.place) AS before
                FROM unnest(sides, prices, quantities)
                    WITH ORDINALITY AS c (side, price, quantity, place)
            ) c
            WHERE c.quantity = 0 AND coalesce(c.before, (
                SELECT l.quantity FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = c.side
                    AND l.price_cents = c.price
            ), 0) = 0
        ) THEN
            RAISE EXCEPTION 'A change takes away a level that is not in the book.'
                {RESTRICTED};
        END IF;
        -- The end of the last message is looked at below.
        IF cardinality(array_positions(ends, TRUE)) > 1 THEN
            SELECT max(p.price) FILTER (WHERE p.side = 0),
                min(p.price) FILTER (WHERE p.side = 1)
            INTO highest_bid, lowest_ask
            FROM (
                SELECT c.side, c.price FROM unnest(sides, prices, quantities)
                    AS c (side, price, quantity) WHERE c.quantity > 0
                UNION ALL (
                    SELECT l.side, l.price_cents FROM marketdata_booklevel l
                    WHERE l.token_id = token AND l.side = 0
                    ORDER BY l.side DESC, l.price_cents DESC LIMIT 1)
                UNION ALL (
                    SELECT l.side, l.price_cents FROM marketdata_booklevel l
                    WHERE l.token_id = token AND l.side = 1
                    ORDER BY l.side, l.price_cents LIMIT 1)
            ) p;
            IF highest_bid >= lowest_ask AND EXISTS (
                WITH spans AS (
                    SELECT s.side, s.price, s.quantity, s.place AS begins,
                        lead(s.place, 1, cardinality(prices) + 1) OVER (
                            PARTITION BY s.side, s.price ORDER BY s.place) AS until
                    FROM (
                        SELECT c.side, c.price, c.quantity, c.place
                        FROM unnest(sides, prices, quantities)
                            WITH ORDINALITY AS c (side, price, quantity, place)
                        UNION ALL
                        SELECT l.side, l.price_cents, l.quantity, 0
                        FROM marketdata_booklevel l WHERE l.token_id = token
                    ) s
                    WHERE CASE s.side WHEN 0 THEN s.price >= lowest_ask
                        ELSE s.price <= highest_bid END
                )
                SELECT FROM spans b JOIN spans a
                    ON b.side = 0 AND a.side = 1 AND b.quantity > 0 AND a.quantity > 0
                    AND b.price >= a.price AND b.begins < a.until AND a.begins < b.until
                JOIN unnest(array_positions(ends, TRUE)) AS e (place)
                    ON e.place >= greatest(b.begins, a.begins)
                    AND e.place < least(b.until, a.until)
            ) THEN
                RAISE EXCEPTION 'The best bid would not be below the best ask.'
                    {RESTRICTED};
            END IF;
        END IF;
        DELETE FROM marketdata_booklevel l
        USING unnest(sides, prices, quantities) AS c (side, price, quantity)
        WHERE c.quantity = 0 AND l.token_id = token
            AND l.side = c.side AND l.price_cents = c.price;
        INSERT INTO marketdata_booklevel (token_id, side, price_cents, quantity)
        SELECT token, l.side, l.price, l.quantity
        FROM (
            SELECT DISTINCT ON (c.side, c.price) c.side, c.price, c.quantity
            FROM unnest(sides, prices, quantities)
                WITH ORDINALITY AS c (side, price, quantity, place)
            ORDER BY c.side, c.price, c.place DESC
        ) l WHERE l.quantity > 0
        ON CONFLICT (token_id, side, price_cents)
        DO UPDATE SET quantity = excluded.quantity;
        IF (SELECT l.price_cents FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = 0
                ORDER BY l.side DESC, l.price_cents DESC LIMIT 1)
            >= (SELECT l.price_cents FROM marketdata_booklevel l
                WHERE l.token_id = token AND l.side = 1
                ORDER BY l.side, l.price_cents LIMIT 1) THEN
            RAISE EXCEPTION 'The best bid would not be below the best ask.'
                {RESTRICTED};
        END IF;
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
        SELECT token, head.last_trade - cardinality(deal_prices) + d.place,
            d.price, d.quantity, head.last_at
        FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    IF with_snapshot THEN
        INSERT INTO marketdata_booksnapshot
            (token_id, sequence, trade_sequence, at, fingerprint,
             bid_prices, bid_quantities, ask_prices, ask_quantities)
        SELECT token, head.last_sequence, head.last_trade, head.last_at,
            head.fingerprint, coalesce(b.prices, '{{}}'), coalesce(b.quantities, '{{}}'),
            coalesce(a.prices, '{{}}'), coalesce(a.quantities, '{{}}')
        FROM (
            SELECT array_agg(l.price_cents ORDER BY l.price_cents DESC) AS prices,
                array_agg(l.quantity ORDER BY l.price_cents DESC) AS quantities
            FROM marketdata_booklevel l WHERE l.token_id = token AND l.side = 0
        ) b, (
            SELECT array_agg(l.price_cents ORDER BY l.price_cents) AS prices,
                array_agg(l.quantity ORDER BY l.price_cents) AS quantities
            FROM marketdata_booklevel l WHERE l.token_id = token AND l.side = 1
        ) a;
    END IF;
    RETURN QUERY SELECT head.last_sequence, head.last_trade, head.last_at;
    """,
    declare="head marketdata_orderbookhead;\n    digests numeric := 0;\n"
    "    highest_bid bigint;\n    lowest_ask bigint;",
    settings=f"{writer.BY_INDEX} {writer.WAITS}",
)

LOCKED = "marketdata_lock_book(uuid)"
OWNERS_LOCK = (
    f"ALTER FUNCTION {LOCKED} SECURITY DEFINER"
    " SET search_path = pg_catalog, public, pg_temp;" + closed_to_public(LOCKED)
)
OLD_LOCK = (
    f"ALTER FUNCTION {LOCKED} SECURITY INVOKER RESET search_path;"
    f"GRANT EXECUTE ON FUNCTION {LOCKED} TO PUBLIC"
)

# Of each log the two newest snapshots are kept, a day of changes, and the snapshot
# that leads on to what is kept.
PRUNE = function(
    "marketdata_prune(token uuid, snapshots_before bigint, first_change bigint,"
    " last_change bigint)",
    "bigint",
    f"""
    SELECT max(o.sequence) INTO covers FROM marketdata_booksnapshot o
    WHERE o.token_id = token AND o.at < clock_timestamp() - interval '24 hours'
        AND o.sequence <= (
            SELECT n.sequence FROM marketdata_booksnapshot n
            WHERE n.token_id = token ORDER BY n.sequence DESC OFFSET 1 LIMIT 1);
    IF (greatest(snapshots_before, last_change) <= covers) IS NOT TRUE THEN
        RAISE EXCEPTION 'Of the log of token % goes what is older than 24 hours and '
            'stands in a snapshot: up to change %.', token, coalesce(covers, 0)
            {RESTRICTED};
    END IF;
    DELETE FROM marketdata_booksnapshot
        WHERE token_id = token AND sequence < snapshots_before;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    -- Without the lower bound each step would pass again over all dead entries of the
    -- index that the steps before it have left.
    DELETE FROM marketdata_bookchange WHERE token_id = token
        AND sequence >= first_change AND sequence <= last_change;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN deleted + gone;
    """,
    declare="covers bigint;\n    deleted bigint;\n    gone bigint;",
    settings=writer.BY_INDEX,
)

KEEP_TRADES = """
DROP TRIGGER marketdata_trade_keep ON marketdata_trade;
DROP FUNCTION marketdata_trade_keep();
CREATE TRIGGER marketdata_keep_trades BEFORE DELETE ON marketdata_trade
    FOR EACH STATEMENT EXECUTE FUNCTION marketdata_refuse_change();
CREATE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE
    ON marketdata_orderbookhead
    FOR EACH STATEMENT EXECUTE FUNCTION marketdata_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0012_ledger_chains"),
        ("marketdata", "0004_book_guards"),
    ]

    operations = [
        migrations.RunSQL(OPEN_BOOK, OLD_OPEN_BOOK),
        migrations.RunSQL(
            f"DROP FUNCTION marketdata_record({OLD_RECORD_TYPES})", writer.RECORD
        ),
        migrations.RunSQL(
            RECORD,
            drop(
                "marketdata_record(uuid, bigint, smallint[], bigint[], bigint[],"
                " boolean[], bigint[], bigint[], boolean)"
            ),
        ),
        migrations.RunSQL(OWNERS_LOCK, OLD_LOCK),
        migrations.RunSQL(PRUNE, drop("marketdata_prune(uuid, bigint, bigint, bigint)")),
        migrations.RunSQL(
            KEEP_TRADES,
            "DROP TRIGGER marketdata_refuse_change ON marketdata_orderbookhead;"
            "DROP TRIGGER marketdata_keep_trades ON marketdata_trade;"
            + guards.keep_uncovered("marketdata_trade", "trade_sequence"),
        ),
        harden(
            "marketdata_refuse_change()",
            "marketdata_follow_changes()",
            "marketdata_follow_trades()",
            "marketdata_bookchange_keep()",
            "marketdata_keep_head()",
        ),
    ]
