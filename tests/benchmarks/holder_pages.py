"""Measure pages of holders, of registers of a thousand and of a million accounts.

python -m tests.benchmarks.holder_pages --accounts 1000000
"""

import argparse
import base64
import json
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.large_registers import PEOPLE, token
from tests.benchmarks.register import Server, in_turns
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

PAGE = """
query ($id: ID!, $date: Time, $after: String) { issuer(id: $id) {
  capitalizationTable(date: $date) { date holdersConnection(first: 100, after: $after) {
    nodes { userID totalValue } pageInfo { hasNextPage hasPreviousPage endCursor }
} } } }
"""
SIZE = 100
# All get units; then those whose number in `sellers` is up to `sold` sell all that they
# have, one an entry; then others pass on single units. Times count seconds.
HISTORY = """
CREATE TEMP TABLE accounts AS
SELECT a.id, row_number() OVER (ORDER BY {order}) AS n
FROM issuers_ledgeraccount a WHERE a.id <= {accounts};
CREATE UNIQUE INDEX ON accounts (n);
CREATE TEMP TABLE raw AS
SELECT s AS seq, 'MINT' AS kind, NULL::bigint AS f, s AS t, 10 AS amount
FROM generate_series(1, {accounts}) s
UNION ALL
SELECT {accounts} + s, 'TRANSFER', s, {sold} + 1 + s % ({accounts} - {sold}), 10
FROM generate_series(1, {sold}) s
UNION ALL
SELECT {accounts} + {sold} + s, 'TRANSFER', {sold} + 1 + s % ({accounts} - {sold}),
    {sold} + 1 + (s + 1) % ({accounts} - {sold}), 1
FROM generate_series(1, {accounts} / 4) s;
UPDATE raw SET f = a.id FROM accounts a WHERE a.n = f;
UPDATE raw SET t = a.id FROM accounts a WHERE a.n = t;
INSERT INTO issuers_ledgertransaction (token_id, seq, kind, source_id, target_id,
    amount, effective_at, recorded_at, supply_after, held_after, holders_after, actor,
    reason)
SELECT '{token}', seq, kind, f, t, amount,
    '2020-01-01Z'::timestamptz + seq * interval '1 second', now(),
    least(seq, {accounts}) * 10, least(seq, {accounts}) * 10,
    least(seq, {accounts}) - greatest(0, least(seq - {accounts}, {sold})),
    'benchmark', '' FROM raw ORDER BY seq;
INSERT INTO issuers_ledgerposting (token_id, seq, leg, account_id, delta, balance_after)
SELECT '{token}', seq, leg, account, delta,
    sum(delta) OVER (PARTITION BY account ORDER BY seq)
FROM (SELECT seq, 1 AS leg, f AS account, -amount AS delta FROM raw WHERE f IS NOT NULL
      UNION ALL SELECT seq, 2, t, amount FROM raw) x ORDER BY seq, leg;
UPDATE issuers_tokenledgerhead SET is_open = TRUE, last_seq = x.seq,
    last_effective_at = x.effective_at, supply = x.supply_after, held = x.held_after,
    holder_count = x.holders_after
FROM (SELECT * FROM issuers_ledgertransaction WHERE token_id = '{token}'
      ORDER BY seq DESC LIMIT 1) x
WHERE issuers_tokenledgerhead.token_id = '{token}';
DROP TABLE raw, accounts;
"""
DERIVED = """
INSERT INTO issuers_holderbalance (token_id, account_id, user_id, balance, last_seq)
SELECT DISTINCT ON (token_id, account_id)
    token_id, account_id, a.user_id, balance_after, seq
FROM issuers_ledgerposting p JOIN issuers_ledgeraccount a ON a.id = p.account_id
ORDER BY token_id, account_id, seq DESC;
"""
# The sellers, and the order of the users' ids.
ORDERS = {"nobody": "a.id", "anybody": "a.id", "first": "a.user_id"}


def load(accounts: int, console: Console) -> dict[tuple[str, int], Any]:
    """Tokens by seller, and by how many accounts they have."""
    from django.db import connection

    from issuers.register.verification import HOLDING_PERIODS
    from tests.owner import as_owner

    tokens = {
        (who, size): token(f"{who}-{size}")
        for who in ORDERS
        for size in (accounts, accounts // 1000)
    }
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'")
        cursor.execute("SET temp_buffers = '512MB'")
        cursor.execute("SELECT pg_get_indexdef('ledger_balance_at'::regclass)")
        [(index,)] = cursor.fetchall()
        cursor.execute("DROP INDEX ledger_balance_at")
        cursor.execute(PEOPLE.format(holders=accounts))
        for (who, size), one in tokens.items():
            console.print(f"Writing {size:,} accounts, of which {who} sold …")
            sold = 0 if who == "nobody" else size * 9 // 10
            cursor.execute(
                HISTORY.format(
                    token=one.pk, accounts=size, sold=sold, order=ORDERS[who]
                )
            )
        cursor.execute(index)
        cursor.execute(DERIVED)
        cursor.execute(
            "INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)"
            f" {HOLDING_PERIODS}"
        )
        cursor.execute("VACUUM ANALYZE")
    return tokens


def cursor_before(one: Any, seq: int, date: str, place: int) -> str:
    """The cursor of the holder at a place, from 1, of those at an entry."""
    import zlib

    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT user_id::text FROM issuers_holdingperiod WHERE token_id = %s"
            " AND since <= %s AND (until IS NULL OR until > %s)"
            " ORDER BY user_id OFFSET %s LIMIT 1",
            [one.pk, seq, seq, place - 1],
        )
        [(user,)] = cursor.fetchall()
    text = f"holders|{user}|{date}".encode()
    content = b"\x01" + zlib.crc32(text).to_bytes(4, "big") + text
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def as_of(one: Any, seq: int) -> tuple[str, int]:
    """The time of an entry as cursors hold it, and the number of holders then."""
    from issuers.register.models import LedgerTransaction

    entry = LedgerTransaction.objects.get(token=one, seq=seq)
    return f"{entry.effective_at:%Y-%m-%d %H:%M:%S}+00", entry.holders_after


def measure(server: Server, tokens: dict[Any, Any], accounts: int, rounds: int) -> Any:
    shown = Table("who sold", "when", "holders", "page", "ms", "× thousand's first")

    def ask(one: Any, date: str, after: str | None = None) -> dict[str, Any]:
        body = {"id": f"Issuer|{one.issuer_id}", "date": date.replace(" ", "T") + ":00"}
        answer = server.answer(PAGE, body | {"after": after})
        table = json.loads(answer)["data"]["issuer"]["capitalizationTable"]
        found: dict[str, Any] = table["holdersConnection"]
        return found

    # Parts of: all units given out, those sold, the rest.
    for who in ORDERS:
        sold = 0.0 if who == "nobody" else 0.9
        for when, part in {
            "now": 1.25 + sold,
            "past, later": 1.13 + sold,
            "past, just sold": 1.0 + sold,
            "past, half sold": 1.0 + sold / 2,
            "past, before any": 1.0,
            "past, half given": 0.5,
        }.items():
            if who == "nobody" and "sold" in when:
                continue
            works, names = [], []
            for size in (accounts // 1000, accounts):
                one = tokens[who, size]
                seq = int(size * part)
                date, holders = as_of(one, seq)
                places = {"first": 0}
                if size == accounts:
                    last = (holders - 1) // SIZE * SIZE
                    middle = holders // 2 // SIZE * SIZE
                    places |= {f"{middle // SIZE + 1:,}": middle}
                    places |= {f"{last // SIZE + 1:,}": last}
                for name, place in places.items():
                    after = None
                    if place:
                        after = cursor_before(one, seq, date, place)
                    found = ask(one, date, after)
                    assert len(found["nodes"]) == min(SIZE, holders - place)
                    more = place + SIZE < holders
                    assert found["pageInfo"]["hasNextPage"] == more
                    works.append(partial(ask, one, date, after))
                    names.append((f"{holders:,}", name))
            taken = in_turns(works, rounds)
            for (holders_text, name), time in zip(names, taken, strict=True):
                shown.add_row(
                    who, when, holders_text, name, f"{time * 1000:.2f}",
                    f"{time / taken[0]:.2f}",
                )  # fmt: skip
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    console = Console()
    with throw_away_installation():
        tokens = load(options.accounts, console)
        server = Server()
        try:
            console.print(measure(server, tokens, options.accounts, options.rounds))
        finally:
            server.stop()


if __name__ == "__main__":
    with yardstick():
        main()
