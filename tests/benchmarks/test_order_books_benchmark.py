"""The benchmark of order books, in its short form."""

import subprocess
import sys


def test_an_order_book_takes_few_assignments_for_a_change():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.order_books"]
        + ["--messages", "5000", "--rounds", "3", "--busy"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("OrderBook") == 4
