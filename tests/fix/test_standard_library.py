"""The protocol and its client run where nothing but Python is installed."""

import subprocess
import sys

import pytest
from django.conf import settings

PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"marketdata.{name}")
print(*(name[11:] for name in sys.modules if name.startswith("marketdata.")))
"""
PROTOCOL = {
    "fix",
    "fix.protocol",
    "fix.protocol.layouts",
    "fix.protocol.messages",
    "fix.protocol.rules",
    "fix.protocol.wire",
}
CLIENT = {
    "fix.client",
    "fix.client.advice",
    "fix.client.client",
    "fix.client.initiator",
    "fix.client.replica",
}
# Whose ladder a replica is compared with, and shown as.
LADDERS = {"books", "books.orderbook"}


def loaded(modules: set[str]) -> set[str]:
    """What of `marketdata` these modules load, without any installed package."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, *modules],
        cwd=settings.BASE_DIR,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("modules", "others"), [(PROTOCOL, set()), (CLIENT, PROTOCOL | LADDERS)]
)
def test_needs_the_standard_library_only(modules, others):
    assert modules <= loaded(modules) <= modules | others
