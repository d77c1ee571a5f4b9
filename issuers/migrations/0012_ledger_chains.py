"""Makes the register the owner's: what follows from an entry is written by triggers."""

from importlib import import_module

from django.db import migrations, models

from partnerapi.core.guards import (
    again,
    closed_to_public,
    drop,
    function,
    harden,
    trigger_function,
)

guards = import_module("issuers.migrations.0003_register_guards")
delivered = import_module("issuers.migrations.0005_legacy_guards")
balances = import_module("issuers.migrations.0006_holder_balance_user")
changed = import_module("issuers.migrations.0007_changed_issuers_are_read")

BY_INDEX = guards.BY_INDEX
RESTRICTED = "USING ERRCODE = 'restrict_violation'"

# What a chain is made of. Members are sorted, and there is no white space: Python's
# json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False). Numbers
# that may be above 2⁵³ are strings.
TIME = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
PLACE = """CASE WHEN t.{side}_id IS NULL THEN 'null'
            WHEN {side}.user_id IS NULL THEN '"treasury"'
            ELSE '"' || {side}.user_id || '"' END"""
LINES = f"""
CREATE VIEW register_entry_lines AS
SELECT t.token_id, t.seq AS number, concat(
    '{{"actor":', to_json(t.actor),
    ',"amount":"', t.amount,
    '","chainReference":', coalesce(to_json(t.chain_reference)::text, 'null'),
    ',"effectiveAt":"', {TIME.format("t.effective_at")},
    '","from":', {PLACE.format(side="source")},
    ',"heldAfter":"', t.held_after,
    '","holdersAfter":', t.holders_after,
    ',"kind":"', t.kind,
    '","legacyShareholder":', coalesce('"' || t.legacy_shareholder_id || '"', 'null'),
    ',"reason":', to_json(t.reason),
    ',"recordedAt":"', {TIME.format("t.recorded_at")},
    '","reverses":', coalesce(t.reverses::text, 'null'),
    ',"seq":', t.seq,
    ',"supplyAfter":"', t.supply_after,
    '","to":', {PLACE.format(side="target")},
    ',"token":"', t.token_id, '"}}') AS line
FROM issuers_ledgertransaction t
LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id
LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id;

CREATE VIEW register_price_lines AS
SELECT p.token_id, p.number, concat(
    '{{"effectiveAt":"', {TIME.format("p.effective_at")},
    '","number":', p.number,
    ',"priceCents":"', p.price_cents,
    '","recordedAt":"', {TIME.format("p.recorded_at")},
    '","recordedBy":', to_json(p.recorded_by),
    ',"source":"', p.source,
    '","token":"', p.token_id, '"}}') AS line
FROM issuers_tokenprice p;
"""


# Two functions rather than one with a parameter: a plan for each view.
def chain(name, view):
    return f"""
CREATE FUNCTION {name}(token uuid, after bigint, digest bytea) RETURNS bytea
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    said text;
BEGIN
    FOR said IN SELECT line FROM {view}
        WHERE token_id = token AND number > after ORDER BY number
    LOOP
        digest := sha256(digest || convert_to(said, 'UTF8'));
    END LOOP;
    RETURN digest;
END $$;
"""


CHAINS = chain("register_chain_entries", "register_entry_lines") + chain(
    "register_chain_prices", "register_price_lines"
)
FILL_CHAINS = """
UPDATE issuers_tokenledgerhead SET
    entry_digest = register_chain_entries(token_id, 0, entry_digest),
    price_digest = register_chain_prices(token_id, 0, price_digest)
"""
FILL_FINGERPRINTS = """
UPDATE issuers_tokenledgerhead h SET fingerprint = (
    SELECT coalesce(sum(register_digest(s.said)), 0) FROM register_said s
    WHERE s.token_id = h.token_id);
-- What a deferred trigger has yet to look at, nobody may alter.
SET CONSTRAINTS ALL IMMEDIATE
"""
SAID = "CREATE VIEW" + guards.DIGEST.partition("CREATE VIEW")[2]

OPEN_LEDGER = trigger_function(
    "register_open_ledger",
    "issuers_token",
    """
    INSERT INTO issuers_tokenledgerhead
        (token_id, last_seq, last_price, supply, held, holder_count, is_open)
    VALUES (NEW.id, 0, 0, 0, 0, 0, FALSE);
    RETURN NULL;
    """,
)
OLD_OPEN_LEDGER = """
CREATE OR REPLACE FUNCTION register_open_ledger() RETURNS trigger LANGUAGE plpgsql
SECURITY INVOKER AS $$
BEGIN
    INSERT INTO issuers_tokenledgerhead
        (token_id, last_seq, last_price, supply, held, holder_count, fingerprint,
         is_open)
    VALUES (NEW.id, 0, 0, 0, 0, 0, 0, FALSE);
    RETURN NULL;
END $$;
GRANT EXECUTE ON FUNCTION register_open_ledger() TO PUBLIC;
"""

# Under a head's lock a writer takes its time, and writes it into the head: entries and
# prices of an open ledger have that time, and no other. Where the clock was set back
# behind what is written, the writer waits if it is not for long; else it has no time.
HOLD = function(
    "register_hold(tokens uuid[])",
    """TABLE (
    token_id uuid, symbol text, issuer_id uuid, created_at timestamptz,
    authorized_units numeric, last_seq bigint, last_price bigint, supply numeric,
    held numeric, holder_count bigint, price_cents bigint, is_open boolean,
    last_at timestamptz, clock timestamptz)""",
    """
    PERFORM FROM issuers_tokenledgerhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR UPDATE;
    SELECT max(greatest(h.last_effective_at, h.last_price_at)) INTO last
    FROM issuers_tokenledgerhead h WHERE h.token_id = ANY (tokens);
    WHILE last > clock_timestamp() AND last <= clock_timestamp() + interval '1 second'
    LOOP
        PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
    END LOOP;
    taken := clock_timestamp();
    UPDATE issuers_tokenledgerhead h
        SET hold_transaction = pg_current_xact_id()::text::bigint,
            hold_at = CASE WHEN greatest(h.last_effective_at, h.last_price_at) > taken
                THEN NULL ELSE taken END
        WHERE h.token_id = ANY (tokens);
    RETURN QUERY
        SELECT h.token_id, t.symbol::text, t.issuer_id, t.created_at,
            t.authorized_units, h.last_seq, h.last_price, h.supply, h.held,
            h.holder_count, h.price_cents, h.is_open,
            greatest(h.last_effective_at, h.last_price_at), taken
        FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
    """,
    declare="last timestamptz;\n    taken timestamptz;",
    settings=BY_INDEX,
)

OPEN = function(
    "register_open(tokens uuid[])",
    "void",
    """
    UPDATE issuers_tokenledgerhead SET is_open = TRUE
        WHERE token_id = ANY (tokens) AND NOT is_open;
    """,
)

# A past that was answered for stays: times before now are for the tokens of an issuer
# that the same transaction has made, such as an import's.
NEW_ISSUER = """i.recorded_in = pg_current_xact_id()::text::bigint"""
KEEP_ISSUER = trigger_function(
    "register_keep_issuer",
    "issuers_issuer",
    """
    NEW.recorded_in := CASE TG_OP WHEN 'INSERT' THEN pg_current_xact_id()::text::bigint
        ELSE OLD.recorded_in END;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER register_keep_issuer BEFORE INSERT OR UPDATE ON issuers_issuer
    FOR EACH ROW EXECUTE FUNCTION register_keep_issuer();
"""
TIME_TOKEN = trigger_function(
    "register_time_token",
    "issuers_token",
    f"""
    PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
    IF NEW.created_at >= transaction_timestamp() THEN
        NEW.created_at := clock_timestamp();
    ELSIF NOT EXISTS (
        SELECT FROM issuers_issuer i WHERE i.id = NEW.issuer_id AND {NEW_ISSUER}) THEN
        RAISE EXCEPTION 'Tables of the past have no token %: it begins now, because its '
            'issuer was there before.', NEW.symbol {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
)
OLD_TIME_TOKEN = """
CREATE OR REPLACE FUNCTION register_time_token() RETURNS trigger LANGUAGE plpgsql
SECURITY INVOKER AS $$
BEGIN
    PERFORM FROM issuers_issuer WHERE id = NEW.issuer_id FOR UPDATE;
    IF NEW.created_at >= transaction_timestamp() THEN
        NEW.created_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
GRANT EXECUTE ON FUNCTION register_time_token() TO PUBLIC;
"""

FOLLOW_ENTRIES = trigger_function(
    "register_follow_transactions",
    "issuers_ledgertransaction",
    f"""
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    WITH numbered AS (
        SELECT e.*, h.supply, h.held, h.holder_count, t.authorized_units,
            t.issuer_id AS token_issuer_id,
            e.seq = h.last_seq + row_number() OVER by_seq
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_effective_at, t.created_at)) OVER by_seq
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND {NEW_ISSUER} OR e.effective_at = h.hold_at
                AND h.hold_transaction = pg_current_xact_id()::text::bigint)
            AND CASE e.kind
                WHEN 'MINT' THEN e.source_id IS NULL
                WHEN 'BURN' THEN e.target_id IS NULL
                WHEN 'LEGACY_DELIVERY' THEN e.target_id IS NOT NULL
                WHEN 'REVERSAL' THEN EXISTS (
                    SELECT FROM issuers_ledgertransaction u
                    WHERE u.token_id = e.token_id AND u.seq = e.reverses
                        AND u.seq < e.seq AND u.kind <> 'REVERSAL'
                        AND u.amount = e.amount
                        AND u.source_id IS NOT DISTINCT FROM e.target_id
                        AND u.target_id IS NOT DISTINCT FROM e.source_id)
                ELSE e.source_id IS NOT NULL AND e.target_id IS NOT NULL END
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_seq AS (PARTITION BY e.token_id ORDER BY e.seq)
    ), accounts AS (
        SELECT n.*, l.leg, l.account_id, l.delta, a.user_id, a.kind = 'HOLDER' AS holds,
            coalesce(b.balance_after, 0) + sum(l.delta) OVER by_account AS after,
            n.follows AND CASE
                WHEN n.kind IN ('TRANSFER', 'FORCED_TRANSFER') THEN a.kind = 'HOLDER'
                WHEN n.kind IN ('ALLOCATE', 'LEGACY_DELIVERY')
                    THEN a.kind = CASE leg WHEN 1 THEN 'TREASURY' ELSE 'HOLDER' END
                WHEN n.kind = 'RETURN'
                    THEN a.kind = CASE leg WHEN 1 THEN 'HOLDER' ELSE 'TREASURY' END
                ELSE n.kind IN ('MINT', 'BURN', 'REVERSAL') AND a.kind IS NOT NULL END
            AND (a.kind = 'HOLDER' OR a.issuer_id = n.token_issuer_id) AS allowed
        FROM numbered n
        CROSS JOIN LATERAL (
            VALUES (1, n.source_id, -n.amount), (2, n.target_id, n.amount)
        ) AS l (leg, account_id, delta)
        LEFT JOIN LATERAL (
            SELECT kind, user_id, issuer_id FROM issuers_ledgeraccount
            WHERE id = l.account_id LIMIT 1
        ) a ON TRUE
        LEFT JOIN LATERAL (
            SELECT p.balance_after FROM issuers_ledgerposting p
            WHERE p.token_id = n.token_id AND p.account_id = l.account_id
            ORDER BY p.seq DESC LIMIT 1
        ) b ON TRUE
        WHERE l.account_id IS NOT NULL
        WINDOW by_account AS (PARTITION BY n.token_id, l.account_id ORDER BY n.seq)
    ), legs AS MATERIALIZED (
        -- Both legs of an entry are peers: a sum up to one holds the other, too.
        SELECT token_id, seq, leg, account_id, user_id, delta, after,
            allowed
            AND supply_after = supply + sum(delta) OVER by_seq
            AND held_after = held + coalesce(sum(delta) FILTER (WHERE holds) OVER by_seq, 0)
            AND holders_after = holder_count + coalesce(sum(
                (after > 0)::int - (after - delta > 0)::int)
                FILTER (WHERE holds) OVER by_seq, 0)
            AND (source_id IS NOT NULL OR supply_after <= authorized_units) IS NOT FALSE
            AS follows
        FROM accounts
        WINDOW by_seq AS (PARTITION BY token_id ORDER BY seq)
    ), posted AS (
        INSERT INTO issuers_ledgerposting
            (token_id, seq, leg, account_id, delta, balance_after)
        SELECT token_id, seq, leg, account_id, delta, after FROM legs
    ), balanced AS (
        INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (token_id, account_id)
            token_id, account_id, user_id, after, seq
        FROM legs ORDER BY token_id, account_id, seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq
    )
    SELECT format('token %s, entry %s', token_id, seq) INTO wrong
    FROM legs WHERE follows IS NOT TRUE ORDER BY seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The ledger''s next entry must have the next number, the time '
            'that its writer took under the lock, accounts of its kind, and the '
            'supply, held units and holders that follow: %.', wrong {RESTRICTED};
    END IF;
    IF EXISTS (SELECT FROM entered WHERE legacy_shareholder_id IS NOT NULL) THEN
        UPDATE issuers_legacyshareholder s
            SET status = 'DELIVERED', delivered_at = e.effective_at,
                delivered_by = e.actor, ledger_seq = e.seq
            FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.target_id
            WHERE s.id = e.legacy_shareholder_id AND s.status = 'PENDING'
                AND s.token_id = e.token_id AND s.user_id = a.user_id
                AND s.number_of_shares = e.amount;
        GET DIAGNOSTICS marked = ROW_COUNT;
        IF marked <> (SELECT count(legacy_shareholder_id) FROM entered) THEN
            RAISE EXCEPTION 'A delivery must be of legacy shares that are PENDING: as '
                'many, to their holder, of their token.' {RESTRICTED};
        END IF;
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_seq = l.seq, last_effective_at = l.effective_at,
            supply = l.supply_after, held = l.held_after,
            holder_count = l.holders_after,
            entry_digest = register_chain_entries(
                h.token_id, h.last_seq, h.entry_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, seq DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
    """,
    declare="wrong text;\n    marked bigint;",
    settings=BY_INDEX,
)

FOLLOW_PRICES = trigger_function(
    "register_follow_prices",
    "issuers_tokenprice",
    f"""
    PERFORM FROM issuers_tokenledgerhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR UPDATE;
    SELECT format('token %s, price %s', token_id, number) INTO wrong
    FROM (
        SELECT e.token_id, e.number,
            e.number = h.last_price + row_number() OVER by_number
            AND e.effective_at >= lag(e.effective_at, 1,
                greatest(h.last_price_at, t.created_at)) OVER by_number
            AND e.effective_at <= clock_timestamp()
            AND e.recorded_at = statement_timestamp()
            AND (NOT h.is_open AND {NEW_ISSUER} OR e.effective_at = h.hold_at
                AND h.hold_transaction = pg_current_xact_id()::text::bigint)
            AS follows
        FROM entered e
        JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
        JOIN issuers_token t ON t.id = e.token_id
        JOIN issuers_issuer i ON i.id = t.issuer_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number)
    ) AS checked
    WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The next price must have the next number, and the time that '
            'its writer took under the lock: %.', wrong {RESTRICTED};
    END IF;
    UPDATE issuers_tokenledgerhead h
        SET last_price = l.number, last_price_at = l.effective_at,
            price_cents = l.price_cents,
            price_digest = register_chain_prices(
                h.token_id, h.last_price, h.price_digest)
        FROM (SELECT DISTINCT ON (token_id) * FROM entered
              ORDER BY token_id, number DESC) l
        WHERE h.token_id = l.token_id;
    RETURN NULL;
    """,
    declare="wrong text;",
    settings=BY_INDEX,
)


def made_by_invoker(statements):
    """The functions as they were before they did all as their owner."""
    return again(statements).replace(
        " LANGUAGE plpgsql", " LANGUAGE plpgsql SECURITY INVOKER"
    )


OLD_FOLLOW_ENTRIES = (
    made_by_invoker(guards.FOLLOW_TRANSACTIONS.partition("CREATE TRIGGER")[0])
    + "GRANT EXECUTE ON FUNCTION register_follow_transactions() TO PUBLIC"
)
OLD_FOLLOW_PRICES = (
    made_by_invoker(guards.FOLLOW_PRICES.partition("CREATE TRIGGER")[0])
    + "GRANT EXECUTE ON FUNCTION register_follow_prices() TO PUBLIC"
)
OLD_FOLLOW_POSTINGS = (
    balances.FOLLOW_POSTINGS
    + ";\nCREATE TRIGGER"
    + guards.FOLLOW_POSTINGS.partition("CREATE TRIGGER")[2]
)

KEEP_HEAD = trigger_function(
    "register_keep_head",
    "issuers_tokenledgerhead",
    f"""
    RAISE EXCEPTION 'The ledger of token % stands at entry % and price %: it never '
        'goes back, and once it is open it is never closed.', OLD.token_id,
        OLD.last_seq, OLD.last_price {RESTRICTED};
    """,
) + """
CREATE TRIGGER register_keep_head BEFORE UPDATE ON issuers_tokenledgerhead
    FOR EACH ROW WHEN (OLD.is_open AND NOT NEW.is_open OR NEW.last_seq < OLD.last_seq
        OR NEW.last_price < OLD.last_price OR NEW.token_id <> OLD.token_id)
    EXECUTE FUNCTION register_keep_head();
CREATE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE
    ON issuers_tokenledgerhead
    FOR EACH STATEMENT EXECUTE FUNCTION register_refuse_change();
""" + trigger_function(
    "register_keep_open",
    "issuers_tokenledgerhead",
    f"""
    IF EXISTS (SELECT FROM issuers_tokenledgerhead WHERE token_id = NEW.token_id
            AND NOT is_open AND last_seq + last_price > 0) THEN
        RAISE EXCEPTION 'The history of token % is written, and its ledger is not '
            'open: more could be written before what is answered.', NEW.token_id
            {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER register_keep_open AFTER UPDATE ON issuers_tokenledgerhead
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NOT NEW.is_open) EXECUTE FUNCTION register_keep_open();
"""

KEEP_ACCOUNTS = """
CREATE TRIGGER register_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON issuers_ledgeraccount
    FOR EACH STATEMENT EXECUTE FUNCTION register_refuse_change();
""" + trigger_function(
    "register_keep_account",
    "issuers_ledgeraccount",
    f"""
    RAISE EXCEPTION 'Profile % is not that of user %.', NEW.holder_id, NEW.user_id
        {RESTRICTED};
    """,
) + """
CREATE FUNCTION register_is_profile_of(profile uuid, person uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT EXISTS (SELECT FROM accounts_userholder
        WHERE id = profile AND user_id = person)
$$;
CREATE TRIGGER register_keep_account BEFORE INSERT ON issuers_ledgeraccount
    FOR EACH ROW WHEN (NEW.kind = 'HOLDER'
        AND NOT register_is_profile_of(NEW.holder_id, NEW.user_id))
    EXECUTE FUNCTION register_keep_account();
"""

KEEP_TOKEN = trigger_function(
    "register_keep_token",
    "issuers_token",
    f"""
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'Token % stays: tables of the past list it.', OLD.symbol
            {RESTRICTED};
    END IF;
    IF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol {RESTRICTED};
    END IF;
    IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
        RAISE EXCEPTION 'Token % is on the secondary market and can not go back.',
            OLD.symbol {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER register_keep_token_listed BEFORE DELETE ON issuers_token
    FOR EACH ROW EXECUTE FUNCTION register_keep_token();
"""
OLD_KEEP_TOKEN = (
    "DROP TRIGGER register_keep_token_listed ON issuers_token;"
    + made_by_invoker(
        "CREATE FUNCTION register_keep_token()"
        + guards.OPEN_LEDGER.partition("CREATE FUNCTION register_keep_token()")[
            2
        ].partition("CREATE TRIGGER")[0]
    )
    + "GRANT EXECUTE ON FUNCTION register_keep_token() TO PUBLIC"
)

# The entry is written first; its trigger marks the line.
KEEP_DELIVERED = trigger_function(
    "register_keep_delivered",
    "issuers_legacyshareholder",
    f"""
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                {RESTRICTED};
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            {RESTRICTED};
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF NEW.status = 'DELIVERED' AND NOT EXISTS (
        SELECT FROM issuers_ledgertransaction t
        JOIN issuers_ledgeraccount a ON a.id = t.target_id
        WHERE t.token_id = NEW.token_id AND t.seq = NEW.ledger_seq
            AND t.legacy_shareholder_id = NEW.id AND t.amount = NEW.number_of_shares
            AND t.effective_at = NEW.delivered_at AND t.actor = NEW.delivered_by
            AND a.user_id = NEW.user_id) THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
    settings="SET enable_seqscan = off",
)
OLD_KEEP_DELIVERED = (
    made_by_invoker(delivered.KEEP_DELIVERED.partition("CREATE TRIGGER")[0])
    + "GRANT EXECUTE ON FUNCTION register_keep_delivered() TO PUBLIC"
)

# Whoever changes the name of a holder takes the time under the lock that this shares.
OLD_NOTE = changed.NOTE.replace("ORDER BY id FOR SHARE", "ORDER BY id FOR KEY SHARE")
NOTE = OLD_NOTE.replace(
    "    noted_at := least(",
    "    PERFORM pg_advisory_xact_lock_shared(hashtextextended('names of holders', 0));\n"
    "    noted_at := least(",
)
NOTED = "register_note(uuid[], timestamptz)"
OWNERS_NOTE = (
    NOTE
    + f";ALTER FUNCTION {NOTED} SECURITY DEFINER"
    + " SET search_path = pg_catalog, public, pg_temp;"
    + closed_to_public(NOTED)
)
OLD_NOTE += (
    f";ALTER FUNCTION {NOTED} SECURITY INVOKER;"
    f"GRANT EXECUTE ON FUNCTION {NOTED} TO PUBLIC"
)
NO_DIGEST = bytes(32)


def digest(name, help_text):
    return migrations.AddField(
        "tokenledgerhead",
        name,
        models.BinaryField(db_default=NO_DIGEST, max_length=32, help_text=help_text),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_kept_histories"),
        ("issuers", "0011_share_class_facts"),
    ]

    operations = [
        digest("entry_digest", "End of the SHA-256 chain of all entries."),
        digest("price_digest", "End of the SHA-256 chain of all prices."),
        migrations.AddField(
            "tokenledgerhead",
            "hold_transaction",
            models.BigIntegerField(
                null=True, help_text="The database transaction that held it last."
            ),
        ),
        migrations.AddField(
            "tokenledgerhead",
            "hold_at",
            models.DateTimeField(
                null=True, help_text="The time that it took under the lock."
            ),
        ),
        migrations.RunSQL(
            LINES, "DROP VIEW register_price_lines; DROP VIEW register_entry_lines"
        ),
        migrations.RunSQL(
            CHAINS,
            drop(
                "register_chain_entries(uuid, bigint, bytea)",
                "register_chain_prices(uuid, bigint, bytea)",
            ),
        ),
        migrations.RunSQL(FILL_CHAINS, migrations.RunSQL.noop),
        migrations.RunSQL(HOLD, drop("register_hold(uuid[])")),
        migrations.RunSQL(OPEN, drop("register_open(uuid[])")),
        migrations.RunSQL(OPEN_LEDGER, OLD_OPEN_LEDGER),
        migrations.RunSQL(
            drop(
                "register_follow_postings()",
                triggers={"register_follow_postings": "issuers_ledgerposting"},
            ),
            OLD_FOLLOW_POSTINGS,
        ),
        migrations.AddField(
            "issuer",
            "recorded_in",
            models.BigIntegerField(
                null=True,
                editable=False,
                help_text="The database transaction that made it.",
            ),
        ),
        migrations.RunSQL(
            KEEP_ISSUER,
            drop(
                "register_keep_issuer()",
                triggers={"register_keep_issuer": "issuers_issuer"},
            ),
        ),
        migrations.RunSQL(TIME_TOKEN, OLD_TIME_TOKEN),
        migrations.RunSQL(FOLLOW_ENTRIES, OLD_FOLLOW_ENTRIES),
        migrations.RunSQL(FOLLOW_PRICES, OLD_FOLLOW_PRICES),
        migrations.RunSQL(
            KEEP_HEAD,
            "DROP TRIGGER register_keep_head ON issuers_tokenledgerhead;"
            "DROP TRIGGER register_refuse_change ON issuers_tokenledgerhead;"
            "DROP TRIGGER register_keep_open ON issuers_tokenledgerhead;"
            "DROP FUNCTION register_keep_head(); DROP FUNCTION register_keep_open()",
        ),
        migrations.RunSQL(
            KEEP_ACCOUNTS,
            "DROP TRIGGER register_refuse_change ON issuers_ledgeraccount;"
            "DROP TRIGGER register_keep_account ON issuers_ledgeraccount;"
            "DROP FUNCTION register_keep_account();"
            "DROP FUNCTION register_is_profile_of(uuid, uuid)",
        ),
        migrations.RunSQL(KEEP_TOKEN, OLD_KEEP_TOKEN),
        migrations.RunSQL(KEEP_DELIVERED, OLD_KEEP_DELIVERED),
        migrations.RunSQL(OWNERS_NOTE, OLD_NOTE),
        harden(
            "register_refuse_change()",
            "register_keep_holder()",
        ),
        # From here on, backwards, the fingerprints are those of what is there.
        migrations.RunSQL(migrations.RunSQL.noop, FILL_FINGERPRINTS),
        migrations.RunSQL("DROP VIEW register_said", SAID),
        migrations.RemoveField("tokenledgerhead", "fingerprint"),
    ]
