from django.db import migrations

REFUSE_CHANGE = """
CREATE FUNCTION marketdata_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A log is only appended to: % on % is refused. A change that was '
        'wrong is followed by another one.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$
"""

# Joins go by index whatever the planner believes of the tables: a plan is kept for the
# session, and may be made while they are still empty.
BY_INDEX = "SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off"

# A snapshot stands for what came before it, when that has been pruned.
FOLLOW_CHANGES = f"""
CREATE FUNCTION marketdata_follow_changes() RETURNS trigger LANGUAGE plpgsql
{BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, change %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            max(sequence) FILTER (WHERE ends_message) AS last_end,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_sequence = e.last AND e.many = 1 + e.last - e.first
        AND e.last_end = e.last AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_bookchange b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next change must have the next number, as its head '
            'says, a time not before the last one''s, and a message must end: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER marketdata_follow_changes AFTER INSERT ON marketdata_bookchange
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION marketdata_follow_changes();
"""

FOLLOW_TRADES = f"""
CREATE FUNCTION marketdata_follow_trades() RETURNS trigger LANGUAGE plpgsql
{BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, trade %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_trade = e.last AND e.many = 1 + e.last - e.first
        AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_trade b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ) OR EXISTS (
            SELECT FROM marketdata_booksnapshot b
            WHERE b.token_id = e.token_id AND b.trade_sequence = e.first - 1
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next trade must have the next number, as its head '
            'says, and a time not before the last one''s: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER marketdata_follow_trades AFTER INSERT ON marketdata_trade
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION marketdata_follow_trades();
"""


def keep_uncovered(table, covers):
    """Let rows go only from a log's beginning, and where each snapshot covers them."""
    return f"""
CREATE FUNCTION {table}_keep() RETURNS trigger LANGUAGE plpgsql
{BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, number %s', r.token_id, r.last) INTO wrong
    FROM (
        SELECT token_id, max(sequence) AS last FROM removed GROUP BY token_id
    ) r
    WHERE (r.last <= (
        SELECT min({covers}) FROM marketdata_booksnapshot s
        WHERE s.token_id = r.token_id
    )) IS NOT TRUE OR EXISTS (
        SELECT FROM {table} b WHERE b.token_id = r.token_id AND b.sequence < r.last
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Of a log only the beginning goes, as far as every snapshot '
            'covers it (prune_book_log); DELETE on % is refused: %.', TG_TABLE_NAME,
            wrong USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER {table}_keep AFTER DELETE ON {table}
    REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION {table}_keep();
"""


HEAD = """
CREATE FUNCTION marketdata_keep_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The log of token % stands at change % and trade %, and never goes '
        'back.', OLD.token_id, OLD.last_sequence, OLD.last_trade
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER marketdata_keep_head BEFORE UPDATE ON marketdata_orderbookhead
    FOR EACH ROW WHEN (NEW.last_sequence < OLD.last_sequence
        OR NEW.last_trade < OLD.last_trade OR NEW.last_snapshot < OLD.last_snapshot
        OR NEW.last_at < OLD.last_at OR NEW.token_id <> OLD.token_id)
    EXECUTE FUNCTION marketdata_keep_head();
"""

# A level's quantity and a head change in place (HOT) where their page has room, which
# vacuum keeps; what is appended is to be frozen soon.
STORAGE = """
ALTER TABLE marketdata_orderbookhead SET (fillfactor = 10,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE marketdata_booklevel SET (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
ALTER TABLE marketdata_bookchange SET (autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE marketdata_trade SET (autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)
"""


def drop(name, table):
    return f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}()"


def refuse(table):
    return migrations.RunSQL(
        f"CREATE TRIGGER marketdata_refuse_change BEFORE UPDATE OR TRUNCATE "
        f"ON {table} FOR EACH STATEMENT EXECUTE FUNCTION marketdata_refuse_change()",
        f"DROP TRIGGER marketdata_refuse_change ON {table}",
    )


def keep(table, covers):
    return migrations.RunSQL(
        keep_uncovered(table, covers), drop(f"{table}_keep", table)
    )


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0003_book_writer")]

    operations = [
        migrations.RunSQL(REFUSE_CHANGE, "DROP FUNCTION marketdata_refuse_change()"),
        refuse("marketdata_bookchange"),
        refuse("marketdata_trade"),
        migrations.RunSQL(
            FOLLOW_CHANGES, drop("marketdata_follow_changes", "marketdata_bookchange")
        ),
        migrations.RunSQL(
            FOLLOW_TRADES, drop("marketdata_follow_trades", "marketdata_trade")
        ),
        keep("marketdata_bookchange", "sequence"),
        keep("marketdata_trade", "trade_sequence"),
        migrations.RunSQL(
            HEAD, drop("marketdata_keep_head", "marketdata_orderbookhead")
        ),
        migrations.RunSQL(
            STORAGE,
            "ALTER TABLE marketdata_orderbookhead RESET (fillfactor,"
            " autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);"
            "ALTER TABLE marketdata_booklevel RESET (fillfactor,"
            " autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,"
            " autovacuum_vacuum_cost_delay);"
            "ALTER TABLE marketdata_bookchange RESET"
            " (autovacuum_vacuum_insert_scale_factor,"
            " autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);"
            "ALTER TABLE marketdata_trade RESET"
            " (autovacuum_vacuum_insert_scale_factor,"
            " autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)",
        ),
    ]
