"""Measure imports: holders, legacy lines and Open Cap Table packages, by their length.

python -m tests.benchmarks.imports --holders 250000 --transactions 1000000

Each command runs as its own process. The output has its seconds, its CPU seconds and
its peak memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

STAFF = "ana@example.com"
MEASURED = """
import resource, sys, time
from django.core.management import execute_from_command_line
began = time.perf_counter()
execute_from_command_line(["manage.py", *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_SELF)
seconds = time.perf_counter() - began
sys.stderr.write(f"\\nMEASURED {seconds} {used.ru_utime} {used.ru_maxrss}")
"""


def measured(results: Table, *arguments: str | Path) -> str:
    """What the command says; the table gets a row with what it cost."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    _, seconds, own, kilobytes = run.stderr.splitlines()[-1].split()
    said = (run.stdout.strip() or run.stderr.strip().splitlines()[0]).splitlines()[-1]
    results.add_row(
        " ".join(str(a) for a in arguments if not isinstance(a, Path)),
        f"{float(seconds):.1f} s", f"{float(own):.1f} s",
        f"{int(kilobytes) / 1024:.0f} MB", said,
    )  # fmt: skip
    return run.stdout


NEW_HOLDERS = (
    "reference,holder_wallet,holder_name,holder_kind,token_symbol,number_of_shares,"
    "price_cents"
)


def holders(count: int) -> Iterator[str]:
    yield "name,kind,email,wallet,lei,country"
    for number in range(count):
        wallet = f"0x{number:040x}" if number % 4 == 0 else ""
        yield f"Holder N{number},INDIVIDUAL,h{number}@example.com,{wallet},,FR"


def legacy_lines(count: int) -> Iterator[str]:
    yield "reference,holder_email,token_symbol,number_of_shares,price_cents,created_at"
    for number in range(count):
        shares, at = number % 997 + 1, "2020-01-01T00:00:00Z"
        yield f"R-{number},h{number}@example.com,BIG,{shares},125,{at}"


def lines_of_new_holders(count: int) -> Iterator[str]:
    yield NEW_HOLDERS
    for number in range(count):
        wallet, shares = f"0xf{number:039x}", number % 997 + 1
        yield f"W-{number},{wallet},Wallet N{number},INDIVIDUAL,BIG,{shares},125"


def package(directory: Path, transactions: int) -> None:
    """Issuances, three in five; transfers and cancellations of what they issued."""
    people = max(transactions // 20, 2)

    def write(name: str, kind: str, items: Iterator[dict[str, object]]) -> None:
        with (directory / f"{name}.ocf.json").open("w") as file:
            file.write(f'{{"file_type": "OCF_{kind}_FILE", "items": [')
            for number, item in enumerate(items):
                file.write(",\n" * (number > 0) + json.dumps(item))
            file.write("]}")

    write("stakeholders", "STAKEHOLDERS", (
        {"id": f"stakeholder-{n:08}", "object_type": "STAKEHOLDER",
         "name": {"legal_name": f"Holder N{n}"}, "stakeholder_type": "INDIVIDUAL"}
        for n in range(people)
    ))  # fmt: skip
    write("classes", "STOCK_CLASSES", iter([
        {"id": "common", "object_type": "STOCK_CLASS", "name": "Common",
         "class_type": "COMMON", "default_id_prefix": "CS-",
         "initial_shares_authorized": "UNLIMITED", "votes_per_share": 1,
         "seniority": "1"},
    ]))  # fmt: skip

    def issued(number: int, holder: int, day: str, quantity: int) -> dict[str, object]:
        return {
            "id": f"issuance-{number:036}", "object_type": "TX_STOCK_ISSUANCE",
            "date": day, "security_id": f"security-{number:036}",
            "custom_id": f"CS-{number}", "stakeholder_id": f"stakeholder-{holder:08}",
            "stock_class_id": "common", "quantity": str(quantity),
            "share_price": {"amount": "1.00", "currency": "USD"},
            "stock_legend_ids": [], "security_law_exemptions": [],
        }  # fmt: skip

    def history() -> Iterator[dict[str, object]]:
        for number in range(0, transactions - 4, 5):
            day = f"{2000 + number % 20}-{number % 12 + 1:02}-{number % 28 + 1:02}"
            holder = number // 5 % people
            yield issued(number, holder, day, 100)
            yield {
                "id": f"transfer-{number:036}", "object_type": "TX_STOCK_TRANSFER",
                "date": day, "security_id": f"security-{number:036}", "quantity": "40",
                "resulting_security_ids": [f"security-{number + 1:036}"],
                "balance_security_id": f"security-{number + 2:036}",
            }  # fmt: skip
            yield issued(number + 1, (holder + 1) % people, day, 40)
            yield issued(number + 2, holder, day, 60)
            yield {
                "id": f"cancellation-{number:036}", "date": day,
                "object_type": "TX_STOCK_CANCELLATION", "quantity": "60",
                "security_id": f"security-{number + 2:036}", "reason_text": "Returned",
            }  # fmt: skip

    write("transactions", "TRANSACTIONS", history())
    manifest = {
        "file_type": "OCF_MANIFEST_FILE",
        "issuer": {"id": "big", "object_type": "ISSUER", "legal_name": "Big SA"},
        "transactions_files": [{"filepath": "./transactions.ocf.json"}],
        "stakeholders_files": [{"filepath": "./stakeholders.ocf.json"}],
        "stock_classes_files": [{"filepath": "./classes.ocf.json"}],
    }
    (directory / "manifest.ocf.json").write_text(json.dumps(manifest))


def prepare() -> None:
    from datetime import UTC, datetime

    from issuers.models import Issuer
    from tests.issuers.register import empty_token
    from tests.owner import superuser

    ana = superuser(
        STAFF, "a long password", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )
    for symbol in ("BIG", "SMALL"):
        issuer = Issuer.objects.create(
            trading_name=symbol.title(), slug=f"{symbol.lower()}-lines",
            trading_location="Lyon", owner=ana,
        )  # fmt: skip
        empty_token(issuer, symbol, datetime(2020, 1, 1, tzinfo=UTC))


class Others(threading.Thread):
    """Import a line, with its new holder, again and again while a large import runs."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()
        self.imports = 0
        self.longest = 0.0
        """The slowest import, seconds."""

    def run(self) -> None:
        from django.db import connection

        from issuers.legacy.imports import import_legacy_shareholders
        from issuers.models import Issuer

        issuer = Issuer.objects.get(slug="small-lines")
        while not self.ended.wait(0.2):
            wallet = f"0xe{self.imports:039x}"
            began = time.perf_counter()
            import_legacy_shareholders(
                issuer,
                "small.csv",
                f"{NEW_HOLDERS}\nS-{self.imports},{wallet},New,INDIVIDUAL,SMALL,1,125"
                "".encode(),
                STAFF,
                lambda work, total: lambda done: None,
                create_holders=True,
                dry_run=False,
            )
            self.longest = max(self.longest, time.perf_counter() - began)
            self.imports += 1
        connection.close()

    def __enter__(self) -> "Others":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--holders", type=int, default=250_000)
    parser.add_argument("--transactions", type=int, default=1_000_000)
    options = parser.parse_args()
    results = Table("Command", title="Imports")
    for name in ("Seconds", "Own", "Memory"):
        results.add_column(name, justify="right")
    results.add_column("Said")
    with throw_away_installation(), tempfile.TemporaryDirectory() as made:
        prepare()
        directory = Path(made)
        if options.holders:
            file, lines = directory / "holders.csv", directory / "lines.csv"
            file.write_text("\n".join(holders(options.holders)))
            lines.write_text("\n".join(legacy_lines(options.holders)))
            wallets = directory / "wallets.csv"
            wallets.write_text("\n".join(lines_of_new_holders(options.holders)))
            legacy = ("--issuer", "big-lines", "--staff", STAFF)
            for _ in range(2):
                measured(results, "import", "holders", file, "--staff", STAFF)
            for _ in range(2):
                measured(results, "import", "legacy-shareholders", lines, *legacy)
            with Others() as others:
                for _ in range(2):
                    measured(
                        results, "import", "legacy-shareholders", wallets,
                        "--create-holders", *legacy,
                    )  # fmt: skip
            said = (
                f"the slowest of {others.imports} imports of another issuer meanwhile"
            )
            results.add_row("", f"{others.longest:.1f} s", "", "", said)
        if options.transactions:
            folder = directory / "package"
            folder.mkdir()
            package(folder, options.transactions)
            for _ in range(2):
                measured(results, "import", "ocf", folder)
    Console(width=160).print(results)


if __name__ == "__main__":
    with yardstick():
        main()
