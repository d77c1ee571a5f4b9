"""The invariants of our markets, one statement per rule, and their replay."""

from collections.abc import Callable, Iterator

from accounts.totals import Listed, total_is_kept
from issuers.offerings.verification import INVARIANTS as OF_OFFERINGS
from marketdata.trading.models import PARAMETERS, Market
from marketdata.trading.replay import replay
from marketdata.trading.replayed_fees import replay_fees
from partnerapi.core.invariants import Finding, Invariant, check_invariants_and_guards

TOLD = 5


def verify(advance: Callable[[int], object] = lambda done: None) -> Iterator[Finding]:
    """Check every invariant, then the guards, then each market's log by the matcher."""
    yield from check_invariants_and_guards((*INVARIANTS, *OF_OFFERINGS))
    markets = Market.objects.select_related("token").order_by("token__symbol")
    wrong = [
        f"{market.token.symbol}: {sentence}"
        for market in markets
        for sentence in replay(market.token_id, advance)
    ]
    rule = "replaying the log through the matcher gives the same trades"
    yield Finding(rule, len(markets), len(wrong), wrong[:TOLD])
    charged = [market for market in markets if market.fees_account_id]
    wrong = [
        f"{market.token.symbol}: {sentence}"
        for market in charged
        for sentence in replay_fees(market.token_id)
    ]
    rule = "orders paid and reserve what their tariffs say"
    yield Finding(rule, len(charged), len(wrong), wrong[:TOLD])


def copy_of(table: str) -> str:
    """The columns of a market's parameters."""
    return ", ".join(f"{table}.{name}" for name in PARAMETERS)


OPEN = "status = 'OPEN'"

INVARIANTS = (
    total_is_kept(Listed.ORDERS, "trading_order", "partner_id"),
    total_is_kept(Listed.ACCOUNT_ORDERS, "trading_order", "account_id"),
    Invariant(
        "reserved units equal Σ open sell orders, and do not exceed the balance",
        f"""
        SELECT count(*), count(*) FILTER (WHERE coalesce(b.reserved, 0)
            <> coalesce(o.units, 0) OR b.reserved > b.balance)
        FROM (SELECT * FROM issuers_holderbalance WHERE reserved <> 0) b
        FULL JOIN (
            SELECT token_id, ledger_account_id AS account_id,
                sum(quantity - filled) AS units
            FROM trading_order WHERE {OPEN} AND side = 1 GROUP BY 1, 2
        ) o USING (token_id, account_id)
        """,
    ),
    Invariant(
        "reserved cash equals Σ open buy orders × limit, their fees, withdrawals and "
        "subscriptions",
        f"""
        SELECT count(*), count(*) FILTER (WHERE h.reserved
            <> coalesce(o.cents, 0) + coalesce(w.cents, 0) + coalesce(s.cents, 0)
            OR h.reserved > h.balance)
        FROM (SELECT * FROM accounts_cashhead WHERE kind IN ('CLIENT', 'ISSUER')) h
        LEFT JOIN (
            SELECT cash_account_id, sum((quantity - filled) * limit_price
                + coalesce(f.reserved, 0)) AS cents
            FROM trading_order LEFT JOIN trading_orderfee f ON f.order_id = id
            WHERE {OPEN} AND side = 0 GROUP BY 1
        ) o USING (cash_account_id)
        LEFT JOIN (
            SELECT cash_account_id, sum(amount) AS cents FROM accounts_withdrawal
            WHERE status IN ('REQUESTED', 'APPROVED') GROUP BY 1
        ) w USING (cash_account_id)
        LEFT JOIN (
            SELECT cash_account_id, sum(quantity * limit_price) AS cents
            FROM issuers_subscription WHERE status = 'ACTIVE' GROUP BY 1
        ) s USING (cash_account_id)
        """,
    ),
    Invariant(
        "each level of a book that is shown equals Σ open orders at its price",
        f"""
        SELECT count(*), count(*) FILTER (WHERE l.quantity IS DISTINCT FROM o.units)
        FROM (
            SELECT l.token_id, l.side, l.price_cents AS price, l.quantity
            FROM marketdata_booklevel l
            JOIN marketdata_orderbookhead h ON h.token_id = l.token_id
                AND h.source = 'OWN'
        ) l
        FULL JOIN (
            SELECT token_id, side, limit_price AS price,
                sum(quantity - filled) AS units
            FROM trading_order JOIN trading_market m USING (token_id)
            WHERE {OPEN} AND m.shows_book GROUP BY 1, 2, 3
        ) o USING (token_id, side, price)
        """,
    ),
    Invariant(
        "trades of the tape, executions, entries and payments match one to one",
        """
        SELECT count(*), count(*) FILTER (WHERE x.sequence IS NULL
            OR l.seq IS NULL OR c.id IS NULL OR NOT is_tape
            OR (l.amount, c.amount) <> (x.quantity, x.price * x.quantity)
            OR (l.source_id, l.target_id) <> (s.ledger_account_id, b.ledger_account_id)
            OR (c.source_id, c.target_id) <> (b.cash_account_id, s.cash_account_id))
        FROM (
            SELECT x.*, EXISTS (SELECT FROM marketdata_trade t
                WHERE t.token_id = x.token_id AND t.sequence = x.sequence
                    AND t.price_cents = x.price AND t.quantity = x.quantity)
                -- The tape shows an auction once all of it has settled.
                OR EXISTS (SELECT FROM trading_auction a WHERE a.token_id = x.token_id
                    AND a.ended IS NULL AND x.sequence > a.first_trade) AS is_tape
            FROM trading_execution x
        ) x
        FULL JOIN (SELECT * FROM issuers_ledgertransaction WHERE kind = 'TRADE') l
            ON l.token_id = x.token_id AND l.seq = x.ledger_seq
        FULL JOIN (SELECT * FROM accounts_cashtransaction WHERE kind = 'TRADE') c
            ON c.id = x.cash_transaction
        LEFT JOIN trading_order b ON b.id = x.buy_order_id
        LEFT JOIN trading_order s ON s.id = x.sell_order_id
        """,
    ),
    Invariant(
        "fees of executions and payments of fees match one to one",
        """
        SELECT count(*), count(*) FILTER (WHERE f.sequence IS NULL OR c.id IS NULL
            OR (c.source_id, c.target_id, c.amount) IS DISTINCT FROM
                CASE WHEN f.is_refund
                    THEN (m.fees_account_id, o.cash_account_id, -f.net - f.vat)
                    ELSE (o.cash_account_id, m.fees_account_id, f.net + f.vat) END)
        FROM trading_executionfee f
        FULL JOIN (
            SELECT c.* FROM accounts_cashtransaction c
            JOIN accounts_cashaccount s ON s.id = c.source_id
            JOIN accounts_cashaccount t ON t.id = c.target_id
            WHERE c.kind = 'FEE' AND 'CLIENT' IN (s.kind, t.kind)
        ) c ON c.id = f.cash_transaction
        LEFT JOIN trading_market m ON m.token_id = f.token_id
        LEFT JOIN trading_execution x
            ON x.token_id = f.token_id AND x.sequence = f.sequence
        LEFT JOIN trading_order o ON o.id = CASE f.side WHEN 0 THEN x.buy_order_id
            ELSE x.sell_order_id END
        """,
    ),
    Invariant(
        "Σ fees of executions and offerings = Σ fees on the accounts of markets and of "
        "the platform",
        """
        SELECT count(*), (coalesce((SELECT sum(net + vat) FROM trading_executionfee), 0)
            + coalesce((SELECT sum(fee_net + fee_vat) FROM issuers_offering), 0)
            <> coalesce(sum(balance), 0))::int
        FROM accounts_cashhead WHERE kind IN ('FEES', 'MARKET')
        """,
    ),
    Invariant(
        "the tape of an internal market has nothing else since it opened",
        """
        SELECT count(*), count(*) FILTER (WHERE x.sequence IS NULL)
        FROM trading_market m
        JOIN LATERAL (
            SELECT at FROM trading_orderevent e
            WHERE e.token_id = m.token_id AND e.number = 1
        ) opened ON TRUE
        JOIN marketdata_trade t ON t.token_id = m.token_id AND t.at > opened.at
        LEFT JOIN trading_execution x
            ON x.token_id = t.token_id AND x.sequence = t.sequence
        """,
    ),
    Invariant(
        "reversals of trades match busts, in units and in cash, one to one",
        """
        SELECT count(*), count(*) FILTER (WHERE b.sequence IS NULL OR l.seq IS NULL
            OR c.id IS NULL)
        FROM trading_bust b
        FULL JOIN (
            SELECT r.* FROM issuers_ledgertransaction r
            JOIN issuers_ledgertransaction t ON t.token_id = r.token_id
                AND t.seq = r.reverses AND t.kind = 'TRADE'
        ) l ON l.token_id = b.token_id AND l.seq = b.ledger_seq
        FULL JOIN (
            SELECT r.* FROM accounts_cashtransaction r
            JOIN accounts_cashtransaction t ON t.id = r.reverses_id
                AND t.kind = 'TRADE'
        ) c ON c.id = b.cash_transaction
        """,
    ),
    Invariant(
        "a correction is a trade of the orders and units of a trade busted with it",
        """
        SELECT count(*), count(*) FILTER (WHERE (b.ledger_seq + 1 = y.ledger_seq
            AND b.at = y.at AND y.price <> x.price
            AND (y.buy_order_id, y.sell_order_id, y.quantity)
                = (x.buy_order_id, x.sell_order_id, x.quantity)
            AND y.aggressor IS NOT DISTINCT FROM x.aggressor) IS NOT TRUE)
        FROM trading_execution y
        LEFT JOIN trading_execution x
            ON x.token_id = y.token_id AND x.sequence = y.corrects
        LEFT JOIN trading_bust b
            ON b.token_id = y.token_id AND b.sequence = y.corrects
        WHERE y.corrects IS NOT NULL
        """,
    ),
    Invariant(
        "every trade has its two legs of units and its two legs of cash",
        """
        SELECT count(*), count(*) FILTER (WHERE 2 <> (
                SELECT count(*) FROM issuers_ledgerposting p
                WHERE p.token_id = x.token_id AND p.seq = x.ledger_seq)
            OR 2 <> (SELECT count(*) FROM unnest(c.accounts) a
                WHERE a IN (b.cash_account_id, s.cash_account_id)))
        FROM trading_execution x
        JOIN trading_order b ON b.id = x.buy_order_id
        JOIN trading_order s ON s.id = x.sell_order_id
        LEFT JOIN (
            SELECT transaction_id, array_agg(cash_account_id) AS accounts
            FROM accounts_cashposting GROUP BY transaction_id
        ) c ON c.transaction_id = x.cash_transaction
        """,
    ),
    Invariant(
        "an order's filled units equal Σ its executions but corrections, within its "
        "limit",
        """
        SELECT count(*), count(*) FILTER (WHERE (o.filled, o.filled_value)
                <> (coalesce(x.units, 0), coalesce(x.cents, 0))
            OR CASE o.side WHEN 0 THEN x.highest > o.most ELSE x.lowest < o.least END)
        FROM (
            SELECT o.id, o.side, o.filled, o.filled_value,
                greatest(o.limit_price, max(e.price)) AS most,
                least(o.limit_price, min(e.price)) AS least
            FROM trading_order o
            LEFT JOIN trading_orderevent e ON e.order_id = o.id
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
            GROUP BY o.id
        ) o
        LEFT JOIN (
            SELECT id, sum(quantity) FILTER (WHERE corrects IS NULL) AS units,
                sum(price * quantity) FILTER (WHERE corrects IS NULL) AS cents,
                max(price) AS highest, min(price) AS lowest
            FROM (
                SELECT buy_order_id AS id, price, quantity, corrects
                FROM trading_execution
                UNION ALL
                SELECT sell_order_id, price, quantity, corrects FROM trading_execution
            ) sides GROUP BY id
        ) x ON x.id = o.id
        """,
    ),
    Invariant(
        "an auction executes its fills as they are listed, at its price",
        """
        SELECT count(*), count(*) FILTER (WHERE (x.buy_order_id = f.buy_order_id
            AND x.sell_order_id = f.sell_order_id AND x.quantity = f.quantity
            AND x.price = a.price AND x.aggressor IS NULL) IS NOT TRUE)
        FROM trading_auction a
        JOIN trading_auctionfill f ON f.token_id = a.token_id AND f.began = a.began
            AND f.place <= a.settled
        LEFT JOIN trading_execution x ON x.token_id = a.token_id
            AND x.sequence = a.first_trade + f.place
        """,
    ),
    Invariant(
        "rules admitted the fills of an auction when they were listed",
        """
        SELECT count(*), count(*) FILTER (WHERE EXISTS (
            SELECT FROM trading_refused_fills(a.token_id, a.began, TRUE)))
        FROM trading_auction a WHERE a.listed_at IS NOT NULL
        """,
    ),
    Invariant(
        "no user trades with itself, and a trade names its orders' accounts",
        """
        SELECT count(*), count(*) FILTER (WHERE b.user_id = s.user_id
            OR (b.account_id, s.account_id) <> (x.buyer_account_id, x.seller_account_id)
            OR (b.side, s.side) <> (0, 1)
            OR (b.token_id, s.token_id) <> (x.token_id, x.token_id))
        FROM trading_execution x
        JOIN trading_order b ON b.id = x.buy_order_id
        JOIN trading_order s ON s.id = x.sell_order_id
        """,
    ),
    Invariant(
        "an order's user, partner and accounts equal those of its account",
        """
        SELECT count(*), count(*) FILTER (WHERE (a.user_id = o.user_id
            AND a.partner_id = o.partner_id AND l.user_id = o.user_id
            AND c.account_id = o.account_id) IS NOT TRUE)
        FROM trading_order o
        LEFT JOIN accounts_account a ON a.id = o.account_id
        LEFT JOIN issuers_ledgeraccount l ON l.id = o.ledger_account_id
        LEFT JOIN accounts_cashaccount c ON c.id = o.cash_account_id
        """,
    ),
    Invariant(
        "an order's state equals its last event",
        """
        SELECT count(*), count(*) FILTER (WHERE (e.filled = o.filled
            AND e.value = o.filled_value AND e.remaining = o.quantity - o.filled
            AND e.number = l.last AND o.status = CASE e.kind
                WHEN 'ORDER_CANCELLED' THEN 'CANCELLED'
                WHEN 'ORDER_EXPIRED' THEN 'EXPIRED'
                ELSE CASE e.remaining WHEN 0 THEN 'FILLED' ELSE 'OPEN' END END)
            IS NOT TRUE)
        FROM trading_order o
        LEFT JOIN trading_orderevent e ON e.token_id = o.token_id
            AND e.number = o.last_event AND e.order_id = o.id
        LEFT JOIN (
            SELECT order_id, max(number) AS last FROM trading_orderevent
            WHERE kind NOT IN ('TRADE_BUSTED', 'TRADE_CORRECTED') GROUP BY order_id
        ) l ON l.order_id = o.id
        """,
    ),
    Invariant(
        "only ACTIVE accounts have open orders",
        f"""
        SELECT count(*), count(*) FILTER (WHERE a.status <> 'ACTIVE')
        FROM trading_order o JOIN accounts_account a ON a.id = o.account_id
        WHERE o.{OPEN}
        """,
    ),
    Invariant(
        "events are numbered from 1 without gaps, in order of time",
        """
        SELECT sum(m.last_event), count(*) FILTER (WHERE m.last_event <> e.many
            OR m.last_event <> e.last OR m.last_at <> e.at OR e.is_wrong)
        FROM trading_market m
        LEFT JOIN (
            SELECT token_id, count(*) AS many, max(number) AS last, max(at) AS at,
                bool_or(at < before) AS is_wrong
            FROM (
                SELECT token_id, number, at, lag(at) OVER (
                    PARTITION BY token_id ORDER BY number) AS before
                FROM trading_orderevent
            ) e GROUP BY token_id
        ) e USING (token_id)
        """,
    ),
    Invariant(
        "a market has the parameters that have begun or open it, or is halted or due",
        f"""
        SELECT count(*), count(*) FILTER (WHERE ({copy_of("m")}) IS DISTINCT FROM
            ({copy_of("p")}) AND (m.next_phase_at <= clock_timestamp()) IS NOT TRUE
            AND m.phase <> 'HALTED')
        FROM trading_market m
        LEFT JOIN LATERAL (
            SELECT * FROM trading_marketparameters x
            WHERE x.token_id = m.token_id AND x.valid_from <= greatest(
                clock_timestamp(), CASE m.phase WHEN 'CLOSED' THEN m.next_phase_at END)
            ORDER BY x.valid_from DESC, x.id DESC LIMIT 1
        ) p ON TRUE
        """,
    ),
    Invariant(
        "a market's phase equals that of its last phase event",
        """
        SELECT count(*), count(*) FILTER (WHERE (e.phase = m.phase
            AND e.number = m.last_phase_event) IS NOT TRUE)
        FROM trading_market m
        LEFT JOIN LATERAL (
            SELECT phase, number FROM trading_orderevent e
            WHERE e.token_id = m.token_id AND e.kind = 'PHASE_CHANGED'
            ORDER BY number DESC LIMIT 1
        ) e ON TRUE
        """,
    ),
)
