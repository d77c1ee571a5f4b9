"""Measure partners' exports: a million holders, and the entries of a ledger.

python -m tests.benchmarks.exports_api --holders 1000000

A separate worker writes each. The output has its seconds, its CPU seconds and its peak
memory, beside those of a hundredth of the rows.
"""

import argparse
import gzip
import hashlib
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.imports import measured
from tests.benchmarks.large_registers import load
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--holders", type=int, default=1_000_000)
    options = parser.parse_args()
    console = Console(width=160)
    results = Table("Command", title="Exports")
    for name in ("Seconds", "Own", "Memory"):
        results.add_column(name, justify="right")
    results.add_column("Said")
    files = Table("Export", "Rows", "Members", "Bytes", title="Files, in their order")
    with throw_away_installation():
        tokens = load(options.holders, options.holders * 6 // 5, console)
        small = tokens[str(options.holders * 6 // 5 // 100)]
        for connection, token in (
            ("HOLDERS", small),
            ("HOLDERS", tokens["large"]),
            ("TRANSACTIONS", small),
            ("TRANSACTIONS", tokens["large"]),
        ):
            export = ask_for(connection, token)
            measured(results, "run", "exports")
            export.refresh_from_db()
            assert export.status == "READY", export.reason
            files.add_row(
                f"{connection} of {token.symbol}", f"{export.rows:,}",
                f"{export.members:,}", f"{export.size_bytes:,}",
            )  # fmt: skip
            check(export)
    console.print(results)
    console.print(files)


def ask_for(connection: str, token: Any) -> Any:
    from accounts.access import Scope
    from accounts.keys.models import ApiKey, Partner
    from issuers.callers import caller_of
    from partnerapi.exports.creation import Wanted, create_export
    from partnerapi.sandbox.data.approvals import approved_grant, approved_key

    partner, is_new = Partner.objects.get_or_create(login="bench", name="Bench")
    if is_new:
        approved_grant(partner)
        approved_key(partner, [Scope.CAPTABLE_READ])
    caller = caller_of(ApiKey.objects.get(partner=partner))
    if connection == "HOLDERS":
        wanted = Wanted(connection, "issuerID", str(token.issuer_id))
    else:
        wanted = Wanted(connection, "tokenID", str(token.pk))
    return create_export(caller, wanted)


def check(export: Any) -> None:
    """Every holder, or entry, once and in order, as SQL finds them."""
    import orjson
    from django.db import connection

    of = "userID" if export.connection == "HOLDERS" else "id"
    found = hashlib.sha256()
    for part in export.parts.order_by("number").iterator(chunk_size=10):
        for line in gzip.decompress(part.data).splitlines():
            found.update(orjson.loads(line)[of].partition("|")[2].encode())
    statements = {
        "userID": "SELECT b.user_id::text FROM issuers_holderbalance b"
        " JOIN issuers_token t ON t.id = b.token_id"
        " WHERE t.issuer_id = %s AND balance > 0 ORDER BY b.user_id",
        "id": "SELECT t.id || '.' || e.seq FROM issuers_ledgertransaction e"
        " JOIN issuers_token t ON t.id = e.token_id WHERE t.issuer_id = %s"
        " ORDER BY e.seq",
    }
    expected = hashlib.sha256()
    with connection.cursor() as cursor:
        cursor.execute(statements[of], [export.issuer_id])
        while rows := cursor.fetchmany(10_000):
            expected.update("".join(key for (key,) in rows).encode())
    assert found.digest() == expected.digest()


if __name__ == "__main__":
    with yardstick():
        main()
