"""What the writers and readers of the domain load: no GraphQL."""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "partnerapi.settings"
import django
django.setup()
importlib.import_module(sys.argv[1])
print(*sorted({"graphene", "graphene_django", "graphql"} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    "module",
    [
        "issuers.legacy.import_csv",
        "issuers.register.captable",
        "issuers.register.ledger",
        "marketdata.books.feed",
        "marketdata.books.log",
    ],
)
def test_the_domain_loads_no_graphql(module: str):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == []
