"""Judges each movement of units by the token's rules and the holders' restrictions."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import (
    SEARCH_PATH,
    closed_to_public,
    drop,
    function,
    granted_as,
    history_of,
    trigger_function,
)

chains = import_module("issuers.migrations.0012_ledger_chains")
stays = import_module("issuers.migrations.0013_identities_stay")

# Whoever writes an entry asks of few accounts: a plan for each array of them would take
# longer than the writing.
BY_INDEX = f"{chains.BY_INDEX} SET plan_cache_mode = force_generic_plan"
RESTRICTED = "USING ERRCODE = 'restrict_violation'"
MOST = "18446744073709551615"

# Units go from holder to holder on the market, too.
TRADES = stays.replaced(
    stays.FOLLOW_ENTRIES, ("'FORCED_TRANSFER')", "'FORCED_TRANSFER', 'TRADE')")
)

# What has ended since the instant still binds there. Of the past (`past`), only what
# was there already; else also what others have written meanwhile, under its lock.
IN_FORCE = """({0}.ended_at IS NULL OR {0}.ended_at > at)
        AND (NOT past OR {0}.created_at <= at)"""

# Of each account, why it may not send, why it may not receive, the units that stay,
# and the bounds of the token. A treasury nothing binds. A user who has no account yet
# (`newcomer`) has a row without one.
STANDING = f"""
CREATE FUNCTION register_standing(of_token uuid, accounts bigint[], at timestamptz,
    past boolean DEFAULT FALSE, newcomer uuid DEFAULT NULL)
RETURNS TABLE (account bigint, is_paused boolean, sending jsonb, receiving jsonb,
    locked numeric, locked_until timestamptz, most_units numeric, most_bps integer,
    most_holders bigint)
LANGUAGE plpgsql STABLE {SEARCH_PATH} {BY_INDEX} AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH rules AS MATERIALIZED (
        SELECT r.kind, r.parameters FROM issuers_tokenrule r
        WHERE r.token_id = of_token AND {IN_FORCE.format("r")}
    ), bounds AS MATERIALIZED (
        SELECT coalesce(bool_or(r.kind = 'TRANSFERS_PAUSED'), FALSE) AS paused,
            bool_or(r.kind = 'VERIFIED_HOLDERS') AS verified,
            bool_or(r.kind = 'APPROVED_HOLDERS') AS approved,
            min((r.parameters ->> 'units')::numeric) AS units,
            min((r.parameters ->> 'bps')::integer) AS bps,
            min((r.parameters ->> 'holders')::bigint) AS holders
        FROM rules r
    )
    SELECT w.account, b.paused,
        CASE WHEN x.frozen THEN jsonb_build_array(jsonb_strip_nulls(
            jsonb_build_object('code', 'SENDER_FROZEN', 'until', x.frozen_until)))
            ELSE '[]' END,
        (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(f.said) ORDER BY f.place), '[]')
         FROM (VALUES
            (1, x.frozen,
                jsonb_build_object('code', 'RECEIVER_FROZEN', 'until', x.frozen_until)),
            (2, b.verified AND p.is_unverified,
                jsonb_build_object('code', 'RECEIVER_NOT_VERIFIED',
                    'verifiedUntil', p.verified_until)),
            (3, p.is_elsewhere,
                jsonb_build_object('code', 'COUNTRY_NOT_ALLOWED', 'country', p.country)),
            (4, p.is_of_another_class,
                jsonb_build_object('code', 'INVESTOR_CLASS_NOT_ALLOWED')),
            (5, b.approved AND NOT EXISTS (SELECT FROM issuers_approvedholder h
                    WHERE h.token_id = of_token AND h.ledger_account_id = w.account
                        AND h.created_at <= at AND (h.until > at OR h.until IS NULL)
                        AND (h.ended_at IS NULL OR past AND h.ended_at > at)),
                jsonb_build_object('code', 'HOLDER_NOT_APPROVED'))
         ) AS f (place, is_broken, said) WHERE f.is_broken),
        x.locked, x.locked_until, b.units, b.bps, b.holders
    FROM (
        SELECT w.account, a.user_id
        FROM unnest(accounts) AS w (account)
        CROSS JOIN LATERAL (
            SELECT a.user_id FROM issuers_ledgeraccount a
            WHERE a.id = w.account AND a.kind = 'HOLDER' LIMIT 1
        ) a
        UNION ALL SELECT NULL, newcomer WHERE newcomer IS NOT NULL
    ) AS w
    CROSS JOIN bounds b
    CROSS JOIN LATERAL (
        -- As it is; and as it was, where it has changed since the instant.
        SELECT bool_or((i.verification = 'VERIFIED'
                AND (i.verified_until > at OR i.verified_until IS NULL)) IS NOT TRUE)
                AS is_unverified,
            bool_or(EXISTS (SELECT FROM rules r WHERE r.kind = 'COUNTRIES' AND CASE
                WHEN r.parameters ? 'allowed'
                    THEN (r.parameters -> 'allowed' ? i.country) IS NOT TRUE
                ELSE (r.parameters -> 'refused' ? i.country) IS NOT FALSE END))
                AS is_elsewhere,
            bool_or(EXISTS (SELECT FROM rules r WHERE r.kind = 'INVESTOR_CLASSES'
                AND NOT r.parameters -> 'classes' ? coalesce(i.class, 'RETAIL')))
                AS is_of_another_class,
            min(i.verified_until) AS verified_until, min(i.country) AS country
        FROM (
            SELECT i.verification, i.verified_until, i.tax_country_id::text AS country,
                i.investor_class AS class
            FROM (SELECT) AS one
            LEFT JOIN accounts_investorprofile i ON i.user_id = w.user_id
            WHERE NOT past
            UNION ALL
            SELECT i.verification, i.verified_until, i.tax_country_id, i.investor_class
            FROM (SELECT) AS one
            LEFT JOIN LATERAL (
                SELECT * FROM accounts_investorchange c
                WHERE c.user_id = w.user_id AND c.created_at <= at
                ORDER BY c.number DESC LIMIT 1
            ) i ON TRUE
            WHERE past OR EXISTS (SELECT FROM accounts_investorprofile x
                WHERE x.user_id = w.user_id AND x.updated_at > at)
        ) i
    ) p
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(r.is_whole), FALSE) AS frozen,
            CASE WHEN bool_and(r.until IS NOT NULL) FILTER (WHERE r.is_whole)
                THEN max(r.until) FILTER (WHERE r.is_whole) END AS frozen_until,
            least(coalesce(sum(coalesce(r.units, {MOST}))
                FILTER (WHERE NOT r.is_whole), 0), {MOST}) AS locked,
            CASE WHEN bool_and(r.until IS NOT NULL) FILTER (WHERE NOT r.is_whole)
                THEN max(r.until) FILTER (WHERE NOT r.is_whole) END AS locked_until
        FROM (
            SELECT r.units, r.until, r.kind = 'FREEZE' AND r.units IS NULL AS is_whole
            FROM issuers_restriction r
            WHERE r.ledger_account_id = w.account
                AND (r.token_id IS NULL OR r.token_id = of_token)
                AND (r.until IS NULL OR r.until > at) AND {IN_FORCE.format("r")}
        ) r
    ) x;
END $$;
"""
STANDING_OF = "register_standing(uuid, bigint[], timestamptz, boolean, uuid)"

# The arithmetic on what stands, for one entry. An account that is null is nobody, or
# of a transfer that is only asked about, any holder who may.
JUDGE = f"""
CREATE FUNCTION register_judge(of_token uuid, kind text, source bigint, target bigint,
    amount numeric, at timestamptz, past boolean, source_balance numeric,
    source_reserved numeric, target_balance numeric, supply_after numeric,
    holders_before bigint, holders_after bigint, newcomer uuid DEFAULT NULL)
RETURNS TABLE (code text, details jsonb)
LANGUAGE plpgsql STABLE {SEARCH_PATH} {BY_INDEX} AS $$
#variable_conflict use_column
DECLARE
    sender record;
    receiver record;
    is_free boolean := kind IN ('TRADE', 'TRANSFER');
    is_taken boolean := kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN');
    is_given boolean := kind IN
        ('TRADE', 'TRANSFER', 'MINT', 'ALLOCATE', 'LEGACY_DELIVERY');
    stays numeric;
    most numeric;
BEGIN
    SELECT * INTO sender FROM register_standing(of_token, ARRAY[source], at, past);
    SELECT * INTO receiver FROM register_standing(
        of_token, ARRAY[target], at, past, newcomer);
    stays := CASE WHEN is_taken THEN coalesce(sender.locked, 0) ELSE 0 END;
    most := least(receiver.most_units, floor(supply_after * receiver.most_bps / 10000));
    RETURN QUERY
    SELECT f.said ->> 'code', f.said - 'code' FROM (
        SELECT 1 AS place, s.said FROM jsonb_array_elements(sender.sending) AS s (said)
            WHERE is_taken
        UNION ALL
        SELECT 3, jsonb_strip_nulls(jsonb_build_object('code', 'UNITS_LOCKED',
            'available', greatest(source_balance - stays, 0),
            'lockedUntil', sender.locked_until))
            WHERE stays > 0 AND amount > source_balance - stays
        UNION ALL
        SELECT 4, jsonb_build_object('code', 'UNITS_RESERVED',
            'available', greatest(source_balance - stays - source_reserved, 0),
            'reserved', source_reserved)
            WHERE source_reserved > 0
                AND amount > source_balance - stays - source_reserved
        UNION ALL
        SELECT 5, jsonb_build_object('code', 'TRANSFERS_PAUSED')
            WHERE is_free AND (sender.is_paused OR receiver.is_paused)
        UNION ALL
        SELECT CASE r.said ->> 'code' WHEN 'RECEIVER_FROZEN' THEN 2
                WHEN 'RECEIVER_NOT_VERIFIED' THEN 6 WHEN 'COUNTRY_NOT_ALLOWED' THEN 7
                WHEN 'INVESTOR_CLASS_NOT_ALLOWED' THEN 8 ELSE 9 END, r.said
            FROM jsonb_array_elements(receiver.receiving) AS r (said)
            WHERE is_given OR kind = 'FORCED_TRANSFER' AND r.said ->> 'code'
                IN ('RECEIVER_FROZEN', 'RECEIVER_NOT_VERIFIED')
        UNION ALL
        SELECT 10, jsonb_build_object('code', 'MAX_HOLDERS_EXCEEDED',
            'maximum', receiver.most_holders)
            WHERE is_given AND holders_after > receiver.most_holders
                AND holders_after > holders_before
        UNION ALL
        SELECT 11, jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED', 'maximum', most,
            'held', target_balance)
            WHERE is_given AND target_balance + amount > most
    ) AS f ORDER BY f.place;
END $$;
"""
JUDGE_OF = (
    "register_judge(uuid, text, bigint, bigint, numeric, timestamptz, boolean, numeric,"
    " numeric, numeric, numeric, bigint, bigint, uuid)"
)

# What an account may send and receive of a token now, as the market asks it: what its
# open orders reserve is part of what it may send.
LIMITS = f"""
CREATE FUNCTION register_limits(of_token uuid, accounts bigint[], at timestamptz)
RETURNS TABLE (account bigint, may_send numeric, may_receive numeric, reasons jsonb,
    balance numeric, reserved numeric, locked numeric, locked_until timestamptz,
    holder_places bigint)
LANGUAGE plpgsql STABLE {SEARCH_PATH} {BY_INDEX} AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.account,
        CASE WHEN s.is_paused OR s.sending <> '[]' THEN 0
            ELSE greatest(b.balance - s.locked, 0) END,
        CASE WHEN s.is_paused OR s.receiving <> '[]' OR m.is_full THEN 0
            ELSE greatest(coalesce(m.most, {MOST}) - b.balance, 0) END,
        jsonb_build_object(
            'send', s.sending || m.paused || CASE WHEN s.locked > 0
                THEN jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
                    'code', 'UNITS_LOCKED',
                    'available', greatest(b.balance - s.locked, 0),
                    'lockedUntil', s.locked_until))) ELSE '[]' END,
            'receive', s.receiving || m.paused
                || CASE WHEN m.is_full THEN jsonb_build_array(jsonb_build_object(
                    'code', 'MAX_HOLDERS_EXCEEDED', 'maximum', s.most_holders))
                    ELSE '[]' END
                || CASE WHEN m.most IS NOT NULL THEN jsonb_build_array(
                    jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED',
                    'maximum', m.most, 'held', b.balance)) ELSE '[]' END),
        b.balance, b.reserved, s.locked, s.locked_until,
        s.most_holders - h.holder_count
    FROM register_standing(of_token, accounts, at) s
    JOIN issuers_tokenledgerhead h ON h.token_id = of_token
    CROSS JOIN LATERAL (
        SELECT coalesce(max(b.balance), 0) AS balance,
            coalesce(max(b.reserved), 0) AS reserved
        FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = s.account
    ) b
    CROSS JOIN LATERAL (
        SELECT least(s.most_units, floor(h.supply * s.most_bps / 10000)) AS most,
            coalesce(b.balance = 0 AND h.holder_count >= s.most_holders, FALSE)
                AS is_full,
            CASE WHEN s.is_paused THEN '[{{"code": "TRANSFERS_PAUSED"}}]'::jsonb
                ELSE '[]' END AS paused
    ) m;
END $$;
"""
LIMITS_OF = "register_limits(uuid, bigint[], timestamptz)"

# Why an entry would be refused now; no row: no rule forbids it. The receiver is an
# account, or a user who has none yet.
REFUSALS = f"""
CREATE FUNCTION register_refusals(of_token uuid, kind text, source bigint,
    target bigint, amount numeric, at timestamptz DEFAULT clock_timestamp(),
    newcomer uuid DEFAULT NULL)
RETURNS TABLE (code text, details jsonb)
LANGUAGE plpgsql STABLE {SEARCH_PATH} {BY_INDEX} AS $$
#variable_conflict use_column
DECLARE
    head issuers_tokenledgerhead;
    gives issuers_holderbalance;
    takes issuers_holderbalance;
    is_made boolean := source IS NULL AND kind NOT IN ('TRADE', 'TRANSFER');
    after bigint;
BEGIN
    SELECT * INTO head FROM issuers_tokenledgerhead h WHERE h.token_id = of_token;
    SELECT * INTO gives FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = source;
    SELECT * INTO takes FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = target;
    after := head.holder_count
        + (coalesce(target::text, newcomer::text) IS NOT NULL
            AND coalesce(takes.balance, 0) = 0)::integer
        - coalesce(gives.user_id IS NOT NULL AND gives.balance = amount, FALSE)::integer;
    RETURN QUERY SELECT j.code, j.details FROM register_judge(of_token, kind, source,
        target, amount, at, FALSE, coalesce(gives.balance, 0),
        coalesce(gives.reserved, 0), coalesce(takes.balance, 0),
        head.supply + CASE WHEN is_made THEN amount ELSE 0 END, head.holder_count,
        after, newcomer) j;
END $$;
"""
REFUSALS_OF = (
    "register_refusals(uuid, text, bigint, bigint, numeric, timestamptz, uuid)"
)

# What has moved under an entry's own lock is judged by the balances that it led to.
# Reserved units are judged by the balances at the end of the statement, and by the
# CHECK of every balance. What a transaction has made with its issuer nobody relies on.
JUDGE_POSTINGS = trigger_function(
    "register_judge_postings",
    "issuers_ledgerposting",
    f"""
    -- A writer took its time in this transaction: what has ended since then binds it.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.ended_at IS NULL AND r.token_id IN (SELECT token_id FROM entered))
        AND NOT EXISTS (
            SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.effective_at, x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                p.source_after, p.target_after
            FROM (SELECT token_id, seq,
                    max(balance_after) FILTER (WHERE leg = 1) AS source_after,
                    max(balance_after) FILTER (WHERE leg = 2) AS target_after
                  FROM entered GROUP BY token_id, seq) p
            JOIN issuers_ledgertransaction x
                ON x.token_id = p.token_id AND x.seq = p.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token_id
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id AND r.ended_at IS NULL)
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at >= x.effective_at))
        OFFSET 0
    ) x
    CROSS JOIN LATERAL (
        -- Against most entries nothing stands at all.
        SELECT x.* FROM register_standing(
            x.token_id, ARRAY[x.source_id, x.target_id], x.effective_at) s
        HAVING bool_or(s.is_paused OR s.sending <> '[]' OR s.receiving <> '[]'
            OR s.locked > 0 OR x.holders_after > s.most_holders OR x.target_after
                > least(s.most_units, floor(x.supply_after * s.most_bps / 10000)))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
        AND i.recorded_in IS DISTINCT FROM (SELECT register_transaction(0))
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{{}}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            e.effective_at, FALSE, e.source_after + e.amount, 0,
            e.target_after - e.amount, e.supply_after, e.holders_before,
            e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong {RESTRICTED};
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, s.at, b.balance, b.reserved
        FROM (
            SELECT s.token_id, s.account_id, max(x.effective_at) AS at
            FROM entered s
            JOIN issuers_ledgertransaction x
                ON x.token_id = s.token_id AND x.seq = s.seq
            WHERE s.leg = 1
            GROUP BY s.token_id, s.account_id
            HAVING bool_and(x.kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN'))
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], b.at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="wrong text;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER register_judge_postings AFTER INSERT ON issuers_ledgerposting
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION register_judge_postings();
"""

# Triggers of orders call it, under the head of the ledger; the balance's CHECK refuses
# what is not there.
RESERVE = function(
    "issuers_reserve_units(of_token uuid, accounts bigint[], deltas bigint[])",
    "void",
    f"""
    UPDATE issuers_holderbalance b SET reserved = b.reserved + d.delta
        FROM (SELECT w.account, sum(w.delta) AS delta
              FROM unnest(accounts, deltas) AS w (account, delta)
              GROUP BY w.account) d
        WHERE b.token_id = of_token AND b.account_id = d.account;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> (SELECT count(DISTINCT w.account) FROM unnest(accounts) AS w (account))
    THEN
        RAISE EXCEPTION 'Units are reserved of a holder who has some: token %.', of_token
            {RESTRICTED};
    END IF;
    """,
    declare="changed bigint;",
    settings=BY_INDEX,
)
RESERVE_OF = "issuers_reserve_units(uuid, bigint[], bigint[])"

# What a writer knows of the accounts of its entries, which it holds to its end: who
# restricts or attests of one of them comes before, or after.
STATES = function(
    "register_states(tokens uuid[], wanted bigint[], holds boolean)",
    """TABLE (
    token_id uuid, account bigint, kind text, issuer_id uuid, name text,
    balance numeric, reserved numeric, is_paused boolean, sending jsonb,
    receiving jsonb, locked numeric, locked_until timestamptz, most_units numeric,
    most_bps integer, most_holders bigint)""",
    """
    IF holds THEN
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (wanted) AND a.kind = 'HOLDER' ORDER BY a.id FOR SHARE;
    END IF;
    ruled := ARRAY(SELECT DISTINCT r.token_id FROM issuers_tokenrule r
        WHERE r.ended_at IS NULL AND r.token_id = ANY (tokens));
    restricts := EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp());
    RETURN QUERY
    SELECT w.token_id, w.account, a.kind::text, a.issuer_id,
        coalesce(holder.name, 'the treasury of ' || issuer.trading_name, '')::text,
        coalesce(b.balance, 0), coalesce(b.reserved, 0),
        s.is_paused, s.sending, s.receiving, s.locked, s.locked_until, s.most_units,
        s.most_bps, s.most_holders
    FROM unnest(tokens, wanted) AS w (token_id, account)
    -- LATERAL looks each account up: where statistics are older than a large import,
    -- the planner would compare each account with all.
    LEFT JOIN LATERAL (
        SELECT * FROM issuers_ledgeraccount x WHERE x.id = w.account LIMIT 1
    ) a ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.trading_name FROM issuers_issuer x WHERE x.id = a.issuer_id LIMIT 1
    ) issuer ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.name FROM accounts_userholder x WHERE x.id = a.holder_id LIMIT 1
    ) holder ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.balance, x.reserved FROM issuers_holderbalance x
        WHERE x.token_id = w.token_id AND x.account_id = w.account LIMIT 1
    ) b ON TRUE
    LEFT JOIN LATERAL (
        SELECT s.* FROM (
            SELECT WHERE w.token_id = ANY (ruled) OR restricts AND EXISTS (
                SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id = w.account
                    AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp()))
            OFFSET 0
        ) AS is_bound
        JOIN issuers_tokenledgerhead h ON h.token_id = w.token_id
        CROSS JOIN LATERAL register_standing(w.token_id, ARRAY[w.account],
            coalesce(h.hold_at, clock_timestamp()), FALSE) s
    ) s ON TRUE;
    """,
    declare="ruled uuid[];\n    restricts boolean;",
    settings=BY_INDEX,
)
STATES_OF = "register_states(uuid[], bigint[], boolean)"

# Rows end, and never change otherwise. Rules are written under the head of the ledger,
# what concerns a holder under the account, so that movements come before or after.
KEEP = {
    "tokenrule": (
        """
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = NEW.token_id FOR UPDATE;
    IF TG_OP = 'INSERT' AND NEW.replaces_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM issuers_tokenrule r WHERE r.id = NEW.replaces_id
            AND r.token_id = NEW.token_id AND r.kind = NEW.kind
            AND r.ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'A rule replaces one of its token and kind, which has ended.'
    """
        f"{RESTRICTED};\n    END IF;"
    ),
    "approvedholder": "",
    "restriction": "",
}
HELD = f"""
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id FOR NO KEY UPDATE;
    IF NOT EXISTS (SELECT FROM issuers_ledgeraccount a
        WHERE a.id = NEW.ledger_account_id AND a.kind = 'HOLDER') THEN
        RAISE EXCEPTION 'Account % is no holder''s.', NEW.ledger_account_id {RESTRICTED};
    END IF;"""


def keep(table, held):
    return trigger_function(
        f"register_keep_{table}",
        f"issuers_{table}",
        f"""{held}
    IF TG_OP = 'INSERT' THEN
        NEW.created_at := clock_timestamp();
        IF NEW.ended_at IS NOT NULL OR NEW.created_by = '' THEN
            RAISE EXCEPTION 'It begins now, and somebody is who began it.' {RESTRICTED};
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.ended_at IS NOT NULL OR NEW.ended_by = ''
        OR to_jsonb(NEW) - ARRAY['ended_at', 'ended_by']
            <> to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN
        RAISE EXCEPTION 'It is ended, once, by somebody, and stays otherwise: %.', OLD.id
            {RESTRICTED};
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
    """,
        settings=BY_INDEX,
    ) + f"""
CREATE TRIGGER register_keep_{table} BEFORE INSERT OR UPDATE ON issuers_{table}
    FOR EACH ROW EXECUTE FUNCTION register_keep_{table}();
CREATE TRIGGER register_refuse_change BEFORE DELETE OR TRUNCATE ON issuers_{table}
    FOR EACH STATEMENT EXECUTE FUNCTION register_refuse_change();
"""


KEPT = "".join(keep(table, held or HELD) for table, held in KEEP.items())

HOLD_INVESTOR = trigger_function(
    "register_hold_investor",
    "accounts_investorchange",
    """
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = NEW.user_id FOR NO KEY UPDATE;
    RETURN NEW;
    """,
    settings=BY_INDEX,
) + """
CREATE TRIGGER register_hold_investor BEFORE INSERT ON accounts_investorchange
    FOR EACH ROW EXECUTE FUNCTION register_hold_investor();
"""

# A rule is made, changed and ended as somebody asked for it and another approved.
APPROVE = trigger_function(
    "approvals_of_rule",
    "issuers_tokenrule",
    f"""
    IF TG_OP = 'UPDATE' THEN
        IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.replaces_id = NEW.id) THEN
            PERFORM approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
                'kind', NEW.kind, 'parameters', NULL, 'replaces', NEW.id), NULL, NULL,
                NULL);
        END IF;
        RETURN NULL;
    END IF;
    used := approvals_use('RULE', jsonb_build_object('token', NEW.token_id,
        'kind', NEW.kind, 'parameters', NEW.parameters, 'replaces', NEW.replaces_id,
        'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'A rule names who approved it.' {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="used uuid;",
) + trigger_function(
    "approvals_of_lifting",
    "issuers_restriction",
    """
    PERFORM approvals_use('LIFTING', jsonb_build_object('restriction', NEW.id), NULL,
        NULL, NULL);
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER approvals_of_rule AFTER INSERT OR UPDATE ON issuers_tokenrule
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION approvals_of_rule();
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE ON issuers_restriction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION approvals_of_lifting();
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0035_reserved_units")]

    operations = [
        migrations.RunSQL(TRADES, stays.FOLLOW_ENTRIES),
        migrations.RunSQL(
            STANDING
            + JUDGE
            + LIMITS
            + REFUSALS
            + RESERVE
            + STATES
            + granted_as(STATES_OF, "register_hold(uuid[])"),
            drop(
                STATES_OF, RESERVE_OF, REFUSALS_OF, LIMITS_OF, JUDGE_OF, STANDING_OF
            ),
        ),
        migrations.RunSQL(
            JUDGE_POSTINGS,
            drop(
                "register_judge_postings()",
                triggers={"register_judge_postings": "issuers_ledgerposting"},
            ),
        ),
        migrations.RunSQL(
            KEPT,
            "".join(
                f"DROP TRIGGER register_refuse_change ON issuers_{table};"
                + drop(
                    f"register_keep_{table}()",
                    triggers={f"register_keep_{table}": f"issuers_{table}"},
                )
                for table in KEEP
            ),
        ),
        migrations.RunSQL(
            HOLD_INVESTOR,
            drop(
                "register_hold_investor()",
                triggers={"register_hold_investor": "accounts_investorchange"},
            ),
        ),
        migrations.RunSQL(
            APPROVE,
            drop(
                "approvals_of_rule()",
                "approvals_of_lifting()",
                triggers={
                    "approvals_of_rule": "issuers_tokenrule",
                    "approvals_of_lifting": "issuers_restriction",
                },
            ),
        ),
        *(history_of(f"issuers_{table}") for table in KEEP),
    ]
