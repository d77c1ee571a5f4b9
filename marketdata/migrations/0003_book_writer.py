from django.db import migrations, models

# A plan is kept for the session, and may be made while the tables are still empty.
BY_INDEX = "SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off"

# A writer waits for its turn behind others of the same log, and for their batches.
WAITS = "SET lock_timeout = '10s'"

# What a row says, as a number; the head keeps the sum of all, and each snapshot of all
# before it, which betrays whoever gets past the guards.
DIGEST = """
CREATE FUNCTION marketdata_digest_change(
    sequence bigint, side smallint, price bigint, quantity bigint, ends boolean,
    at timestamptz)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT register_digest(concat_ws(' ', 'change', sequence, side, price, quantity,
        ends, extract(epoch FROM at)))
$$;

CREATE FUNCTION marketdata_digest_trade(
    sequence bigint, price bigint, quantity bigint, at timestamptz)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT register_digest(concat_ws(' ', 'trade', sequence, price, quantity,
        extract(epoch FROM at)))
$$
"""

# Writes nothing, and returns no row, where the log does not stand at `known`.
RECORD = f"""
CREATE FUNCTION marketdata_record(
    token uuid, known bigint, sides smallint[], prices bigint[], quantities bigint[],
    ends boolean[], deal_prices bigint[], deal_quantities bigint[],
    bid_prices bigint[], bid_quantities bigint[],
    ask_prices bigint[], ask_quantities bigint[])
RETURNS TABLE (sequence bigint, trade bigint, at timestamptz)
LANGUAGE plpgsql {BY_INDEX} {WAITS} AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    digests numeric := 0;
BEGIN
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
        last_snapshot = CASE WHEN bid_prices IS NULL THEN last_snapshot
            ELSE known + cardinality(prices) END,
        last_at = head.last_at, fingerprint = fingerprint + digests
    WHERE token_id = token RETURNING * INTO head;
    IF cardinality(prices) > 0 THEN
        INSERT INTO marketdata_bookchange
            (token_id, sequence, side, price_cents, quantity, ends_message, at)
        SELECT token, known + c.place, c.side, c.price, c.quantity, c.ends, head.last_at
        FROM unnest(sides, prices, quantities, ends)
            WITH ORDINALITY AS c (side, price, quantity, ends, place);
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
    END IF;
    IF cardinality(deal_prices) > 0 THEN
        INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
        SELECT token, head.last_trade - cardinality(deal_prices) + d.place,
            d.price, d.quantity, head.last_at
        FROM unnest(deal_prices, deal_quantities)
            WITH ORDINALITY AS d (price, quantity, place);
    END IF;
    IF bid_prices IS NOT NULL THEN
        INSERT INTO marketdata_booksnapshot
            (token_id, sequence, trade_sequence, at, fingerprint,
             bid_prices, bid_quantities, ask_prices, ask_quantities)
        VALUES (token, head.last_sequence, head.last_trade, head.last_at,
            head.fingerprint, bid_prices, bid_quantities, ask_prices, ask_quantities);
    END IF;
    RETURN QUERY SELECT head.last_sequence, head.last_trade, head.last_at;
END $$
"""

# Two statements, so that the levels are read after the wait for the lock.
LOCK_BOOK = f"""
CREATE FUNCTION marketdata_lock_book(token uuid)
RETURNS TABLE (sequence bigint, snapshot bigint,
    sides smallint[], prices bigint[], quantities bigint[])
LANGUAGE plpgsql {BY_INDEX} {WAITS} AS $$
DECLARE
    head marketdata_orderbookhead;
BEGIN
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF FOUND THEN
        RETURN QUERY
            SELECT head.last_sequence, head.last_snapshot, array_agg(l.side),
                array_agg(l.price_cents), array_agg(l.quantity)
            FROM marketdata_booklevel l WHERE l.token_id = token;
    END IF;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0002_book_heads")]

    operations = [
        migrations.AddField(
            "orderbookhead",
            "fingerprint",
            models.DecimalField(
                max_digits=30,
                decimal_places=0,
                db_default=0,
                help_text="Sum of digests of all changes and trades: betrays tampering.",
            ),
        ),
        migrations.AddField(
            "booksnapshot",
            "fingerprint",
            models.DecimalField(
                max_digits=30,
                decimal_places=0,
                db_default=0,
                help_text="The head's, then.",
            ),
        ),
        migrations.RunSQL(
            DIGEST,
            "DROP FUNCTION marketdata_digest_change(bigint, smallint, bigint, bigint,"
            " boolean, timestamptz);"
            "DROP FUNCTION marketdata_digest_trade(bigint, bigint, bigint, timestamptz)",
        ),
        migrations.RunSQL(
            RECORD,
            "DROP FUNCTION marketdata_record(uuid, bigint, smallint[], bigint[],"
            " bigint[], boolean[], bigint[], bigint[], bigint[], bigint[], bigint[],"
            " bigint[])",
        ),
        migrations.RunSQL(LOCK_BOOK, "DROP FUNCTION marketdata_lock_book(uuid)"),
    ]
