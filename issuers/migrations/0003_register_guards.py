from django.db import migrations

REFUSE_CHANGE = """
CREATE FUNCTION register_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The register is for ever: % on % is refused. A mistake gets a '
        'reversal, a price a later price.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$
"""

# A reader locks the issuer, and so waits for tokens that are being made; the default
# time of creation is taken under that lock, or a token could appear in the past.
OPEN_LEDGER = """
CREATE FUNCTION register_time_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR NO KEY UPDATE;
    IF NEW.created_at >= transaction_timestamp() THEN
        NEW.created_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER register_time_token BEFORE INSERT ON issuers_token
    FOR EACH ROW EXECUTE FUNCTION register_time_token();

CREATE FUNCTION register_open_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO issuers_tokenledgerhead
        (token_id, last_seq, last_price, supply, held, holder_count, fingerprint,
         is_open)
    VALUES (NEW.id, 0, 0, 0, 0, 0, 0, FALSE);
    RETURN NULL;
END $$;

CREATE TRIGGER register_open_ledger AFTER INSERT ON issuers_token
    FOR EACH ROW EXECUTE FUNCTION register_open_ledger();

INSERT INTO issuers_tokenledgerhead
    (token_id, last_seq, last_price, supply, held, holder_count, fingerprint, is_open)
SELECT id, 0, 0, 0, 0, 0, 0, FALSE FROM issuers_token;

CREATE FUNCTION register_keep_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.issuer_id, NEW.created_at) <> (OLD.issuer_id, OLD.created_at)
       AND EXISTS (SELECT FROM issuers_tokenledgerhead
                   WHERE token_id = OLD.id AND last_seq + last_price > 0) THEN
        RAISE EXCEPTION 'Token % has a ledger: its issuer and creation stay.',
            OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
        RAISE EXCEPTION 'Token % is on the secondary market and can not go back.',
            OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER register_keep_token BEFORE UPDATE ON issuers_token
    FOR EACH ROW EXECUTE FUNCTION register_keep_token();
"""

# Joins go by index whatever the planner believes of the tables: a plan is kept for the
# session, and may be made while they are still empty.
BY_INDEX = "SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off"

# What an entry says, as a number; the head keeps the sum, which betrays whoever gets
# past the guards.
DIGEST = """
CREATE FUNCTION register_digest(said text) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ('x' || left(md5(said), 16))::bit(64)::bigint::numeric
$$;

CREATE VIEW register_said AS
SELECT token_id, ROW(seq, kind, source_id, target_id, amount,
    extract(epoch FROM effective_at), extract(epoch FROM recorded_at), supply_after,
    held_after, holders_after, actor, reason, chain_reference, legacy_shareholder_id,
    reverses)::text AS said
FROM issuers_ledgertransaction
UNION ALL
SELECT token_id, ROW(number, price_cents, source, extract(epoch FROM effective_at),
    extract(epoch FROM recorded_at), recorded_by)::text
FROM issuers_tokenprice
"""

FOLLOW_TRANSACTIONS = f"""
CREATE FUNCTION register_follow_transactions() RETURNS trigger LANGUAGE plpgsql
{BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    SELECT format('token %s, entry %s', token_id, seq) INTO wrong
    FROM (
        SELECT e.token_id, e.seq,
            e.seq = 1 + lag(e.seq, 1, h.last_seq) OVER by_seq
            AND e.effective_at >= coalesce(
                lag(e.effective_at, 1, h.last_effective_at) OVER by_seq, '-infinity')
            AND e.effective_at <= clock_timestamp()
            AND (NOT h.is_open OR e.effective_at >= transaction_timestamp())
            AND e.supply_after = lag(e.supply_after, 1, h.supply) OVER by_seq
                + CASE WHEN e.source_id IS NULL THEN e.amount ELSE 0 END
                - CASE WHEN e.target_id IS NULL THEN e.amount ELSE 0 END
            AND e.held_after = lag(e.held_after, 1, h.held) OVER by_seq
                + CASE WHEN target.kind = 'HOLDER' THEN e.amount ELSE 0 END
                - CASE WHEN source.kind = 'HOLDER' THEN e.amount ELSE 0 END
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        LEFT JOIN issuers_ledgeraccount source ON source.id = e.source_id
        LEFT JOIN issuers_ledgeraccount target ON target.id = e.target_id
        WINDOW by_seq AS (PARTITION BY e.token_id ORDER BY e.seq)
    ) AS checked
    WHERE NOT follows ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The ledger''s next entry must have the next number, a time '
            'not before the last one''s nor in the future, and the supply and held '
            'units that follow: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_seq = l.seq, last_effective_at = l.effective_at,
            supply = l.supply_after, held = l.held_after,
            holder_count = l.holders_after,
            fingerprint = h.fingerprint + d.digests
        FROM (
            SELECT token_id, sum(register_digest(ROW(seq, kind, source_id, target_id,
                amount, extract(epoch FROM effective_at),
                extract(epoch FROM recorded_at), supply_after, held_after,
                holders_after, actor, reason, chain_reference, legacy_shareholder_id,
                reverses)::text)) AS digests
            FROM entered GROUP BY token_id
        ) d, (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, seq DESC) l
        WHERE h.token_id = l.token_id AND d.token_id = l.token_id;
    RETURN NULL;
END $$;

CREATE TRIGGER register_follow_transactions AFTER INSERT ON issuers_ledgertransaction
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION register_follow_transactions();
"""

FOLLOW_POSTINGS = f"""
CREATE FUNCTION register_follow_postings() RETURNS trigger LANGUAGE plpgsql
{BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, entry %s, leg %s', token_id, seq, leg) INTO wrong
    FROM (
        SELECT p.token_id, p.seq, p.leg,
            t.seq IS NOT NULL
            AND p.seq > coalesce(b.last_seq, 0)
            AND p.delta = CASE p.leg WHEN 1 THEN -t.amount ELSE t.amount END
            AND p.account_id IS NOT DISTINCT FROM
                CASE p.leg WHEN 1 THEN t.source_id ELSE t.target_id END
            AND p.balance_after = p.delta + lag(
                p.balance_after, 1, coalesce(b.balance, 0)) OVER by_account
            AS follows
        FROM entered p
        LEFT JOIN issuers_ledgertransaction t
            ON t.token_id = p.token_id AND t.seq = p.seq
        LEFT JOIN issuers_holderbalance b
            ON b.token_id = p.token_id AND b.account_id = p.account_id
        WINDOW by_account AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
    ) AS checked
    WHERE NOT follows ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A posting must agree with its entry and with the account''s '
            'last balance: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO issuers_holderbalance (token_id, account_id, balance, last_seq)
        SELECT DISTINCT ON (token_id, account_id)
            token_id, account_id, balance_after, seq
        FROM entered ORDER BY token_id, account_id, seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq;
    RETURN NULL;
END $$;

CREATE TRIGGER register_follow_postings AFTER INSERT ON issuers_ledgerposting
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION register_follow_postings();
"""

FOLLOW_PRICES = f"""
CREATE FUNCTION register_follow_prices() RETURNS trigger LANGUAGE plpgsql
{BY_INDEX} AS $$
DECLARE
    wrong text;
BEGIN
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    SELECT format('token %s, price %s', token_id, number) INTO wrong
    FROM (
        SELECT e.token_id, e.number,
            e.number = 1 + lag(e.number, 1, h.last_price) OVER by_number
            AND e.effective_at >= coalesce(
                lag(e.effective_at, 1, h.last_price_at) OVER by_number, '-infinity')
            AND e.effective_at <= clock_timestamp()
            AND (NOT h.is_open OR e.effective_at >= transaction_timestamp())
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number)
    ) AS checked
    WHERE NOT follows ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The next price must have the next number and a time that is '
            'not before the last one''s nor in the future: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_price = l.number, last_price_at = l.effective_at,
            price_cents = l.price_cents, fingerprint = h.fingerprint + d.digests
        FROM (
            SELECT token_id, sum(register_digest(ROW(number, price_cents, source,
                extract(epoch FROM effective_at), extract(epoch FROM recorded_at),
                recorded_by)::text)) AS digests
            FROM entered GROUP BY token_id
        ) d, (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, number DESC) l
        WHERE h.token_id = l.token_id AND d.token_id = l.token_id;
    RETURN NULL;
END $$;

CREATE TRIGGER register_follow_prices AFTER INSERT ON issuers_tokenprice
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION register_follow_prices();
"""

NOTE_LEDGERS = """
CREATE FUNCTION register_note(issuers uuid[], asked timestamptz)
RETURNS TABLE (
    noted_at timestamptz, issuer_place bigint, noted_token uuid, noted_seq bigint,
    noted_last_seq bigint, noted_supply numeric, noted_held numeric,
    noted_holders bigint, noted_price bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    -- Waits for tokens in the making, and for the writers who may still enter
    -- something at or before the instant. Whoever writes later takes a later time.
    PERFORM FROM issuers_issuer WHERE id = ANY (issuers) ORDER BY id FOR SHARE;
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id IN (SELECT id FROM issuers_token WHERE issuer_id = ANY (issuers))
          AND (greatest(h.last_effective_at, h.last_price_at) > asked) IS NOT TRUE
        ORDER BY h.token_id FOR SHARE;
    noted_at := least(asked, clock_timestamp());
    RETURN QUERY
        SELECT noted_at, i.place, t.id, coalesce(s.seq, 0), h.last_seq,
            coalesce(s.supply_after, 0), coalesce(s.held_after, 0),
            coalesce(s.holders_after, 0), coalesce(p.price_cents, 0)
        FROM unnest(issuers) WITH ORDINALITY AS i (id, place)
        LEFT JOIN issuers_token t ON t.issuer_id = i.id AND t.created_at <= noted_at
        LEFT JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        LEFT JOIN LATERAL (
            SELECT x.seq, x.supply_after, x.held_after, x.holders_after
            FROM issuers_ledgertransaction x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.seq DESC LIMIT 1
        ) s ON TRUE
        LEFT JOIN LATERAL (
            SELECT x.price_cents FROM issuers_tokenprice x
            WHERE x.token_id = t.id AND x.effective_at <= noted_at
            ORDER BY x.effective_at DESC, x.number DESC LIMIT 1
        ) p ON TRUE
        ORDER BY i.place, t.created_at, t.id;
END $$
"""


def guard(table):
    return migrations.RunSQL(
        f"CREATE TRIGGER register_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE "
        f"ON {table} FOR EACH STATEMENT EXECUTE FUNCTION register_refuse_change()",
        f"DROP TRIGGER register_refuse_change ON {table}",
    )


def undo(*triggers, functions):
    drops = [f"DROP TRIGGER {name} ON {table}" for name, table in triggers]
    return "; ".join([*drops, *(f"DROP FUNCTION {name}" for name in functions)])


class Migration(migrations.Migration):
    dependencies = [("issuers", "0002_register")]

    operations = [
        migrations.RunSQL(REFUSE_CHANGE, "DROP FUNCTION register_refuse_change()"),
        guard("issuers_ledgertransaction"),
        guard("issuers_ledgerposting"),
        guard("issuers_tokenprice"),
        migrations.RunSQL(
            OPEN_LEDGER,
            undo(
                ("register_time_token", "issuers_token"),
                ("register_open_ledger", "issuers_token"),
                ("register_keep_token", "issuers_token"),
                functions=[
                    "register_time_token()",
                    "register_open_ledger()",
                    "register_keep_token()",
                ],
            ),
        ),
        migrations.RunSQL(
            DIGEST, "DROP VIEW register_said; DROP FUNCTION register_digest(text)"
        ),
        migrations.RunSQL(
            FOLLOW_TRANSACTIONS,
            undo(
                ("register_follow_transactions", "issuers_ledgertransaction"),
                functions=["register_follow_transactions()"],
            ),
        ),
        migrations.RunSQL(
            FOLLOW_POSTINGS,
            undo(
                ("register_follow_postings", "issuers_ledgerposting"),
                functions=["register_follow_postings()"],
            ),
        ),
        migrations.RunSQL(
            FOLLOW_PRICES,
            undo(
                ("register_follow_prices", "issuers_tokenprice"),
                functions=["register_follow_prices()"],
            ),
        ),
        migrations.RunSQL(
            NOTE_LEDGERS, "DROP FUNCTION register_note(uuid[], timestamptz)"
        ),
        # Index-only scans need a visibility map that keeps up with what is appended;
        # balances change in place.
        migrations.RunSQL(
            "ALTER TABLE issuers_ledgerposting"
            " SET (autovacuum_vacuum_insert_scale_factor = 0.02);"
            "ALTER TABLE issuers_holderbalance SET (fillfactor = 80);"
            "ALTER TABLE issuers_tokenledgerhead SET (fillfactor = 20)",
            "ALTER TABLE issuers_ledgerposting"
            " RESET (autovacuum_vacuum_insert_scale_factor);"
            "ALTER TABLE issuers_holderbalance RESET (fillfactor);"
            "ALTER TABLE issuers_tokenledgerhead RESET (fillfactor)",
        ),
    ]
