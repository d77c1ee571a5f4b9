"""The benchmark of order books, in its short form."""

import subprocess
import sys


def test_an_order_book_takes_half_a_million_changes_a_second():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.order_books"]
        + ["--messages", "5000", "--rounds", "3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("OrderBook") == 4
