"""Which addresses a web process answers."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

PROGRAM = """
import django
django.setup()
from django.test import Client
client = Client(enforce_csrf_checks=True)
paths = ("/schema.graphql", "/docs", "/partner/sign-in", "/admin/login/")
asked = [client.post("/graphql"), *map(client.get, paths), client.post("/admin/login/")]
print(*(answer.status_code for answer in asked))
"""


@pytest.mark.parametrize(
    ("serves", "statuses"),
    [
        ("api", "415 200 200 200 404 404"),
        ("admin", "404 404 404 404 200 403"),
        ("both", "415 200 200 200 200 403"),
    ],
)
def test_the_addresses_of_the_other_part_are_not_found(serves: str, statuses: str):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=settings.BASE_DIR,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "partnerapi.settings",
            "PARTNER_API_SERVES": serves,
            "ALLOWED_HOSTS": "testserver",
            "LOG_LEVEL": "ERROR",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == statuses, run.stderr
