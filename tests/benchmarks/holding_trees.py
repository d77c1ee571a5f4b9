"""Measure statements over a million holders, and the proof of one.

python -m tests.benchmarks.holding_trees --holders 1000000

The first statement builds a tree of all holders; then some of them have entries, and
the second follows. A tree is also measured alone. It ends with 1 where the first
statement takes more than 10 s of CPU in this process, or the second more than 1 s.
"""

import argparse
import base64
import os
import secrets
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from rich.console import Console
from rich.table import Table

from tests.benchmarks.large_registers import PEOPLE, token
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

MINTED = """
INSERT INTO issuers_ledgertransaction (token_id, seq, kind, target_id, amount,
    effective_at, supply_after, held_after, holders_after, actor, reason)
SELECT '{token}', n, 'MINT', n, 10, '2020-01-01Z', n * 10, n * 10, n, 'benchmark', ''
FROM generate_series(1, {holders}) n;
INSERT INTO issuers_ledgerposting (token_id, seq, leg, account_id, delta, balance_after)
SELECT '{token}', n, 2, n, 10, 10 FROM generate_series(1, {holders}) n;
INSERT INTO issuers_holderbalance (token_id, account_id, user_id, balance, last_seq)
SELECT '{token}', id, user_id, 10, id FROM issuers_ledgeraccount
WHERE id <= {holders} AND kind = 'HOLDER';
UPDATE issuers_tokenledgerhead SET is_open = TRUE, last_seq = {holders},
    last_effective_at = '2020-01-01Z', supply = {holders} * 10, held = {holders} * 10,
    holder_count = {holders} WHERE token_id = '{token}';
"""
CHANGED = """
CREATE TEMP TABLE changed AS
SELECT {holders} + row_number() OVER () AS seq, 1 + (n * 97) % {holders} AS account
FROM generate_series(1, {changes}) n;
INSERT INTO issuers_ledgertransaction (token_id, seq, kind, target_id, amount,
    effective_at, supply_after, held_after, holders_after, actor, reason)
SELECT '{token}', seq, 'MINT', account, 1, '2020-01-02Z', seq, seq, {holders},
    'benchmark', '' FROM changed;
INSERT INTO issuers_ledgerposting (token_id, seq, leg, account_id, delta, balance_after)
SELECT '{token}', seq, 2, account, 1, 11 FROM changed;
UPDATE issuers_holderbalance b SET balance = 11, last_seq = seq
FROM changed WHERE token_id = '{token}' AND account_id = account;
UPDATE issuers_tokenledgerhead SET last_seq = last_seq + {changes},
    supply = supply + {changes}, held = held + {changes} WHERE token_id = '{token}';
DROP TABLE changed; ANALYZE;
"""


def measured(work: Callable[[], object]) -> tuple[float, ...]:
    """Seconds of CPU here, of CPU in the database's process, and of the clock."""
    from django.db import connection

    connection.ensure_connection()
    backend = connection.connection.info.backend_pid
    begun = process_time(), cpu_of(backend), perf_counter()
    work()
    ended = process_time(), cpu_of(backend), perf_counter()
    return tuple(after - before for before, after in zip(begun, ended, strict=True))


def make_trees() -> None:
    """Make the trees of now, as a statement does, and keep nothing of them."""
    from django.db import connection
    from django.utils import timezone

    from issuers.register.publication import trees_of
    from issuers.register.statements import HEADS, TOKEN_MEMBERS, one_state

    with one_state(), connection.cursor() as cursor:
        cursor.execute(HEADS)
        rows = cursor.fetchall()
        tokens = [dict(zip(TOKEN_MEMBERS, row, strict=True)) for row in rows]
        trees_of(tokens, timezone.now())


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--holders", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=10_000)
    arguments = parser.parse_args()
    shown = Table("Statement", "CPU here, s", "CPU in PostgreSQL, s", "Clock, s")
    with throw_away_installation(), tempfile.TemporaryDirectory() as directory:
        from django.db import connection
        from django.utils import timezone

        from issuers.register.models import LedgerAccount
        from issuers.register.proofs import holding_proof, stated_at
        from issuers.register.statements import private_key, write_statement
        from tests.owner import as_owner

        key = private_key(base64.b64encode(secrets.token_bytes(32)).decode())
        large = token("large")
        names = {"token": large.pk, "holders": arguments.holders}
        names["changes"] = arguments.changes
        with as_owner(), connection.cursor() as cursor:
            cursor.execute("SET work_mem = '256MB'")
            cursor.execute(PEOPLE.format(holders=arguments.holders))
            cursor.execute(MINTED.format(**names))
            cursor.execute("VACUUM ANALYZE")

        def write() -> None:
            write_statement(Path(directory), key, timezone.now())

        figures = {"first tree": measured(make_trees), "first": measured(write)}
        with as_owner(), connection.cursor() as cursor:
            cursor.execute(CHANGED.format(**names))
        # Files are named by the second.
        for file in Path(directory).iterdir():
            file.rename(file.with_name(f"register-0{file.name[10:]}"))
        figures["changed tree"] = measured(make_trees)
        figures["changed"] = measured(write)
        stated = stated_at(large.pk, None)
        user = LedgerAccount.objects.get(pk=1).user_id
        holding_proof(stated, user, None)
        figures["a proof"] = measured(lambda: holding_proof(stated, user, None))
        size = len(holding_proof(stated, user, None).proof)
    for name, seconds in figures.items():
        shown.add_row(name, *(f"{second:.3f}" for second in seconds))
    Console().print(shown, f"A proof has {size:,} characters.")
    return int(figures["first"][0] > 10 or figures["changed"][0] > 1)


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
